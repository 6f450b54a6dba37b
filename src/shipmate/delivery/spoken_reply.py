"""Speak answers, where the people of a chat want that."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence

from shipmate.delivery.compose import make_file, words_of
from shipmate.errors import SpeechError
from shipmate.orchestrator.turn import since_answer
from shipmate.speech.speech import TEXT_LIMIT, Speech
from shipmate.store.port import InboxRow, ThreadIndex
from shipmate.values.event import EgressMessage, TextEvent
from shipmate.values.message import JsonObject, UIMessage
from shipmate.workspace.upload import Uploads, attach_voice

# What nobody wants read out: code, tables, marks, the addresses behind links.
FENCE = re.compile(r"^ {0,3}(```|~~~).*?(^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)|<?https?://\S+")
MARK = re.compile(r"^[ \t]*(#+|>|[-*+](?=\s)|\|.*)|[*_`~]{1,3}", re.MULTILINE)
SENTENCE = re.compile(r"[.!?。！？](?=\s|$)|\n\n")
# The place among the files of an answer, behind all others.
LAST = 1_000
log = logging.getLogger(__name__)


class VoicePreference:
    """What the people of each thread chose: when answers are spoken. None leaves it to ship.json."""

    def __init__(self, threads: ThreadIndex) -> None:
        self._threads = threads

    async def find(self, thread_id: str) -> str | None:
        """Return what was chosen for a thread."""
        found = (await self._settings(thread_id)).get("voice")
        return found if found in ("never", "voice", "always") else None

    async def set(self, thread_id: str, choice: str | None) -> None:
        """Keep a choice, or take it back."""
        settings = {key: value for key, value in (await self._settings(thread_id)).items() if key != "voice"}
        await self._threads.set(thread_id, settings=settings | ({"voice": choice} if choice else {}))

    async def _settings(self, thread_id: str) -> JsonObject:
        info = await self._threads.find(thread_id)
        return info.settings if info is not None else {}


class SpokenReply:
    """The voice of one keeper."""

    def __init__(self, speech: Speech, uploads: Uploads, voices: VoicePreference) -> None:
        self._speech = speech
        self._uploads = uploads
        self._voices = voices

    async def make(self, thread_id: str, rows: Sequence[InboxRow], message: UIMessage) -> list[EgressMessage]:
        """Return an answer as a voice message, where it is wanted; one that cannot be made costs no words."""
        # What a member has said aloud by itself is not said again.
        if message["role"] != "assistant" or any(map(_is_sound, since_answer(message)["parts"])):
            return []
        text = plain_words(words_of(message))
        if not text or not await self._is_wanted(thread_id, rows):
            return []
        try:
            data = await self._speech.speak(text)
        except SpeechError as error:
            log.warning("the answer in %s is not spoken: %s", thread_id, error)
            return []
        return [make_file(thread_id, LAST, await asyncio.to_thread(attach_voice, self._uploads, data))]

    async def _is_wanted(self, thread_id: str, rows: Sequence[InboxRow]) -> bool:
        wanted = await self._voices.find(thread_id) or self._speech.settings.reply
        is_spoken = any(isinstance(row.event, TextEvent) and row.event.spoken for row in rows)
        return wanted == "always" or (wanted == "voice" and is_spoken)


def _is_sound(part: JsonObject) -> bool:
    return part.get("type") == "file" and str(part.get("mediaType")).startswith("audio/")


def plain_words(markdown: str) -> str:
    """Return what is said of an answer: its words without marks, up to what can be spoken at once."""
    said = LINK.sub(lambda found: found[1] or "", FENCE.sub("", markdown))
    said = re.sub(r"\n{3,}", "\n\n", MARK.sub("", said)).strip()
    if len(said) <= TEXT_LIMIT:
        return said
    ends = [found.end() for found in SENTENCE.finditer(said, 0, TEXT_LIMIT)]
    return said[: ends[-1] if ends else TEXT_LIMIT].strip()

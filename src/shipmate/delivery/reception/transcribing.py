"""Put spoken messages into words, their audio kept beside."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from shipmate.errors import SpeechError
from shipmate.speech.speech import Speech
from shipmate.speech.speech_wording import say
from shipmate.values.event import Attachment, TextEvent, VoiceEvent
from shipmate.workspace.upload import ADDRESS, VOICE, Uploads


def take_voice(event: TextEvent) -> TextEvent | VoiceEvent:
    """Return a recording that came alone as what it is: a spoken message.

    With words beside it, it is one when a recorder of ours made it; a file that is called otherwise is handed
    to the model with them.
    """
    if len(event.attachments) != 1:
        return event
    [audio] = event.attachments
    if not audio.media_type.startswith("audio/") or not audio.url.startswith(ADDRESS):
        return event
    if event.text.strip() and not (audio.filename or "").startswith(VOICE):
        return event
    shared = set(VoiceEvent.__struct_fields__) & set(TextEvent.__struct_fields__)
    return VoiceEvent(**{name: getattr(event, name) for name in shared}, audio=audio)


class Transcribing:
    """Hears the spoken messages of one keeper."""

    def __init__(self, uploads: Uploads, speech: Speech, language: str) -> None:
        self._uploads = uploads
        self._speech = speech
        self._language = language

    async def hear(self, event: VoiceEvent) -> TextEvent | VoiceEvent:
        """Return what a message says as words that were spoken; or the message and why it has none."""
        try:
            words = await self._transcribe(event.audio)
        except SpeechError as error:
            return replace(event, unheard=say(self._language, "unheard", why=error))
        own = ("audio", "text", "unheard")
        common = {name: getattr(event, name) for name in event.__struct_fields__ if name not in own}
        text = "\n\n".join(filter(None, (event.text, words)))
        return TextEvent(**common, text=text, attachments=(event.audio,), spoken=True)

    async def _transcribe(self, audio: Attachment) -> str:
        found = self._uploads.find(audio.url.removeprefix(ADDRESS))
        if found is None:
            raise SpeechError(say(self._language, "gone"))
        data = await asyncio.to_thread(found[1].read_bytes)
        return await self._speech.transcribe(data, found[0].media_type)

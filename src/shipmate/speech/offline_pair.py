"""Call the offline pair, which works in a child process of its own."""

from __future__ import annotations

import asyncio

from shipmate.decoding.worker import Work, call_aside
from shipmate.errors import DecodingError, DecodingLimitError, SpeechError
from shipmate.speech.speech_wording import say

MODULE = "shipmate.speech.offline_voice"
# A recording takes about a seventh of its length on two cores; a busy machine takes longer.
TRANSCRIBE = Work(
    function=f"{MODULE}:transcribe",
    subject="the recording",
    seconds=600.0,
    memory=1_500_000_000,
    wall_seconds=600.0,
)
SPEAK = Work(
    function=f"{MODULE}:speak", subject="the text", seconds=60.0, memory=1_000_000_000, wall_seconds=120.0
)
KEYS = frozenset(("unread", "too-long"))


class OfflinePair:
    """Understands and speaks on this machine. One call at a time: others decode beside it."""

    name = "offline"

    def __init__(self, language: str, longest_minutes: int) -> None:
        self._language = language
        self._longest_minutes = longest_minutes
        self._turn = asyncio.Lock()

    async def transcribe(self, data: bytes, media_type: str) -> str:
        """Return the words of a recording."""
        del media_type
        async with self._turn:
            return (await self._call(TRANSCRIBE, data, longest_seconds=60 * self._longest_minutes)).decode()

    async def speak(self, text: str) -> bytes:
        """Return words as a recording."""
        async with self._turn:
            return await self._call(SPEAK, text.encode())

    async def close(self) -> None:
        """Do nothing: the process ends by itself."""

    async def _call(self, work: Work, data: bytes, **options: int) -> bytes:
        try:
            return await call_aside(work, data, **options)
        except DecodingLimitError:
            key = "too-slow"
        except DecodingError as error:
            key = str(error) if str(error) in KEYS else "unread"
        raise SpeechError(say(self._language, key, minutes=self._longest_minutes)) from None

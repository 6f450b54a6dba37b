"""Understand recordings and speak words, with whichever engine ship.json and the installation offer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

from shipmate.errors import SpeechError
from shipmate.speech.speech_wording import say
from shipmate.workspace.config import SpeechEndpoint, SpeechSettings
from shipmate.workspace.finding import Finding

# The most that is understood: what an upload may have, and less than servers take.
SIZE_LIMIT = 20_000_000
# The most that servers speak at once.
TEXT_LIMIT = 4_000
PACKAGES = ("moonshine_voice", "espeakng_loader", "soundfile")
OTHER_LANGUAGES = "for Chinese and others set speech.transcriber.baseUrl in ship.json"


def is_installed() -> bool:
    """Return whether the extra `voice` is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in PACKAGES)


class SpeechEngine(Protocol):
    """What understands and speaks; it raises SpeechError with words for people."""

    @property
    def name(self) -> str: ...
    async def transcribe(self, data: bytes, media_type: str) -> str: ...
    async def speak(self, text: str) -> bytes: ...
    async def close(self) -> None: ...


class Speech:
    """The speech of one workspace. Engines are made when they are first needed."""

    def __init__(
        self, settings: SpeechSettings, language: str, environ: Mapping[str, str] | None = None
    ) -> None:
        self.settings = settings
        self._language = language
        self._environ = os.environ if environ is None else environ
        self._made: list[SpeechEngine] = []

    async def transcribe(self, data: bytes, media_type: str) -> str:
        """Return the words of a recording; raise SpeechError when there are none to be had."""
        if len(data) > SIZE_LIMIT:
            raise SpeechError(say(self._language, "too-large", megabytes=SIZE_LIMIT // 1_000_000))
        if self._transcriber is None:
            raise SpeechError(say(self._language, "no-transcriber"))
        words = (await self._transcriber.transcribe(data, media_type)).strip()
        if not any(map(str.isalnum, words)):
            raise SpeechError(say(self._language, "silent"))
        return words

    async def speak(self, text: str) -> bytes:
        """Return words as a recording; raise SpeechError when they cannot be spoken."""
        if not any(map(str.isalnum, text)):
            raise SpeechError(say(self._language, "no-words"))
        if len(text) > TEXT_LIMIT:
            raise SpeechError(say(self._language, "too-many-words", limit=f"{TEXT_LIMIT:,}"))
        if self._speaker is None:
            raise SpeechError(say(self._language, "no-speaker"))
        return await self._speaker.speak(text)

    async def close(self) -> None:
        """Let go of what engines hold."""
        for engine in self._made:
            await engine.close()

    @cached_property
    def _transcriber(self) -> SpeechEngine | None:
        return self._make(self.settings.transcriber)

    @cached_property
    def _speaker(self) -> SpeechEngine | None:
        return self._make(self.settings.speaker)

    @cached_property
    def _offline(self) -> SpeechEngine | None:
        if not is_installed():
            return None
        from shipmate.speech.offline_pair import OfflinePair

        return OfflinePair(self._language, self.settings.max_minutes)

    def _make(self, endpoint: SpeechEndpoint) -> SpeechEngine | None:
        if not endpoint.base_url:
            return self._offline
        from shipmate.speech.audio_endpoint import AudioEndpoint

        self._made.append(AudioEndpoint(endpoint, self._language, self._environ))
        return self._made[-1]


def findings(settings: SpeechSettings) -> list[Finding]:
    """Tell what serves speech, in which languages, and what to do when nothing does."""
    listening, speaking = settings.transcriber, settings.speaker
    return [
        _judge("understanding speech", "transcriber", listening)
        or Finding("ok", "understanding speech", "offline: English", OTHER_LANGUAGES),
        _judge("speaking", "speaker", speaking)
        or Finding("ok", "speaking", "offline: English, and Chinese like a robot"),
    ]


def _judge(subject: str, key: str, endpoint: SpeechEndpoint) -> Finding | None:
    """Return how a side stands that the offline pair does not serve."""
    if endpoint.base_url:
        host = _name_host(endpoint)
        return Finding("ok", subject, f"through {host}: Chinese, English and what else its model knows")
    if is_installed():
        return None
    fix = f"install the extra `voice` for English, or set speech.{key}.baseUrl in ship.json"
    return Finding("ok", subject, "not set up", fix)


def _name_host(endpoint: SpeechEndpoint) -> str:
    from shipmate.models.wire.http.address import read_address
    from shipmate.models.wire.http.trouble import HttpFault

    try:
        return read_address(endpoint.base_url or "").host
    except HttpFault:
        return "an address that cannot be read"

"""Ask a server that speaks OpenAI's protocol for audio: `/audio/transcriptions` and `/audio/speech`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping

import msgspec

from shipmate.errors import SpeechError
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.address import read_address
from shipmate.models.wire.http.outgoing import Patience
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire_json import decode_json
from shipmate.speech.speech_wording import say
from shipmate.workspace.config import SpeechEndpoint
from shipmate.workspace.upload import SOUND_ENDINGS, VOICE

WORDS_LIMIT = 1_000_000
SOUND_LIMIT = 20_000_000
TOLD_LENGTH = 300


class AudioEndpoint:
    """One server; its key goes to its own address and into no words."""

    def __init__(self, settings: SpeechEndpoint, language: str, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._language = language
        # The whole is bounded, not its pieces.
        patience = Patience(write=None, first=None, stall=None)
        self._client = HttpClient(environ, patience)

    @property
    def name(self) -> str:
        """Return whom it asks, as people know it."""
        return read_address(self._settings.base_url or "").host

    async def transcribe(self, data: bytes, media_type: str) -> str:
        """Return the words of a recording."""
        settings = self._settings
        fields = {"model": settings.model or "whisper-1", "response_format": "json"}
        if settings.language:
            fields["language"] = settings.language
        # Servers tell what a file is from the end of its name.
        name = VOICE + SOUND_ENDINGS.get(media_type, "ogg")
        boundary, body = _make_form(fields, data, name, media_type)
        answer = await self._ask(
            "audio/transcriptions", f"multipart/form-data; boundary={boundary}", body, WORDS_LIMIT
        )
        try:
            found = decode_json(answer)
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict) or not isinstance(words := found.get("text"), str):
            raise SpeechError(say(self._language, "rubbish", host=self.name))
        return words

    async def speak(self, text: str) -> bytes:
        """Return words as a recording."""
        settings = self._settings
        asked = {
            "model": settings.model or "gpt-4o-mini-tts",
            "voice": settings.voice or "alloy",
            "input": text,
            "response_format": settings.format,
        }
        answer = await self._ask("audio/speech", "application/json", msgspec.json.encode(asked), SOUND_LIMIT)
        if not answer:
            raise SpeechError(say(self._language, "rubbish", host=self.name))
        return answer

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def _ask(self, path: str, media_type: str, content: bytes, limit: int) -> bytes:
        settings = self._settings
        headers = {"content-type": media_type}
        if settings.api_key:
            headers["authorization"] = f"Bearer {settings.api_key}"
        url = f"{(settings.base_url or '').rstrip('/')}/{path}"
        try:
            async with (
                asyncio.timeout(settings.timeout_seconds),
                self._client.send("POST", url, headers=headers, content=content) as answer,
            ):
                if answer.status == 200:
                    return await answer.read(limit)
                said = await answer.read(WORDS_LIMIT, cut=True)
        except TimeoutError:
            words = say(self._language, "late", host=self.name, seconds=f"{settings.timeout_seconds:g}")
            raise SpeechError(words) from None
        except HttpFault as fault:
            raise SpeechError(self._mask(fault.words)) from None
        told = self._mask(_read_trouble(said))
        words = say(self._language, "refused", host=self.name, status=answer.status, words=told)
        raise SpeechError(words)

    def _mask(self, words: str) -> str:
        key = self._settings.api_key
        return words.replace(key, "***") if key else words


def _make_form(fields: Mapping[str, str], data: bytes, filename: str, media_type: str) -> tuple[str, bytes]:
    boundary = secrets.token_hex(16)
    head = f"--{boundary}\r\ncontent-disposition: form-data; name="
    texts = [f'{head}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
    file = f'{head}"file"; filename="{filename}"\r\ncontent-type: {media_type}\r\n\r\n'
    return boundary, "".join([*texts, file]).encode() + data + f"\r\n--{boundary}--\r\n".encode()


def _read_trouble(said: bytes) -> str:
    """Return what a server says about its refusal, in whichever of the usual places it stands."""
    try:
        found = decode_json(said)
    except msgspec.DecodeError:
        found = said.decode("utf-8", "replace")
    if isinstance(found, dict):
        found = found.get("error", found)
    if isinstance(found, dict):
        found = found.get("message") or found.get("detail") or ""
    shown = "".join(each if each.isprintable() else " " for each in str(found))
    return " ".join(shown.split())[:TOLD_LENGTH]

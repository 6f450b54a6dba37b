"""Serve OpenAI's protocol for audio on loopback: words for recordings, recordings for words.

    async with AudioServer("hello") as audio:
        speech = {"transcriber": audio.endpoint, "speaker": audio.endpoint}

It refuses what the protocol has no name for, and keeps what it was asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from threading import Thread
from typing import Any, Self

from tests.support.bot_api import read_body
from tests.support.raw_server import RawServer, Visit
from tests.support.wait import LONG

KEY = "sk-harbour-9f2c"
SOUND = b"OggS" + bytes(60)
TRANSCRIPTION = {"file", "model", "language", "prompt", "response_format", "temperature", "stream"}
SPEECH = {"input", "model", "voice", "instructions", "response_format", "speed", "stream_format"}


class AudioServer:
    """One server; it says the given words of each recording in turn, the last one ever after."""

    def __init__(self, *words: str) -> None:
        self.words = list(words) or ["hello"]
        # What was asked: the path, and the fields of the body.
        self.asked: list[tuple[str, dict[str, Any]]] = []
        # Answered in place of words, each once: a status, and a body.
        self.troubles: list[tuple[str, str]] = []
        # While set to an event, recordings wait for it.
        self.held: asyncio.Event | None = None
        self.arrived = asyncio.Event()
        self.sound = SOUND
        self._server = RawServer(self._serve)

    @property
    def url(self) -> str:
        """Return the address below which the protocol is spoken."""
        return f"{self._server.url}/v1"

    @property
    def endpoint(self) -> dict[str, Any]:
        """Return the settings of an endpoint that asks here."""
        return {"baseUrl": self.url, "apiKey": KEY}

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._server.__aexit__(*error)

    async def _serve(self, visit: Visit) -> None:
        path = visit.head.split()[1]
        fields = read_body(visit)
        self.asked.append((path, fields))
        self.arrived.set()
        if visit.headers.get("authorization") != f"Bearer {KEY}":
            error = {"message": f"Incorrect API key: {visit.headers.get('authorization')}"}
            return await self._tell(visit, {"error": error}, "401 Unauthorized")
        if self.troubles:
            status, body = self.troubles.pop(0)
            return await visit.answer(body, status=status, kind="application/json")
        if path == "/v1/audio/speech":
            assert fields.keys() <= SPEECH, fields
            assert {"input", "model", "voice"} <= fields.keys()
            return await visit.answer(self.sound, kind="audio/ogg")
        assert path == "/v1/audio/transcriptions", path
        assert fields.keys() <= TRANSCRIPTION, fields
        assert fields["file"]["data"]
        if self.held is not None:
            await self.held.wait()
        word = self.words.pop(0) if len(self.words) > 1 else self.words[0]
        return await self._tell(visit, {"text": word})

    async def _tell(self, visit: Visit, value: dict[str, Any], status: str = "200 OK") -> None:
        await visit.answer(json.dumps(value), status=status, kind="application/json")


@contextmanager
def serve_aside(*words: str) -> Generator[AudioServer]:
    """Serve from a thread of its own, for tests that have no event loop."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()

    def do(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(LONG)

    async def make() -> AudioServer:
        return await AudioServer(*words).__aenter__()

    server: AudioServer = do(make())
    try:
        yield server
    finally:
        do(server.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

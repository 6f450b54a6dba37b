"""Reach a platform: requests whose trouble says whether anything left, and sockets that tell no secret."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from shipmate.errors import ConfigError, NotFoundError, SendError, SendLaterError, SendRefusedError
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.outgoing import Patience, StreamedContent
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wire.wire_json import decode_json
from shipmate.values.message import JsonObject

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

PATIENCE = Patience(connect=10.0, first=30.0, stall=30.0)
ANSWER_LIMIT, FRAME_LIMIT = 8_000_000, 16_000_000
# What the library of sockets notes holds tokens and tickets.
quiet = logging.Logger(__name__, logging.CRITICAL)


class LinkAnswer(msgspec.Struct, frozen=True):
    """What a platform answered; `value` is its JSON, or an empty object where there is none."""

    status: int
    headers: Mapping[str, str]
    value: Any

    @property
    def retry_after(self) -> float | None:
        """Return for how many seconds the platform wants to be left alone, if it says so."""
        try:
            return float(self.headers["retry-after"])
        except (KeyError, ValueError):
            return None

    def trouble(self, words: str, *, retry_after: float | None = None, everywhere: bool = False) -> SendError:
        """Return what an answer that is no success means, as its status tells: later, never, or nobody knows.

        Who is not known to the platform may be so later, once the settings are mended.
        """
        if self.status in (401, 429):
            after = self.retry_after if retry_after is None else retry_after
            return SendLaterError(words, retry_after=after, everywhere=everywhere or self.status == 401)
        if self.status < 500:
            return SendRefusedError(words)
        return SendError(f"the platform answered {self.status}, and nobody knows what came of it")


class PlatformSocket:
    """A socket over which JSON goes both ways; its end is no error."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @property
    def code(self) -> int:
        """Return with which code it ended; 0 while it did not."""
        return self._socket.close_code or 0

    async def frames(self) -> AsyncGenerator[JsonObject]:
        """Go over what is told, until the end; what is no object is passed over."""
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed):
            while True:
                with suppress(msgspec.DecodeError):
                    frame = decode_json(await self._socket.recv(decode=False))
                    if isinstance(frame, dict):
                        yield frame

    async def say(self, value: JsonObject) -> None:
        """Tell something; whoever hears notices when nobody is there any more."""
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed):
            await self._socket.send(msgspec.json.encode(value).decode())

    async def close(self, code: int = 1000) -> None:
        """End it."""
        await self._socket.close(code)


class PlatformLink:
    """The way to one platform, by the address that all paths are put behind."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._client = HttpClient(os.environ, PATIENCE)

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | StreamedContent | None = None,
    ) -> LinkAnswer:
        """Send a request to a path or a whole address; return the answer, whatever its status.

        Raise SendLaterError when surely nothing left, SendError when nobody knows what came of it.
        """
        try:
            async with self._client.send(
                method, self._place(path), headers=headers, content=content
            ) as answer:
                data = await answer.read(ANSWER_LIMIT)
        except HttpFault as fault:
            raise (SendLaterError if fault.is_unsent else SendError)(fault.words) from None
        try:
            value = decode_json(data)
        except msgspec.DecodeError:
            value = {}
        return LinkAnswer(answer.status, answer.headers, value)

    async def pieces(self, path: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[bytes]:
        """Go over the bytes of something; raise NotFoundError when it cannot be had."""
        async with self._client.send("GET", self._place(path), headers=headers) as answer:
            if answer.status != 200:
                raise NotFoundError(f"the platform does not hand it out ({answer.status}).")
            async for piece in answer.pieces():
                yield piece

    async def connect(self, url: str, **values: Any) -> PlatformSocket:
        """Open a socket; it is encrypted where requests are. Raise SendError when it cannot be had."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        if self._url.startswith("https:") and not url.startswith("wss:"):
            raise SendError("the connection would not be encrypted")
        try:
            socket = await connect(url, max_size=FRAME_LIMIT, close_timeout=1, logger=quiet, **values)
        # The address may hold a ticket, and so may what the library says.
        except (OSError, TimeoutError, ValueError, WebSocketException) as error:
            raise SendError(f"the connection was not made ({type(error).__name__})") from None
        return PlatformSocket(socket)

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    def _place(self, path: str) -> str:
        return f"{self._url}{path}" if path.startswith("/") else path


def check_sockets(name: str) -> None:
    """Raise ConfigError when the library that sockets are made with is missing."""
    if find_spec("websockets") is None:
        raise ConfigError(f"adapters.{name}: websockets is missing. Install it: pip install websockets")

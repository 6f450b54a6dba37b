"""Hear Feishu over its long connection, and make it anew at the pace the platform names."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from shipmate.adapters.feishu.feishu_api import FeishuApi, encode
from shipmate.adapters.feishu.feishu_frame import CONTROL, DATA, Frame, read_frame, write_frame
from shipmate.errors import SendError
from shipmate.values.message import JsonObject

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

CONNECT_SECONDS = 20.0
FRAME_LIMIT = 4_000_000
# Events that come in pieces, and of how many pieces each may be.
OPEN_EVENTS, PIECES = 64, 256
# Whatever the platform says, it is not asked more often than this.
LEAST_SECONDS = 0.1
log = logging.getLogger(__name__)
# What the library notes holds the ticket of the address.
quiet = logging.Logger(__name__, logging.CRITICAL)


class ConnectionPace(msgspec.Struct, frozen=True, rename="pascal"):
    """How often the platform wants to be greeted, and how to come back."""

    ping_interval: float = 120.0
    reconnect_interval: float = 120.0
    # Whoever lost the connection waits a part of this first, so that not all come at once.
    reconnect_nonce: float = 30.0
    # How often to try; without end when negative.
    reconnect_count: int = -1


class LongConnection:
    """The long connection of one app; `take` passes an event on and returns what is answered."""

    def __init__(self, api: FeishuApi, take: Callable[[JsonObject], Awaitable[JsonObject]]) -> None:
        self._api = api
        self._take = take
        self._pace = ConnectionPace()
        self._pieces: OrderedDict[str, dict[int, bytes]] = OrderedDict()

    async def run(self) -> None:
        """Hear events until cancelled; raise SendError when no connection can be had."""
        await self._talk()
        while True:
            part = random.random() * self._pace.reconnect_nonce  # noqa: S311  (no secret)
            await asyncio.sleep(max(part, LEAST_SECONDS))
            await self._come_back()

    async def _come_back(self) -> None:
        tries = 0
        while True:
            try:
                return await self._talk()
            except SendError as error:
                tries += 1
                if 0 <= self._pace.reconnect_count <= tries:
                    raise
                log.warning("Feishu cannot be reached: %s", error)
            await asyncio.sleep(max(self._pace.reconnect_interval, LEAST_SECONDS))

    async def _talk(self) -> None:
        """Connect, and answer what comes until the connection ends."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed, WebSocketException

        place = await self._api.endpoint()
        self._read_pace(place.get("ClientConfig"))
        url = str(place.get("URL") or "")
        if self._api.is_encrypted and not url.startswith("wss://"):
            raise SendError("the long connection would not be encrypted")
        try:
            socket = await connect(url, open_timeout=CONNECT_SECONDS, max_size=FRAME_LIMIT, logger=quiet)
        # The address holds a ticket, and so may what the library says.
        except (OSError, TimeoutError, ValueError, WebSocketException) as error:
            raise SendError(f"the long connection was not made ({type(error).__name__})") from None
        async with socket:
            service = parse_qs(urlsplit(url).query).get("service_id", ["0"])[0]
            greeting = asyncio.create_task(self._greet(socket, int(service) if service.isdecimal() else 0))
            try:
                async for data in socket:
                    if isinstance(data, bytes):
                        await self._hear(socket, data)
            except ConnectionClosed:
                return
            finally:
                greeting.cancel()

    async def _greet(self, socket: ClientConnection, service: int) -> None:
        from websockets.exceptions import ConnectionClosed

        # Whoever hears notices the end, too.
        with suppress(ConnectionClosed):
            while True:
                await socket.send(write_frame(Frame(service=service, headers=[("type", "ping")])))
                await asyncio.sleep(max(self._pace.ping_interval, LEAST_SECONDS))

    async def _hear(self, socket: ClientConnection, data: bytes) -> None:
        try:
            frame = read_frame(data)
        except ValueError:
            log.warning("Feishu sent a frame that cannot be read")
            return
        if frame.method == CONTROL:
            if frame.find("type") == "pong" and frame.payload:
                self._read_pace(_read(frame.payload))
            return
        payload = self._join(frame)
        if frame.method != DATA or frame.find("type") != "event" or payload is None:
            return
        began = time.monotonic()
        answer = await self._answer(payload)
        took = int((time.monotonic() - began) * 1000)
        frame.headers.append(("biz_rt", str(took)))
        frame.payload = encode(answer)
        await socket.send(write_frame(frame))

    async def _answer(self, payload: bytes) -> JsonObject:
        """Take an event; what could not be taken is told so, and delivered again."""
        event = _read(payload)
        if not isinstance(event, dict):
            return {"code": 200}
        try:
            found = await self._take(event)
        # The edge of the connection: the platform delivers again whatever was not taken.
        except Exception as error:  # noqa: BLE001
            log.warning("an event is left to be delivered again: %s", type(error).__name__)
            return {"code": 500}
        return {"code": 200, **({"data": base64.b64encode(encode(found)).decode()} if found else {})}

    def _join(self, frame: Frame) -> bytes | None:
        """Return the whole of an event, once all of its pieces are there."""
        total, place, name = frame.find("sum") or "1", frame.find("seq") or "0", frame.find("message_id")
        if not (total.isdecimal() and place.isdecimal()) or int(total) > PIECES or int(place) >= int(total):
            return frame.payload if total == "0" else None
        if int(total) == 1:
            return frame.payload
        pieces = self._pieces.setdefault(name, {})
        pieces[int(place)] = frame.payload
        if len(self._pieces) > OPEN_EVENTS:
            self._pieces.popitem(last=False)
        if len(pieces) < int(total):
            return None
        self._pieces.pop(name, None)
        return b"".join(pieces[each] for each in sorted(pieces))

    def _read_pace(self, found: Any) -> None:
        try:
            self._pace = msgspec.convert(found, ConnectionPace)
        except msgspec.ValidationError:
            return


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None

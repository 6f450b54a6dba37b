"""HTTP/1.1 over connections of our own, to servers that no proxy stands before.

The library that also speaks to proxies takes five times as long for a request, and 50 ms to load.
Import this module only when a request is sent.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from shipmate.models.wire.http.address import Address
from shipmate.models.wire.http.trouble import HttpFault

if TYPE_CHECKING:
    import httpcore2

READ_BYTES = 65_536
# What may come without being body: a head, the lengths of pieces, what follows the last one.
MARGIN_LIMIT = 100_000
BODILESS = frozenset((204, 304))
Place: TypeAlias = tuple[str, str, int]
Timeouts: TypeAlias = dict[str, float | None]


class DirectPool:
    """Connections to servers, kept for later requests of one loop.

    `trust` gives what certificates are checked with, when one is to be.
    """

    def __init__(
        self,
        network: httpcore2.AsyncNetworkBackend,
        trust: Callable[[], ssl.SSLContext],
        *,
        idle_limit: int,
        idle_seconds: float,
    ) -> None:
        self._network = network
        self._trust = trust
        self._idle_limit = idle_limit
        self._idle_seconds = idle_seconds
        # Those that wait, the one that was used last behind the others, and since when.
        self._idle: dict[httpcore2.AsyncNetworkStream, tuple[Place, float]] = {}
        self._active: set[httpcore2.AsyncNetworkStream] = set()
        self._is_closed = False

    async def ask(
        self, address: Address, request: tuple[bytes, bytes | None], timeouts: Timeouts, *, may_repeat: bool
    ) -> DirectAnswer:
        """Send a request and return its answer as soon as its head is there; raise `HttpFault`."""
        place = address.scheme, address.host, address.port
        kept = await self._take(place)
        stream = kept or await self._connect(place, timeouts["connect"])
        self._active.add(stream)
        answer = DirectAnswer(self, stream, place, timeouts)
        try:
            await answer.begin(*request)
        except BaseException as error:
            await self.drop(stream)
            if not isinstance(error, Exception):
                raise
            fault = explain(error, address.host, timeouts["read"])
            is_safe = fault.kind == "unreachable" or (may_repeat and fault.kind in ("cut", "protocol"))
            if kept is None or not is_safe:
                raise fault from None
        else:
            return answer
        # The server had closed a kept connection just as it was used again, or left something on it.
        return await self.ask(address, request, timeouts, may_repeat=False)

    def keep(self, stream: httpcore2.AsyncNetworkStream, place: Place) -> bool:
        """Keep a connection whose answer was read to its end; return whether it is."""
        if self._is_closed:
            return False
        self._active.discard(stream)
        self._idle[stream] = place, time.monotonic()
        return True

    async def drop(self, stream: httpcore2.AsyncNetworkStream) -> None:
        """Close a connection at once."""
        self._active.discard(stream)
        self._idle.pop(stream, None)
        await stream.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        self._is_closed = True
        for stream in [*self._idle, *self._active]:
            await self.drop(stream)
        # The loop closes what was aborted in its next turn; it may have none but this.
        await asyncio.sleep(0)

    async def _take(self, place: Place) -> httpcore2.AsyncNetworkStream | None:
        """Return a kept connection to a server that is of use; those that are of none are closed."""
        oldest = time.monotonic() - self._idle_seconds
        excess = len(self._idle) - self._idle_limit
        found = None
        for number, (stream, (where, since)) in enumerate(list(self._idle.items())):
            if since < oldest or number < excess:
                await self.drop(stream)
            elif where == place:
                found = stream
        while found is not None and found.get_extra_info("is_readable"):
            await self.drop(found)
            found = next((stream for stream, (where, _) in self._idle.items() if where == place), None)
        if found is not None:
            del self._idle[found]
        return found

    async def _connect(self, place: Place, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        scheme, host, port = place
        if scheme != "https":
            return await self._network.connect_tcp(host, port, seconds)
        context = self._trust()
        context.set_alpn_protocols(["http/1.1"])
        stream = await self._network.connect_tcp(host, port, seconds)
        return await stream.start_tls(context, host, seconds)


class DirectAnswer:
    """The answer to one request, which is also its own body while it comes in."""

    def __init__(
        self, pool: DirectPool, stream: httpcore2.AsyncNetworkStream, place: Place, timeouts: Timeouts
    ) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._pool = pool
        self._stream = stream
        self._place = place
        self._timeouts = timeouts
        self._parser = HttpResponseParser(self)
        # What servers get wrong and is clear all the same.
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True, lenient_optional_cr_before_lf=True)
        self._pieces: list[bytes] = []
        self._margin = 0
        self._fault: HttpFault | None = None
        self._has_head = False
        self._ends_with_connection = False
        self._is_over = False
        # The next answer would begin right behind this one.
        self._is_clean = True
        self._is_closed = False

    @property
    def stream(self) -> DirectAnswer:
        """Return the body."""
        return self

    async def begin(self, head: bytes, content: bytes | None) -> None:
        """Send a request and wait for the head of its answer."""
        try:
            await self._stream.write(head, self._timeouts["write"])
            if content:
                await self._stream.write(content, self._timeouts["write"])
        except Exception as error:
            import httpcore2

            # A server may say why it takes no more.
            if not isinstance(error, httpcore2.WriteError):
                raise
            self._is_clean = False
        # For the whole head: one that comes byte by byte would never take too long for one of them.
        async with asyncio.timeout(self._timeouts["read"]):
            while not self._has_head:
                await self._receive()

    def __aiter__(self) -> DirectAnswer:
        return self

    async def __anext__(self) -> bytes:
        """Return what has come of the body, all there is of it."""
        while not self._pieces:
            if self._is_over:
                raise StopAsyncIteration
            await self._receive()
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        return piece

    async def aclose(self) -> None:
        """Free the connection when the answer came to its end, else close it."""
        if self._is_closed:
            return
        self._is_closed = True
        if not (self._is_over and self._is_clean and self._pool.keep(self._stream, self._place)):
            await self._pool.drop(self._stream)

    async def _receive(self) -> None:
        """Read what comes next; raise `HttpFault` when nothing can."""
        if self._fault is not None:
            raise self._fault
        data = await self._stream.read(READ_BYTES, self._timeouts["read"])
        if not data:
            self._end()
            return
        self._margin += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            # Told once all that came before it was read.
            self._fault = _no_http(self._place)
            self._is_clean = False
        if self._margin > MARGIN_LIMIT and not self._is_over:
            self._fault = _no_http(self._place)
        if self._fault is not None and not self._pieces and not self._is_over:
            raise self._fault

    def _end(self) -> None:
        """Take note that the server ended the connection."""
        if not self._ends_with_connection:
            raise HttpFault("cut", f"{self._place[1]} ended the connection")
        self._is_over, self._is_clean = True, False

    # What the parser tells; nothing may be raised here.

    def on_message_begin(self) -> None:
        if self._is_over:
            self._is_clean = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._has_head:
            return
        if 100 <= status < 200 and status != 101:
            # More is to come.
            self.headers.clear()
            return
        named = {name.lower(): value.strip().lower() for name, value in self.headers}
        coding = named.get(b"transfer-encoding")
        if status == 101 or coding not in (None, b"chunked"):
            self._fault = _no_http(self._place)
            return
        self.status, self._has_head, self._margin = status, True, 0
        if coding is not None and b"content-length" in named:
            self._is_clean = False
        is_bodiless = status in BODILESS or b"content-length" in named
        self._ends_with_connection = coding is None and not is_bodiless

    def on_body(self, body: bytes) -> None:
        if not self._is_over:
            self._pieces.append(body)
            self._margin = 0

    def on_message_complete(self) -> None:
        if self._has_head and not self._is_over:
            self._is_over = True
            self._is_clean = self._is_clean and self._parser.should_keep_alive()


def explain(error: Exception, host: str, seconds: float | None) -> HttpFault:
    """Say what happened at a host; anything else than trouble on the way is raised as it is."""
    if isinstance(error, HttpFault):
        return error
    # Loaded only when something went wrong.
    from shipmate.models.wire.http.http_failure import FAILURES, explain_failure, explain_late

    if isinstance(error, TimeoutError):
        return explain_late(host, seconds)
    if not isinstance(error, FAILURES):
        raise error
    return explain_failure(error, host, seconds)


def _no_http(place: Place) -> HttpFault:
    return HttpFault("protocol", f"{place[1]} answered with something that is not HTTP")

"""Ask servers that are reached without a proxy: HTTP/1.1 over connections that are kept."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing

import httptools

from shipmate.models.wire.http.network import Network, NetworkStream
from shipmate.models.wire.http.outgoing import Outgoing, StreamedContent
from shipmate.models.wire.http.trouble import HttpFault, explain_late
from shipmate.models.wording import say

# Idle connections that are kept.
IDLE_LIMIT = 64
READ_BYTES = 65_536
# What may come without being body: a head, the lengths of pieces, what follows the last one.
MARGIN_LIMIT = 100_000


class DirectPool:
    """The connections to servers of one scheme."""

    def __init__(self, network: Network, trust: ssl.SSLContext | None, idle_seconds: float) -> None:
        self._network = network
        self._trust = trust
        if trust is not None:
            trust.set_alpn_protocols(["http/1.1"])
        self._idle_seconds = idle_seconds
        # The one used last stands last.
        self._idle: list[DirectConnection] = []
        self._busy: set[DirectConnection] = set()
        # Closed ones the loop has yet to let go of.
        self._closing: list[DirectConnection] = []

    async def ask(self, request: Outgoing) -> DirectResponse:
        """Send a request and return its answer once its head has come."""
        connection = self._take(request) or await self._connect(request)
        self._busy.add(connection)
        response = DirectResponse(self, connection, request)
        try:
            await response.begin()
        except BaseException:
            response.drop()
            raise
        return response

    def give_back(self, connection: DirectConnection, *, is_free: bool) -> None:
        """Keep a connection for later requests, or close it."""
        self._busy.discard(connection)
        if not is_free:
            self._close(connection)
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)
        if len(self._idle) > IDLE_LIMIT or not self._is_young(self._idle[0]):
            self._close(self._idle.pop(0))

    async def close(self) -> None:
        """Close every connection."""
        for connection in [*self._idle, *self._busy]:
            self._close(connection)
        self._idle.clear()
        self._busy.clear()
        for connection in self._closing:
            await connection.stream.wait_closed()
        self._closing.clear()

    def _close(self, connection: DirectConnection) -> None:
        connection.close()
        self._closing = [each for each in self._closing if not each.stream.is_closed]
        self._closing.append(connection)

    def _take(self, request: Outgoing) -> DirectConnection | None:
        """Return a kept connection that is still of use; the others to that server are closed."""
        place = request.address.host, request.address.port
        for number in range(len(self._idle) - 1, -1, -1):
            if self._idle[number].place == place:
                connection = self._idle.pop(number)
                if self._is_young(connection) and not connection.stream.is_stale:
                    return connection
                self._close(connection)
        return None

    def _is_young(self, connection: DirectConnection) -> bool:
        return asyncio.get_running_loop().time() - connection.idle_since <= self._idle_seconds

    async def _connect(self, request: Outgoing) -> DirectConnection:
        request.is_fresh = True
        host, port = request.address.host, request.address.port
        seconds = request.patience.connecting
        stream = await self._network.connect_tcp(host, port, seconds)
        if self._trust is not None:
            stream = await stream.start_tls(self._trust, host, seconds)
        return DirectConnection(stream, (host, port))


class DirectConnection:
    """One connection, and since when nobody uses it."""

    def __init__(self, stream: NetworkStream, place: tuple[str, int]) -> None:
        self.stream = stream
        self.place = place
        self.idle_since = 0.0

    def close(self) -> None:
        """Close without waiting for the other side."""
        self.stream.abort()


class DirectResponse:
    """The answer to one request while it comes in; the parser tells it what it reads."""

    def __init__(self, pool: DirectPool, connection: DirectConnection, request: Outgoing) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._pool = pool
        self._connection: DirectConnection | None = connection
        self._stream = connection.stream
        self._request = request
        self._host = request.address.host
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_data_after_close=True, lenient_optional_cr_before_lf=True
        )
        self._margin = 0
        self._pieces: list[bytes] = []
        self._fault: HttpFault | None = None
        self._has_head = self._is_over = False
        # Whether the body says itself where it ends.
        self._is_framed = False
        # Whether the connection can be used again once all has been read.
        self._is_kept = True

    async def begin(self) -> None:
        """Send the request and read the answer's head."""
        await self._send()
        seconds = self._request.patience.first
        try:
            # For the whole head: one that comes byte by byte would never take too long for one of them.
            async with asyncio.timeout(seconds):
                while not self._has_head:
                    await self._receive(None)
        except TimeoutError:
            raise explain_late(self._host, seconds) from None

    @property
    def stream(self) -> AsyncIterator[bytes]:
        """Return the body, piece by piece."""
        return self

    def __aiter__(self) -> DirectResponse:
        return self

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self._fault is not None:
                raise self._fault
            if self._is_over:
                raise StopAsyncIteration
            await self._receive_in_time()
        piece = b"".join(self._pieces)
        self._pieces.clear()
        return piece

    async def aclose(self) -> None:
        """Free the connection when the answer was read to its end, else close it."""
        self.drop()

    def drop(self) -> None:
        """Do the same, for whoever cannot wait."""
        connection, self._connection = self._connection, None
        if connection is not None:
            is_free = self._is_over and self._is_kept and self._fault is None
            self._pool.give_back(connection, is_free=is_free)
            # The parser holds on to this as well: nothing would be freed before the next collection.
            del self._parser

    async def _send(self) -> None:
        request = self._request
        lines = [b"%b: %b\r\n" % line for line in request.lines]
        start = f"{request.method} {request.address.target} HTTP/1.1\r\n".encode("ascii")
        head = b"".join((start, *lines, b"\r\n"))
        request.is_asked = True
        try:
            if isinstance(request.content, StreamedContent):
                await self._stream.send(head, request.patience.write)
                async with aclosing(request.content.open()) as pieces:
                    async for piece in pieces:
                        await self._stream.send(piece, request.patience.write)
            else:
                await self._stream.send(head + (request.content or b""), request.patience.write)
        except TimeoutError:
            raise HttpFault("timeout", say("not-taken", host=self._host)) from None
        except OSError:
            # A server may refuse a long body and close before all of it was sent; what it says is read.
            self._is_kept = False

    async def _receive_in_time(self) -> None:
        stall = self._request.patience.stall
        try:
            await self._receive(stall)
        except TimeoutError:
            raise explain_late(self._host, stall) from None

    async def _receive(self, timeout: float | None) -> None:
        data = await self._stream.receive(READ_BYTES, timeout)
        if not data:
            self._end()
        else:
            self._margin += len(data)
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade):
                self._refuse()
            if self._margin > MARGIN_LIMIT:
                self._refuse()
        if self._fault is not None and not self._has_head:
            raise self._fault

    def _end(self) -> None:
        """Take the end of the connection for the answer's end, or for a cut."""
        self._is_kept = False
        if self._has_head and not self._is_framed:
            self._is_over = True
        elif not self._is_over:
            self._fault = HttpFault("cut", say("ended", host=self._host))

    def _refuse(self) -> None:
        self._is_kept = False
        # What comes behind a whole answer takes nothing from it.
        if not self._is_over:
            self._fault = HttpFault("protocol", say("no-http", host=self._host))

    def on_message_begin(self) -> None:
        """Notice what nobody asked for."""
        if self._is_over:
            self._is_kept = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows the body is passed over."""
        if not self._has_head:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Take the head, unless it is a preliminary one."""
        if self._has_head:
            return
        self.status = self._parser.get_status_code()
        if self.status < 200:
            self.headers.clear()
            return
        self._has_head = True
        self._is_kept = self._is_kept and self._parser.should_keep_alive()
        found = {name.lower(): value for name, value in self.headers}
        coding = found.get(b"transfer-encoding")
        self._is_framed = coding is not None or b"content-length" in found
        if coding is not None and coding.strip().lower() != b"chunked":
            self._refuse()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._margin = 0
        if not self._is_over:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Take the end."""
        if self._has_head:
            self._is_over = True

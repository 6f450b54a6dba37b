"""Carry bytes for the HTTP client over asyncio: what is closed is gone at once, cancelled or not."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from shipmate.models.wire.http.trouble import HttpFault, explain_certificate
from shipmate.models.wording import say

if TYPE_CHECKING:
    import httpcore2
    from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream
else:
    # The library asks for nothing but the methods, and takes 50 ms to load.
    AsyncNetworkBackend = AsyncNetworkStream = object

# How much is kept of what nobody has read yet before the sender is told to wait.
UNREAD_LIMIT = 256_000
HEAD_END = b"\r\n\r\n"
HEAD_LIMIT = 16_000
# How long an address of a host is tried alone before the next one is tried beside it.
NEXT_ADDRESS_SECONDS = 0.25


class Network(AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> NetworkStream:
        """Connect to a host; raise `HttpFault` when that fails."""
        try:
            async with asyncio.timeout(timeout):
                _, protocol = await asyncio.get_running_loop().create_connection(
                    _Protocol, host, port, happy_eyeballs_delay=_delay_next(host)
                )
        except TimeoutError:
            raise HttpFault(
                "connect-timeout", say("no-connection", host=host, seconds=f"{timeout:g}")
            ) from None
        except (socket.gaierror, ValueError):
            raise HttpFault("unknown-host", say("no-host", host=host)) from None
        except OSError:
            raise HttpFault("unreachable", say("no-answer", host=host, port=port)) from None
        return NetworkStream(protocol, host)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: nothing of ours is spoken to so."""
        raise HttpFault("address", say("no-socket"))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class NetworkStream(AsyncNetworkStream):
    """One connection."""

    def __init__(self, protocol: _Protocol, host: str) -> None:
        self._protocol = protocol
        self._host = host
        # The head of a request, kept until its body can go along: one packet less for each request.
        self._unsent = b""
        # Whether nothing has been sent since the last answer, or at all.
        self._is_between = True

    @property
    def is_stale(self) -> bool:
        """Return whether an idle connection is of no more use."""
        return self._protocol.is_stale

    @property
    def is_closed(self) -> bool:
        """Return whether the loop has let go of it."""
        return self._protocol.closed.is_set()

    async def receive(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has come, nothing at the end; raise `TimeoutError` when nothing comes in time."""
        if self._protocol.is_waiting:
            async with asyncio.timeout(timeout):
                await self._protocol.wait_for_data()
        self._is_between = True
        return self._protocol.take(max_bytes)

    async def send(self, data: bytes, timeout: float | None = None) -> None:
        """Send; raise `HttpFault` when the connection had ended before, else what the system says."""
        if self._is_between and self._protocol.is_gone:
            raise HttpFault("unreachable", say("ended-unasked", host=self._host))
        self._is_between = False
        self._protocol.write(data)
        if self._protocol.is_full:
            async with asyncio.timeout(timeout):
                await self._protocol.wait_until_free()

    def abort(self) -> None:
        """Close without waiting for the other side, so that it can be done while being cancelled."""
        self._protocol.transport.abort()

    async def wait_closed(self) -> None:
        """Wait until the loop has let go of a connection that was closed."""
        await self._protocol.closed.wait()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Receive for the library; raise its `ReadTimeout` when nothing comes in time."""
        if self._unsent:
            await self._flush(b"", timeout)
        try:
            return await self.receive(max_bytes, timeout)
        except TimeoutError:
            import httpcore2

            raise httpcore2.ReadTimeout from None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send; what the other side says when it takes no more is read afterwards."""
        if not self._unsent and buffer.endswith(HEAD_END) and len(buffer) < HEAD_LIMIT:
            self._unsent = buffer
        elif buffer:
            await self._flush(buffer, timeout)

    async def _flush(self, buffer: bytes, timeout: float | None) -> None:
        unsent, self._unsent = self._unsent, b""
        try:
            await self.send(unsent + buffer, timeout)
        except (TimeoutError, OSError) as error:
            import httpcore2

            kind = httpcore2.WriteTimeout if isinstance(error, TimeoutError) else httpcore2.WriteError
            raise kind from None

    async def aclose(self) -> None:
        """Close for the library."""
        self.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> NetworkStream:
        """Encrypt the connection; raise `HttpFault` when the other side cannot be trusted."""
        host = server_hostname or self._host
        transport = self._protocol.transport
        try:
            async with asyncio.timeout(timeout):
                upgraded = await asyncio.get_running_loop().start_tls(
                    transport, self._protocol, ssl_context, server_hostname=host
                )
        except BaseException as error:
            transport.abort()
            if isinstance(error, ssl.SSLError):
                raise explain_certificate(error, host) from None
            if isinstance(error, TimeoutError):
                raise HttpFault(
                    "connect-timeout", say("slow-encryption", host=host, seconds=f"{timeout:g}")
                ) from None
            if isinstance(error, OSError):
                raise HttpFault("unreachable", say("ended-unencrypted", host=host)) from None
            raise
        if upgraded is None:
            raise HttpFault("unreachable", say("ended-unencrypted", host=host))
        self._protocol.transport = upgraded
        return NetworkStream(self._protocol, host)

    def get_extra_info(self, info: str) -> Any:
        """Return what the client wants to know of a connection."""
        if info == "is_readable":
            return self.is_stale
        return self._protocol.transport.get_extra_info(info)


class _Protocol(asyncio.Protocol):
    """What has come in and is not read, and whether more may be sent."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._unread = bytearray()
        self._is_over = False
        self._failure: Exception | None = None
        self._is_paused = False
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []
        # Whether more than enough waits to be sent.
        self.is_full = False
        self.closed = asyncio.Event()

    @property
    def is_waiting(self) -> bool:
        """Return whether there is nothing to take yet."""
        return not self._unread and not self._is_over

    @property
    def is_gone(self) -> bool:
        """Return whether nothing that is sent now would leave."""
        return self._is_over or self.transport.is_closing()

    @property
    def is_stale(self) -> bool:
        """Return whether an idle connection is of no more use: it ended, or says what nobody asked for."""
        if self._unread or self.is_gone:
            return True
        return _has_data(self.transport.get_extra_info("socket"))

    async def wait_for_data(self) -> None:
        """Wait until something can be taken."""
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def take(self, size: int) -> bytes:
        """Return what has come; raise `HttpFault` when the connection broke."""
        if not self._unread and self._failure is not None:
            raise HttpFault("cut", say("cut"))
        data = bytes(self._unread[:size])
        del self._unread[:size]
        if self._is_paused and len(self._unread) < UNREAD_LIMIT:
            self._is_paused = False
            self.transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        """Send data."""
        if self._is_over:
            raise ConnectionResetError
        self.transport.write(data)

    async def wait_until_free(self) -> None:
        """Wait while the other side is slow."""
        free = asyncio.get_running_loop().create_future()
        self._writers.append(free)
        await free

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > UNREAD_LIMIT and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._is_over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._failure = exc
        self.closed.set()
        self._wake()
        for free in self._writers:
            if not free.done():
                free.set_exception(exc or ConnectionResetError())
        self._writers.clear()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        for free in self._writers:
            if not free.done():
                free.set_result(None)
        self._writers.clear()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


def _delay_next(host: str) -> float | None:
    """Return when the next address of a host is tried; None where the host is an address and has no other.

    The loop's race of connections was seen to leave sockets unclosed, so it is run only where it can help.
    """
    try:
        ip_address(host)
    except ValueError:
        return NEXT_ADDRESS_SECONDS
    return None


def _has_data(connection: Any) -> bool:
    """Return whether something lies in a socket that the loop has not come to yet."""
    try:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True

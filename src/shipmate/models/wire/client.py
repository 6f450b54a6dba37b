"""The HTTP client of everything that is asked outside.

    async with client.send("POST", url, headers=…, content=…) as answer:
        async for piece in answer.pieces():
            ...

Certificates are checked against the machine's own store, or what SSL_CERT_FILE and SSL_CERT_DIR name. Proxies
are those of the usual variables. Redirects are not followed: what was meant for one address, a key among it,
goes to no other. No cookie is kept. Whatever goes wrong is raised as `HttpFault`, which says whether anything
of the request can have arrived. Libraries are loaded with the first request.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from shipmate.models.wire.http.address import PORTS, Address, read_address
from shipmate.models.wire.http.proxy import find_proxy
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wording import say

if TYPE_CHECKING:
    import httpcore2

    from shipmate.models.wire.http.http_answer import HttpAnswer

# Idle connections that are kept, and for how long; a server that closes one earlier is noticed.
IDLE_LIMIT = 64
IDLE_SECONDS = 60.0
REDIRECTS = frozenset((301, 302, 303, 307, 308))
# Where a request ends is told by the client alone.
FRAMING = frozenset(("content-length", "transfer-encoding"))
HEADER_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
HEADER_VALUE = re.compile(rb"(?:[\x21-\x7e]+(?:[ \t]+[\x21-\x7e]+)*)?")


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How many seconds each thing may take: to connect, to be taken a piece, to begin, to say nothing.

    None where whoever asks has a limit of their own.
    """

    connect: float = 20.0
    write: float | None = 60.0
    first: float | None = 120.0
    stall: float | None = 120.0


class HttpClient:
    """Connections to servers, kept for later requests; for many tasks of one loop at once.

    `network` opens the connections in place of the usual one, `trust` checks certificates.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        *,
        idle_seconds: float = IDLE_SECONDS,
        network: httpcore2.AsyncNetworkBackend | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._environ = environ or {}
        self._patience = patience or Patience()
        self._idle_seconds = idle_seconds
        self._network = network
        self._trust = trust
        # By scheme and proxy.
        self._pools: dict[tuple[str, str], httpcore2.AsyncConnectionPool] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        patience: Patience | None = None,
        may_repeat: bool = False,
        takes_redirects: bool = False,
    ) -> AsyncGenerator[HttpAnswer]:
        """Send a request and give its answer; leaving the block frees the connection, or closes it at once.

        `may_repeat` lets a request that changes nothing be sent again when a kept connection turns out to be
        closed before anything came back. With `takes_redirects` an answer that redirects is one like others.
        """
        from shipmate.models.wire.http.http_answer import HttpAnswer

        patience = patience or self._patience
        address = read_address(url)
        timeouts = _list_timeouts(patience)
        lines = _list_headers(address, headers or {}, content)
        proxy = find_proxy(address.url, self._environ)
        request = _make_request(method, address, lines, content, {"timeout": timeouts})
        pool = self._find_pool(address.scheme, proxy)
        response = await self._exchange(pool, address, request, patience, may_repeat=may_repeat)
        # From here on for each further piece.
        timeouts["read"] = patience.stall
        answer = HttpAnswer(response, address.host, patience.stall)
        try:
            if answer.status in REDIRECTS and not takes_redirects:
                raise _explain_redirect(answer, address)
            yield answer
        finally:
            await answer.close()

    async def _exchange(
        self,
        pool: httpcore2.AsyncConnectionPool,
        address: Address,
        request: httpcore2.Request,
        patience: Patience,
        *,
        may_repeat: bool,
    ) -> httpcore2.Response:
        from shipmate.models.wire.http.http_failure import FAILURES, explain_failure, explain_late

        is_fresh = is_asked = is_away = False

        async def trace(event: str, info: Any) -> None:
            nonlocal is_fresh, is_asked, is_away
            if event == "connection.connect_tcp.started":
                is_fresh = True
            elif event == "http11.receive_response_headers.started" and patience.first is not None:
                # For the whole head: one that comes byte by byte would never take too long for one of them.
                limit.reschedule(asyncio.get_running_loop().time() + patience.first)
            elif event == "connection.connect_tcp.failed":
                is_away = True
            elif event == "http11.send_request_headers.started":
                # Before the request itself, a proxy may be asked for a way to the server.
                is_asked = is_asked or info["request"].method != b"CONNECT"

        request.extensions["trace"] = trace
        try:
            async with asyncio.timeout(None) as limit:
                return await pool.handle_async_request(request)
        except FAILURES as error:
            fault = explain_failure(error, address.host, patience.first)
            if not is_asked and not fault.is_unsent:
                fault = HttpFault("proxy", say("proxy-no-way", host=address.host))
            elif is_away and find_proxy(address.url, self._environ) is not None:
                fault = HttpFault("proxy", say("proxy-away", why=fault.words))
            is_safe = fault.kind == "unreachable" or (may_repeat and fault.kind in ("cut", "protocol"))
            if is_fresh or not is_safe:
                raise fault from None
        except TimeoutError:
            raise explain_late(address.host, patience.first) from None
        # The server had closed a kept connection just as it was used again, or left something on it.
        return await self._exchange(pool, address, request, patience, may_repeat=False)

    def _forget_other_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # Connections belong to the loop they were made in.
            self._pools, self._loop = {}, loop

    def _find_pool(self, scheme: str, proxy: str | None) -> httpcore2.AsyncConnectionPool:
        self._forget_other_loop()
        key = scheme, proxy or ""
        if key not in self._pools:
            self._pools[key] = self._make_pool(scheme, proxy)
        return self._pools[key]

    def _make_pool(self, scheme: str, proxy: str | None) -> httpcore2.AsyncConnectionPool:
        import httpcore2

        from shipmate.models.wire.http.network import Network

        files = self._certificate_files
        trust = self._trust or (_load_certificates(*files) if scheme == "https" else None)
        return httpcore2.AsyncConnectionPool(
            ssl_context=trust,
            proxy=None if proxy is None else _make_proxy(proxy, files),
            max_connections=None,
            max_keepalive_connections=IDLE_LIMIT,
            keepalive_expiry=self._idle_seconds,
            network_backend=self._network or Network(),
        )

    @property
    def _certificate_files(self) -> tuple[str | None, str | None]:
        return self._environ.get("SSL_CERT_FILE") or None, self._environ.get("SSL_CERT_DIR") or None

    async def close(self) -> None:
        """Close every connection."""
        pools, self._pools = [*self._pools.values()], {}
        if asyncio.get_running_loop() is self._loop:
            for pool in pools:
                await pool.aclose()


def _list_timeouts(patience: Patience) -> dict[str, float | None]:
    connect = patience.connect if patience.first is None else min(patience.connect, patience.first)
    return {"connect": connect, "write": patience.write, "read": patience.first}


def is_sendable(value: str) -> bool:
    """Return whether a header can hold this."""
    return value.isascii() and HEADER_VALUE.fullmatch(value.encode()) is not None


def _list_headers(
    address: Address, headers: Mapping[str, str], content: bytes | None
) -> list[tuple[bytes, bytes]]:
    wanted = {"host": address.authority, "accept-encoding": "identity", **address.headers}
    wanted |= {name.lower(): value for name, value in headers.items() if name.lower() not in FRAMING}
    if content is not None:
        wanted["content-length"] = str(len(content))
    if not all(is_sendable(name) and is_sendable(value) for name, value in wanted.items()):
        raise HttpFault("header", say("odd-header"))
    lines = [(name.encode(), value.encode()) for name, value in wanted.items()]
    if not all(HEADER_NAME.fullmatch(name) for name, _ in lines):
        raise HttpFault("header", say("odd-header"))
    return lines


def _make_request(
    method: str,
    address: Address,
    lines: Sequence[tuple[bytes, bytes]],
    content: bytes | None,
    extensions: dict[str, Any],
) -> httpcore2.Request:
    import httpcore2

    port = None if address.port == PORTS[address.scheme] else address.port
    target = httpcore2.URL(scheme=address.scheme, host=address.host, port=port, target=address.target)
    return httpcore2.Request(method, target, headers=lines, content=content, extensions=extensions)


def _make_proxy(text: str, files: tuple[str | None, str | None]) -> httpcore2.Proxy:
    import httpcore2

    address = read_address(text, schemes=("http", "https", "socks5", "socks5h"))
    if address.scheme.startswith("socks"):
        from importlib.util import find_spec

        if find_spec("socksio") is None:
            raise HttpFault("proxy", say("socks"))
    return httpcore2.Proxy(
        httpcore2.URL(scheme=address.scheme, host=address.host, port=address.port, target="/"),
        auth=address.user,
        ssl_context=_load_certificates(*files) if address.scheme == "https" else None,
    )


@cache
def _load_certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return what certificates are checked with; loading them takes 20 ms, so it is done once."""
    import httpcore2

    if not file and not folder:
        return httpcore2.default_ssl_context()
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError):
        named = f"SSL_CERT_FILE ({file})" if file else f"SSL_CERT_DIR ({folder})"
        raise HttpFault("certificate", say("no-certificates", place=named)) from None


def _explain_redirect(answer: HttpAnswer, address: Address) -> HttpFault:
    try:
        place = read_address(answer.headers.get("location", "")).origin
    except HttpFault:
        place = say("another-path" if answer.headers.get("location") else "nowhere")
    return HttpFault("redirect", say("sent-on", host=address.host, place=place))

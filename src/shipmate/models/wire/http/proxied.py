"""Ask servers through a proxy, with the library that speaks to all kinds of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpcore2

from shipmate.models.wire.http.address import PORTS, read_address
from shipmate.models.wire.http.network import Network
from shipmate.models.wire.http.outgoing import Outgoing, StreamedContent
from shipmate.models.wire.http.trouble import HttpFault, explain_late
from shipmate.models.wording import say

IDLE_LIMIT = 64
FAILURES = (
    HttpFault,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)


class ProxiedPool:
    """The connections through one proxy to servers of one scheme."""

    def __init__(
        self,
        proxy: str,
        network: Network,
        trust: ssl.SSLContext | None,
        proxy_trust: ssl.SSLContext | None,
        idle_seconds: float,
    ) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trust,
            proxy=_make_proxy(proxy, proxy_trust),
            max_connections=None,
            max_keepalive_connections=IDLE_LIMIT,
            keepalive_expiry=idle_seconds,
            network_backend=network,
        )

    async def ask(self, request: Outgoing) -> ProxiedResponse:
        """Send a request and return its answer once its head has come."""
        patience, host = request.patience, request.address.host
        timeouts = {"connect": patience.connecting, "write": patience.write, "read": patience.first}

        async def trace(event: str, info: Any) -> None:
            if event == "connection.connect_tcp.started":
                request.is_fresh = True
            elif event == "http11.receive_response_headers.started" and patience.first is not None:
                # For the whole head: one that comes byte by byte would never take too long for one of them.
                limit.reschedule(asyncio.get_running_loop().time() + patience.first)
            elif event == "connection.connect_tcp.failed":
                request.is_away = True
            elif event == "http11.send_request_headers.started":
                # Before the request itself, a proxy may be asked for a way to the server.
                request.is_asked = request.is_asked or info["request"].method != b"CONNECT"

        asked = _make_request(request, {"timeout": timeouts, "trace": trace})
        try:
            async with asyncio.timeout(None) as limit:
                response = await self._pool.handle_async_request(asked)
        except FAILURES as error:
            fault = explain_failure(error, host, patience.first)
            if not request.is_asked and not fault.is_unsent:
                fault = HttpFault("proxy", say("proxy-no-way", host=host))
            elif request.is_away:
                fault = HttpFault("proxy", say("proxy-away", why=fault.words))
            raise fault from None
        except TimeoutError:
            raise explain_late(host, patience.first) from None
        # From here on for each further piece.
        timeouts["read"] = patience.stall
        return ProxiedResponse(response, host, patience.stall)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class ProxiedResponse:
    """The answer to one request while it comes in."""

    def __init__(self, response: httpcore2.Response, host: str, stall: float | None) -> None:
        self.status = response.status
        self.headers = response.headers
        self.stream = self._read()
        self._response = response
        self._host = host
        self._stall = stall

    async def _read(self) -> AsyncGenerator[bytes]:
        try:
            async for piece in cast("Any", self._response.stream):
                yield piece
        except FAILURES as error:
            raise explain_failure(error, self._host, self._stall) from None

    async def aclose(self) -> None:
        """Free the connection when the answer was read to its end, else close it."""
        try:
            await self.stream.aclose()
        finally:
            await self._response.aclose()


def _make_request(request: Outgoing, extensions: dict[str, Any]) -> httpcore2.Request:
    address = request.address
    port = None if address.port == PORTS[address.scheme] else address.port
    target = httpcore2.URL(scheme=address.scheme, host=address.host, port=port, target=address.target)
    content = request.content
    body = content.open() if isinstance(content, StreamedContent) else content
    return httpcore2.Request(
        request.method, target, headers=request.lines, content=body, extensions=extensions
    )


def _make_proxy(text: str, trust: ssl.SSLContext | None) -> httpcore2.Proxy:
    address = read_address(text, schemes=("http", "https", "socks5", "socks5h"))
    if address.scheme.startswith("socks"):
        from importlib.util import find_spec

        if find_spec("socksio") is None:
            raise HttpFault("proxy", say("socks"))
    return httpcore2.Proxy(
        httpcore2.URL(scheme=address.scheme, host=address.host, port=address.port, target="/"),
        auth=address.user,
        ssl_context=trust if address.scheme == "https" else None,
    )


def explain_failure(error: Exception, host: str, seconds: float | None) -> HttpFault:
    """Say what happened at a host, which had `seconds` to say something."""
    if isinstance(error, HttpFault):
        return error
    if isinstance(error, httpcore2.ReadTimeout):
        return explain_late(host, seconds)
    if isinstance(error, httpcore2.TimeoutException):
        return HttpFault("timeout", say("not-taken", host=host))
    if isinstance(error, httpcore2.ProxyError):
        return HttpFault("proxy", say("proxy-refused", host=host, why=error))
    if isinstance(error, httpcore2.LocalProtocolError):
        return HttpFault("header", say("odd-header"))
    if isinstance(error, httpcore2.RemoteProtocolError) and not _is_cut(error):
        return HttpFault("protocol", say("no-http", host=host))
    return HttpFault("cut", say("ended", host=host))


def _is_cut(error: Exception) -> bool:
    words = str(error)
    return "without sending" in words or "incomplete" in words

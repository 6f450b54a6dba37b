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
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Protocol

from shipmate.models.wire.http.address import Address, read_address
from shipmate.models.wire.http.outgoing import Outgoing, Patience, StreamedContent
from shipmate.models.wire.http.proxy import find_proxy
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wording import say

if TYPE_CHECKING:
    from shipmate.models.wire.http.http_answer import HttpAnswer, Response
    from shipmate.models.wire.http.network import Network

# How long idle connections are kept; a server that closes one earlier is noticed.
IDLE_SECONDS = 60.0
REDIRECTS = frozenset((301, 302, 303, 307, 308))
# Where a request ends is told by the client alone.
FRAMING = frozenset(("content-length", "transfer-encoding"))
HEADER_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
HEADER_VALUE = re.compile(rb"(?:[\x21-\x7e]+(?:[ \t]+[\x21-\x7e]+)*)?")


class Pool(Protocol):
    """Connections of one kind to servers of one scheme."""

    async def ask(self, request: Outgoing) -> Response: ...
    async def close(self) -> None: ...


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
        network: Network | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._environ = environ or {}
        self._patience = patience or Patience()
        self._idle_seconds = idle_seconds
        self._network = network
        self._trust = trust
        # By scheme and proxy.
        self._pools: dict[tuple[str, str], Pool] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | StreamedContent | None = None,
        patience: Patience | None = None,
        may_repeat: bool = False,
        takes_redirects: bool = False,
    ) -> AsyncGenerator[HttpAnswer]:
        """Send a request and give its answer; leaving the block frees the connection, or closes it at once.

        `may_repeat` lets a request that changes nothing be sent again when a kept connection turns out to be
        closed before anything came back. With `takes_redirects` an answer that redirects is one like others.
        """
        from shipmate.models.wire.http.http_answer import HttpAnswer

        address = read_address(url)
        lines = _list_headers(address, headers or {}, content)
        request = Outgoing(method, address, lines, content, patience or self._patience)
        pool = self._find_pool(address.scheme, find_proxy(address.url, self._environ))
        answer = HttpAnswer(await _exchange(pool, request, may_repeat=may_repeat), address.host)
        try:
            if answer.status in REDIRECTS and not takes_redirects:
                raise _explain_redirect(answer, address)
            yield answer
        finally:
            await answer.close()

    def _forget_other_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # Connections belong to the loop they were made in.
            self._pools, self._loop = {}, loop

    def _find_pool(self, scheme: str, proxy: str | None) -> Pool:
        self._forget_other_loop()
        key = scheme, proxy or ""
        if key not in self._pools:
            self._pools[key] = self._make_pool(scheme, proxy)
        return self._pools[key]

    def _make_pool(self, scheme: str, proxy: str | None) -> Pool:
        from shipmate.models.wire.http.network import Network

        files = self._certificate_files
        trust = self._trust or (_load_certificates(*files) if scheme == "https" else None)
        network = self._network or Network()
        if proxy is None:
            from shipmate.models.wire.http.direct import DirectPool

            return DirectPool(network, trust if scheme == "https" else None, self._idle_seconds)
        from shipmate.models.wire.http.proxied import ProxiedPool

        is_encrypted = proxy.startswith("https:")
        proxy_trust = _load_certificates(*files) if is_encrypted else None
        return ProxiedPool(proxy, network, trust, proxy_trust, self._idle_seconds)

    @property
    def _certificate_files(self) -> tuple[str | None, str | None]:
        return self._environ.get("SSL_CERT_FILE") or None, self._environ.get("SSL_CERT_DIR") or None

    async def close(self) -> None:
        """Close every connection."""
        pools, self._pools = [*self._pools.values()], {}
        if asyncio.get_running_loop() is self._loop:
            for pool in pools:
                await pool.close()


async def _exchange(pool: Pool, request: Outgoing, *, may_repeat: bool) -> Response:
    try:
        return await pool.ask(request)
    except HttpFault as fault:
        is_safe = fault.kind == "unreachable" or (may_repeat and fault.kind in ("cut", "protocol"))
        if request.is_fresh or not is_safe:
            raise
    # The server had closed a kept connection just as it was used again, or left something on it.
    return await _exchange(pool, request, may_repeat=False)


def is_sendable(value: str) -> bool:
    """Return whether a header can hold this."""
    return value.isascii() and HEADER_VALUE.fullmatch(value.encode()) is not None


def _list_headers(
    address: Address, headers: Mapping[str, str], content: bytes | StreamedContent | None
) -> list[tuple[bytes, bytes]]:
    wanted = {"host": address.authority, "accept-encoding": "identity", **address.headers}
    wanted |= {name.lower(): value for name, value in headers.items() if name.lower() not in FRAMING}
    if content is not None:
        size = content.size if isinstance(content, StreamedContent) else len(content)
        wanted["content-length"] = str(size)
    return [_encode_header(name, value) for name, value in wanted.items()]


@lru_cache(maxsize=256)
def _encode_header(name: str, value: str) -> tuple[bytes, bytes]:
    """Return a header as it is sent; most are sent again with every request."""
    if not (is_sendable(value) and name.isascii() and HEADER_NAME.fullmatch(name.encode())):
        raise HttpFault("header", say("odd-header"))
    return name.encode(), value.encode()


@cache
def _load_certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return what certificates are checked with; loading them takes 20 ms, so it is done once."""
    if not file and not folder:
        import httpcore2

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

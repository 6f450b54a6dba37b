"""Fetch pages over connections that are made only to addresses that were checked."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import cast

import httpcore2
import httpx2
import msgspec

from shipmate import __version__
from shipmate.errors import ToolError

Lookup = Callable[[str, int], Awaitable[list[str]]]

# What `is_global` of some Python versions lets through, and a public address that is a cloud host's own.
CLOSED_IPV4 = [
    IPv4Network(each)
    for each in (
        "0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "169.254.0.0/16", "192.0.0.0/24", "192.88.99.0/24",
        "198.18.0.0/15", "224.0.0.0/3",
    )
]  # fmt: skip
# All of IPv6 that is in public use; within it, ranges that wrap an IPv4 address or are set aside.
PUBLIC_IPV6 = IPv6Network("2000::/3")
CLOSED_IPV6 = [
    IPv6Network(each)
    for each in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]  # fmt: skip
# Networks without IPv4 reach it through this range, so what it wraps is checked instead.
NAT64 = IPv6Network("64:ff9b::/96")
CLOSED_NAMES = (
    "localhost",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "localdomain",
    "home.arpa",
)
# An address that some routers take for the wrapped IPv4 one; the last half of it begins so.
ISATAP = (0x5EFE, 0x02005EFE)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address belongs to the public internet."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in CLOSED_IPV4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if address.scope_id is not None or address not in PUBLIC_IPV6 or not address.is_global:
        return False
    if (int(address) >> 32) & 0xFFFFFFFF in ISATAP:
        return False
    return not any(address in network for network in CLOSED_IPV6)


def is_closed_name(host: str) -> bool:
    """Return whether a name means this machine or its local network by custom."""
    name = host.rstrip(".").lower()
    return any(name == closed or name.endswith(f".{closed}") for closed in CLOSED_NAMES)


async def look_up(host: str, port: int) -> list[str]:
    """Ask the system for a host's addresses."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host!r} has no address; check the name.") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve_public(host: str, port: int, look_up: Lookup = look_up) -> list[str]:
    """Return the addresses to connect to; refuses a host with any address that is not public."""
    if not host or is_closed_name(host):
        raise ToolError(f"{host!r} is not on the public internet, and only that may be fetched.")
    addresses = await look_up(host, port)
    if not addresses or not all(is_public(ip_address(address)) for address in addresses):
        raise ToolError(f"{host!r} is not on the public internet, and only that may be fetched.")
    return addresses


Resolve = Callable[[str, int], Awaitable[list[str]]]

SECONDS = 30
CONNECT_SECONDS = 10
REDIRECTS = 5
SIZE_LIMIT = 5_000_000
# What may come over the wire for one page; compressed data can be long and hold nothing.
WIRE_LIMIT = 10_000_000
ADDRESS_LIMIT = 8_000
FIELD_LIMIT = 200
# One coding at most: of several, a short answer holds terabytes between one and the next.
CODINGS = frozenset({"", "identity", "gzip", "deflate"})
CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE)
HEADERS = {
    "User-Agent": f"Shipmate/{__version__}",
    "Accept": "text/html,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


class FetchedPage(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered; `is_cut` when it would have gone on past the limit."""

    url: str
    kind: str
    charset: str | None
    body: bytes
    is_cut: bool


class Fetcher:
    """Fetches pages with every connection guarded: the first, and those after redirects."""

    def __init__(self, resolve: Resolve = resolve_public, trust: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve
        self._trust = trust

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch a page, following a few redirects."""
        transport = _GuardedTransport(self._resolve, self._trust)
        try:
            async with (
                asyncio.timeout(SECONDS),
                httpx2.AsyncClient(transport=transport, headers=HEADERS) as client,
            ):
                return await _follow(client, check_url(url))
        except TimeoutError as error:
            raise ToolError(f"{url} did not answer within {SECONDS} s.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, *_LOW_ERRORS) as error:
            raise ToolError(f"{url} could not be fetched: {str(error) or type(error).__name__}.") from error


_LOW_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    ssl.SSLError,
    UnicodeError,
)


def check_url(text: str) -> httpx2.URL:
    """Read an address; only plain http and https ones are taken."""
    if len(text) > ADDRESS_LIMIT:
        raise ToolError(f"An address of {len(text):,} characters is too long: at most {ADDRESS_LIMIT:,}.")
    try:
        url = httpx2.URL(text.strip())
        has_host = bool(url.raw_host)
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError) as error:
        raise ToolError(f"{text!r} is not a web address: {error}.") from error
    if url.scheme not in ("http", "https") or not has_host:
        raise ToolError(f"{text!r} is not a web address; it must begin with http:// or https://.")
    if url.userinfo:
        raise ToolError("An address with a user name or password in it is not fetched.")
    return url


async def _follow(client: httpx2.AsyncClient, url: httpx2.URL) -> FetchedPage:
    for _ in range(REDIRECTS + 1):
        # Cookies of one page are no business of the next.
        client.cookies.clear()
        async with client.stream("GET", url) as response:
            if response.next_request is None:
                return await _take(response)
            url = check_url(str(response.next_request.url))
    raise ToolError(f"{url} redirects more than {REDIRECTS} times.")


async def _take(response: httpx2.Response) -> FetchedPage:
    if response.status_code >= 400:
        raise ToolError(
            f"{response.url} answered {response.status_code} {response.reason_phrase}.".replace(" .", ".")
        )
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in CODINGS:
        raise ToolError(
            f"{response.url} is encoded as {coding[:FIELD_LIMIT]!r}, which was not asked for and is not read."
        )
    body = bytearray()
    async for piece in response.aiter_bytes(65_536):
        body += piece
        if len(body) > SIZE_LIMIT:
            break
    said = response.headers.get("content-type", "")[:FIELD_LIMIT]
    charset = CHARSET.search(said)
    return FetchedPage(
        url=str(response.url),
        kind=said.partition(";")[0].strip().lower(),
        # Not the library's reading of it, which takes seconds for a header made for that.
        charset=charset[1] if charset else None,
        body=bytes(body[:SIZE_LIMIT]),
        is_cut=len(body) > SIZE_LIMIT,
    )


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses the resolver gave, and to nothing else."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        # Declared twice by the library, for use without anyio, so its type is lost.
        self._backend = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in await self._resolve(host, port):
            try:
                return await self._backend.connect_tcp(address, port, CONNECT_SECONDS)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _GuardedTransport(httpx2.AsyncBaseTransport):
    """Carries requests over guarded connections; no proxy, as it would look names up itself."""

    def __init__(self, resolve: Resolve, trust: ssl.SSLContext | None) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trust, network_backend=_GuardedBackend(resolve)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        response = await self._pool.handle_async_request(
            httpcore2.Request(request.method, target, headers=request.headers.raw)
        )
        # Cookies are never sent, and reading those of a stranger can take long.
        headers = [(name, value) for name, value in response.headers if name.lower() != b"set-cookie"]
        return httpx2.Response(response.status, headers=headers, stream=_Stream(response))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Stream(httpx2.AsyncByteStream):
    """The bytes of a response, up to the limit of what may come."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = WIRE_LIMIT
        async for piece in self._response.aiter_stream():
            left -= len(piece)
            if left < 0:
                raise httpx2.ReadError(f"more than {WIRE_LIMIT // 1_000_000} MB came")
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()

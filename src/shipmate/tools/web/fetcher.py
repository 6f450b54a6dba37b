"""Fetch pages over connections that are made only to addresses that were checked."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import msgspec

from shipmate import __version__
from shipmate.errors import ToolError
from shipmate.models.wire.client import REDIRECTS, HttpClient, Patience
from shipmate.models.wire.http.address import read_address
from shipmate.models.wire.http.http_answer import HttpAnswer
from shipmate.models.wire.http.network import Network, NetworkStream
from shipmate.models.wire.http.trouble import HttpFault

if TYPE_CHECKING:
    import httpcore2

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
HOP_LIMIT = 5
SIZE_LIMIT = 5_000_000
# What may come over the wire for one page; compressed data can be long and hold nothing.
WIRE_LIMIT = 10_000_000
ADDRESS_LIMIT = 8_000
FIELD_LIMIT = 200
# One coding at most: of several, a short answer holds terabytes between one and the next.
CODINGS = frozenset({"", "identity", "gzip", "deflate"})
CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE)
HEADERS = {
    "user-agent": f"Shipmate/{__version__}",
    "accept": "text/html,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5",
    "accept-encoding": "gzip, deflate",
}
# The whole fetch has a limit.
PATIENCE = Patience(connect=CONNECT_SECONDS, write=None, first=None, stall=None)


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
        # No proxy, whatever the variables say: it would look names up itself.
        client = HttpClient({}, PATIENCE, network=_GuardedNetwork(self._resolve), trust=self._trust)
        try:
            async with asyncio.timeout(SECONDS):
                return await _follow(client, check_url(url))
        except TimeoutError as error:
            raise ToolError(f"{url} did not answer within {SECONDS} s.") from error
        except HttpFault as fault:
            is_long = fault.kind == "too-large"
            words = f"more than {WIRE_LIMIT // 1_000_000} MB came" if is_long else fault.words
            raise ToolError(f"{url} could not be fetched: {words}.") from fault
        finally:
            await client.close()


def check_url(text: str) -> str:
    """Return an address as it is asked for; only plain http and https ones are taken."""
    if len(text) > ADDRESS_LIMIT:
        raise ToolError(f"An address of {len(text):,} characters is too long: at most {ADDRESS_LIMIT:,}.")
    try:
        address = read_address(text)
        has_user = "@" in urlsplit(address.url).netloc
    except (HttpFault, ValueError) as error:
        raise ToolError(f"{text!r} is not a web address: {error}.") from error
    if has_user:
        raise ToolError("An address with a user name or password in it is not fetched.")
    return f"{address.origin}{address.target}"


async def _follow(client: HttpClient, url: str) -> FetchedPage:
    for _ in range(HOP_LIMIT + 1):
        async with client.send("GET", url, headers=HEADERS, takes_redirects=True) as answer:
            target = _read_location(answer) if answer.status in REDIRECTS else ""
            if not target:
                return await _take(url, answer)
            url = _resolve_redirect(url, target)
    raise ToolError(f"{url} redirects more than {HOP_LIMIT} times.")


def _read_location(answer: HttpAnswer) -> str:
    raw = answer.headers.get("location", "").strip()
    try:
        # Many servers write it as it stands in their pages.
        return raw.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return raw


def _resolve_redirect(url: str, target: str) -> str:
    try:
        # One with a scheme is whole; joining would mend what is none.
        return check_url(target if urlsplit(target).scheme else urljoin(url, target))
    except ValueError as error:
        raise ToolError(f"{url} redirects to {target[:FIELD_LIMIT]!r}, which is no web address.") from error


async def _take(url: str, answer: HttpAnswer) -> FetchedPage:
    if answer.status >= 400:
        raise ToolError(f"{url} answered {answer.status} {_phrase(answer.status)}".rstrip() + ".")
    coding = answer.headers.get("content-encoding", "").strip().lower()
    if coding not in CODINGS:
        raise ToolError(
            f"{url} is encoded as {coding[:FIELD_LIMIT]!r}, which was not asked for and is not read."
        )
    body = await answer.read(SIZE_LIMIT + 1, cut=True, wire_limit=WIRE_LIMIT)
    said = answer.headers.get("content-type", "")[:FIELD_LIMIT]
    charset = CHARSET.search(said)
    return FetchedPage(
        url=url,
        kind=said.partition(";")[0].strip().lower(),
        charset=charset[1] if charset else None,
        body=body[:SIZE_LIMIT],
        is_cut=len(body) > SIZE_LIMIT,
    )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


class _GuardedNetwork(Network):
    """Connects to addresses the resolver gave, and to nothing else."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> NetworkStream:
        failure = HttpFault("unknown-host", f"{host} has no address")
        for address in await self._resolve(host, port):
            try:
                # An address in figures: nobody looks it up a second time.
                return await super().connect_tcp(str(ip_address(address)), port, timeout)
            except HttpFault as fault:
                failure = fault
        raise failure

"""Tell public internet addresses from all others, and find the public addresses of a host.

A host is looked up once, whatever way it is written; the addresses found are checked, and only they are
connected to. So no spelling of an address and no second answer of a name server gets past the check.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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

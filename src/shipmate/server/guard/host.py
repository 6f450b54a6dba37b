"""Check where a request was sent and where it came from, so that no foreign web page can reach us."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from typing import NamedTuple

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))*")
HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(?::(?P<port>[0-9]{1,5}))?")


class Host(NamedTuple):
    """One parsed Host header; `address` is None for a name."""

    name: str
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    port: int | None


def parse_host(text: str) -> Host | None:
    """Read `name`, `1.2.3.4` or `[::1]`, with or without a port; None for anything else."""
    match = HOST.fullmatch(text.lower())
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else None
    if match["six"]:
        address = _address(match["six"])
        return Host(match["six"], address, port) if isinstance(address, ipaddress.IPv6Address) else None
    name = match["name"]
    address = _address(name)
    # A name whose last label is a number would be read as an address by some resolvers (127.1, 0x7f.1).
    if address is None and (not NAME.fullmatch(name) or name.rpartition(".")[2][0].isdigit()):
        return None
    return Host(name, address, port)


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine alone."""
    address = _address(host.strip("[]"))
    return host.lower() == "localhost" if address is None else _is_loopback(address)


class AllowedHosts:
    """The hosts that are ours.

    A page that tricks a browser into asking us (DNS rebinding) must do so under a name of its own, so names
    are listed one by one. Addresses are safe: when listening beyond loopback any address is accepted.
    """

    def __init__(self, listen: str, names: Collection[str] = ()) -> None:
        self._names = frozenset({"localhost", *(name.lower() for name in names)})
        self._only_loopback = is_loopback(listen)

    def admits_host(self, text: str) -> bool:
        """Return whether a Host header names us."""
        host = parse_host(text)
        if host is None:
            return False
        if host.address is None:
            return host.name in self._names
        return _is_loopback(host.address) or not self._only_loopback

    def admits_origin(self, origin: str, host: str) -> bool:
        """Return whether an Origin header is our own: the same host and port the request was sent to."""
        scheme, mark, rest = origin.partition("://")
        if not mark or scheme not in ("http", "https"):
            return False
        theirs, ours = parse_host(rest), parse_host(host)
        if theirs is None or ours is None:
            return False
        default = 443 if scheme == "https" else 80
        return (theirs.address or theirs.name, theirs.port or default) == (
            ours.address or ours.name,
            ours.port or default,
        )


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback

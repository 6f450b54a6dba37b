"""Read the address of a server."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wording import say

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
# What a path or query may hold as it is; anything else is written in per cent.
PLAIN = "!#$%&'()*+,/:;=?@[]~"
# What no host's name holds: one library would read it as part of the name, another as its end.
ODD = frozenset('<>^|\\"`{}@#?/')


class Address(NamedTuple):
    """An address in the pieces a request needs."""

    url: str
    scheme: str
    host: str
    port: int
    # Path and query.
    target: str
    # Who asks, where the address says so.
    user: tuple[str, str] | None

    @property
    def authority(self) -> str:
        """Return host and port as requests name them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return whom the address reaches, without path, query and user."""
        return f"{self.scheme}://{self.authority}"

    @property
    def headers(self) -> Mapping[str, str]:
        """Return how the user of the address signs in."""
        if self.user is None:
            return {}
        return {"authorization": f"Basic {base64.b64encode(':'.join(self.user).encode()).decode()}"}


@lru_cache(maxsize=64)
def read_address(url: str, schemes: tuple[str, ...] = ("http", "https")) -> Address:
    """Take an address apart; raise `HttpFault` for what is none."""
    try:
        parts = urlsplit(url.strip())
        name, port = parts.hostname or "", parts.port
        host = name if name.isascii() else name.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise HttpFault("address", say("address-unread")) from None
    if parts.scheme not in schemes or not host or not _is_name(host):
        raise HttpFault("address", say("not-http", schemes=" / ".join(f"{each}://" for each in schemes)))
    query = f"?{parts.query}" if parts.query else ""
    target = quote(f"{parts.path or '/'}{query}", safe=PLAIN)
    user = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
    return Address(url.strip(), parts.scheme, host, port or PORTS[parts.scheme], target, user)


def _is_name(host: str) -> bool:
    return host.isascii() and host.isprintable() and not any(char in ODD or char.isspace() for char in host)

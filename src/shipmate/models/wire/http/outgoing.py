"""One request on its way to a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

import msgspec

from shipmate.models.wire.http.address import Address


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How many seconds each thing may take: to connect, to be taken a piece, to begin, to say nothing.

    None where whoever asks has a limit of their own.
    """

    connect: float = 20.0
    write: float | None = 60.0
    first: float | None = 120.0
    stall: float | None = 120.0

    @property
    def connecting(self) -> float:
        """Return how long a connection may take: no longer than the answer."""
        return self.connect if self.first is None else min(self.connect, self.first)


class StreamedContent(msgspec.Struct, frozen=True):
    """A body that is read while it is sent, from its beginning at each attempt: `size` bytes of `open`."""

    size: int
    open: Callable[[], AsyncGenerator[bytes]]


class Outgoing(msgspec.Struct, eq=False):
    """What is sent, and how far it came."""

    method: str
    address: Address
    lines: list[tuple[bytes, bytes]]
    content: bytes | StreamedContent | None
    patience: Patience
    # Whether a connection was made for it; nothing of it has left before it is asked.
    is_fresh: bool = False
    is_asked: bool = False
    # Whether nobody answered at the proxy.
    is_away: bool = False

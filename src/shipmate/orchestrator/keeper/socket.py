"""Define how a process meets the keeper: a lock that one holds, and a private socket to reach it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol


class Link(Protocol):
    """One connection between two processes; a frame arrives whole or not at all."""

    async def send(self, frame: bytes) -> None:
        """Hand a frame over; raise ConnectionError when the other side is gone."""
        ...

    async def receive(self) -> bytes | None:
        """Return the next frame, or None when the other side is gone."""
        ...

    def close(self) -> None: ...


class Socket(Protocol):
    """Where the processes of one workspace meet."""

    def hold(self) -> bool:
        """Try to become the one that keeps; held until `release` or the end of the process."""
        ...

    def release(self) -> None: ...

    async def listen(self, welcome: Callable[[Link], Awaitable[None]]) -> None:
        """Let others connect; `welcome` serves each until it returns. Only the holder listens."""
        ...

    async def connect(self) -> Link | None:
        """Reach the keeper, or return None when none listens."""
        ...

    async def close(self) -> None:
        """Stop listening."""
        ...

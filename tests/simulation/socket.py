"""Where simulated processes meet: a lock that one holds, and links that deliver late and in order."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Protocol


class Member(Protocol):
    """A process as its links know it."""

    is_dead: bool
    context: Context

    def check(self) -> None:
        """Raise when the process is dead."""
        ...


class SimLink:
    """One end of a connection."""

    def __init__(self, owner: Member, harbour: Harbour) -> None:
        self._owner = owner
        self._loop = harbour.loop
        self._chance = harbour.chance
        self._arrived: asyncio.Queue[bytes | None] = asyncio.Queue()
        # In the order they were sent, whatever order the loop takes.
        self._coming: deque[bytes | None] = deque()
        self._last = 0.0
        self._is_over = False
        self.other: SimLink | None = None
        self.is_closed = False

    async def send(self, frame: bytes) -> None:
        """Hand a frame over."""
        self._owner.check()
        other = self.other
        if self.is_closed or other is None or other.is_closed:
            raise ConnectionResetError("the other side is gone")
        if self._chance.random() < 0.2:
            await asyncio.sleep(self._chance.choice((0.0, 0.001, 0.005)))
            self._owner.check()
        self._deliver(frame)

    async def receive(self) -> bytes | None:
        """Return the next frame, or None at the end."""
        self._owner.check()
        if self._is_over or self.is_closed:
            return None
        frame = await self._arrived.get()
        self._owner.check()
        if frame is None:
            self._is_over = True
        return frame

    def close(self) -> None:
        """End the connection; what was sent before still arrives."""
        if self.is_closed:
            return
        self._deliver(None)
        self.is_closed = True
        # Whoever waits at this end is told, too.
        if not self._owner.is_dead:
            self._arrived.put_nowait(None)

    def _deliver(self, frame: bytes | None) -> None:
        other = self.other
        if other is None or other._owner.is_dead:
            return
        wait = self._chance.choice((0.0, 0.0, 0.0005, 0.002, 0.01))
        self._last = max(self._last + 1e-7, self._loop.time() + wait)
        other._coming.append(frame)
        self._loop.call_at(self._last, other._arrive, context=other._owner.context)

    def _arrive(self) -> None:
        frame = self._coming.popleft()
        if not self.is_closed:
            self._arrived.put_nowait(frame)


class Harbour:
    """The lock and the door of one workspace."""

    def __init__(self, loop: asyncio.AbstractEventLoop, chance: random.Random) -> None:
        self.loop = loop
        self.chance = chance
        self.holder: SimSocket | None = None
        self.door: tuple[SimSocket, Callable[[SimLink], Awaitable[None]]] | None = None


class SimSocket:
    """One process's way to the others."""

    def __init__(self, owner: Member, harbour: Harbour, *, ignores_lock: bool = False) -> None:
        self._owner = self.owner = owner
        self._harbour = harbour
        self._links: list[SimLink] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._ignores_lock = ignores_lock

    def hold(self) -> bool:
        """Try to become the one that keeps."""
        self._owner.check()
        if self._harbour.holder in (None, self) or self._ignores_lock:
            self._harbour.holder = self
            return True
        return False

    def release(self) -> None:
        """Let another one keep."""
        self._owner.check()
        if self._harbour.holder is self:
            self._harbour.holder = None

    async def listen(self, welcome: Callable[[SimLink], Awaitable[None]]) -> None:
        """Let others connect."""
        self._owner.check()
        await asyncio.sleep(0)
        self._owner.check()
        self._harbour.door = (self, welcome)

    async def connect(self) -> SimLink | None:
        """Reach the keeper."""
        self._owner.check()
        await asyncio.sleep(self._harbour.chance.choice((0.0, 0.001)))
        self._owner.check()
        door = self._harbour.door
        if door is None or door[0]._owner.is_dead:
            return None
        keeper, welcome = door
        near, far = SimLink(self._owner, self._harbour), SimLink(keeper._owner, self._harbour)
        near.other, far.other = far, near
        self._links.append(near)
        keeper._links.append(far)
        self._harbour.loop.call_later(
            self._harbour.chance.choice((0.0, 0.001)),
            keeper._welcome,
            welcome,
            far,
            context=keeper._owner.context,
        )
        return near

    def _welcome(self, welcome: Callable[[SimLink], Awaitable[None]], link: SimLink) -> None:
        async def serve() -> None:
            try:
                await welcome(link)
            finally:
                link.close()

        task = self._harbour.loop.create_task(serve(), context=self._owner.context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop listening."""
        self._owner.check()
        if self._harbour.door is not None and self._harbour.door[0] is self:
            self._harbour.door = None
        await asyncio.sleep(0)

    def end(self) -> None:
        """Do what the system does when a process ends: free the lock, cut the links."""
        if self._harbour.holder is self:
            self._harbour.holder = None
        if self._harbour.door is not None and self._harbour.door[0] is self:
            self._harbour.door = None
        for link in self._links:
            link.close()

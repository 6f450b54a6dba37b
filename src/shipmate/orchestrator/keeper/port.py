"""Define what any process may ask of the keeper. A fleet answers the same verbs from PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from shipmate.orchestrator.feed import FeedEvent, Receipt, Run
from shipmate.orchestrator.keeper.health import EngineHealth
from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent


class Keeper(Protocol):
    """The verbs: hand an event over, watch, stop, take back. To steer and to decide are events too."""

    async def receive(self, event: IngressEvent) -> Receipt:
        """Store an event; from here on it cannot be lost, and a repeat starts nothing."""
        ...

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Take back an event that still waits."""
        ...

    async def stop(self, thread_id: str) -> bool:
        """Stop the run in flight of a thread, durably; tell whether there was one."""
        ...

    async def queue(self, thread_id: str) -> list[InboxRow]:
        """List what waits or runs in a thread, oldest first."""
        ...

    def runs(self) -> dict[str, Run]:
        """Return the runs in flight, by thread."""
        ...

    def running(self, thread_id: str) -> Run | None:
        """Return the run in flight of a thread."""
        ...

    def watch(self, thread_id: str) -> AbstractAsyncContextManager[asyncio.Queue[FeedEvent]]:
        """Follow a thread: a queue that begins with the running message as told so far, then what is live."""
        ...


Lead: TypeAlias = Callable[[str, Callable[[], Awaitable[None]]], None]


# The role of a process that does everything.
ALONE = "all-in-one"


class ThreadEngine(Keeper, Protocol):
    """What works the threads of a workspace, as one process takes part in it: the whole of what one must do.

    `receive` stores an event, tells a repeat from a new one and sees that its thread is worked, all at once.
    From `open` to `close` this process takes part: it may work threads, in their order and each by one
    process at a time, and it begins tasks by the clock where no other does. `watch` brings what runs tell,
    wherever they go on.
    """

    # The threads that were found unfinished.
    taken_up: list[str]

    @property
    def lead(self) -> Lead | None:
        """Return what begins some work, under a name, where no other process does it; one alone has none."""
        ...

    @property
    def keeps(self) -> bool:
        """Return whether this process works threads."""
        ...

    @property
    def role(self) -> str:
        """Return what this process is among others; one that needs no others is `all-in-one`."""
        ...

    async def open(self) -> None:
        """Take part from now on."""
        ...

    async def close(self, *, finish: bool = False) -> None:
        """Leave: what acts comes to its end, the rest goes on elsewhere; `finish` works it off first."""
        ...

    async def idle(self) -> None:
        """Wait until this process works on nothing."""
        ...

    def busy(self) -> list[str]:
        """List the threads that nobody but this process would work."""
        ...

    async def health(self) -> EngineHealth:
        """Return who takes part, what waits, and what nobody works; raise when nobody can tell."""
        ...

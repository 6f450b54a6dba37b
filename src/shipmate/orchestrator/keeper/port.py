"""Define what any process may ask of the keeper. A fleet answers the same verbs from PostgreSQL."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from shipmate.orchestrator.feed import FeedEvent, Receipt, Run
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

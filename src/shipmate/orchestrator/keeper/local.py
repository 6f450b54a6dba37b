"""Answer the keeper's verbs in the process that keeps."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from shipmate.orchestrator.feed import Feed, FeedEvent, Run
from shipmate.orchestrator.lane.lanes import Lanes
from shipmate.orchestrator.receipt import Receipt
from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent


class LocalKeeper:
    """The keeper itself: its lanes and their feed."""

    def __init__(self, lanes: Lanes, feed: Feed) -> None:
        self.lanes = lanes
        self.feed = feed
        # Never done: as long as this process lives, its keeper is there.
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def receive(self, event: IngressEvent) -> Receipt:
        return await self.lanes.receive(event)

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        return await self.lanes.withdraw(thread_id, message_id)

    async def stop(self, thread_id: str) -> bool:
        return await self.lanes.stop(thread_id)

    async def queue(self, thread_id: str) -> list[InboxRow]:
        return await self.lanes.queue(thread_id)

    def running(self, thread_id: str) -> Run | None:
        return self.feed.running(thread_id)

    def watch(
        self, thread_id: str, queue: asyncio.Queue[FeedEvent] | None = None
    ) -> AbstractAsyncContextManager[asyncio.Queue[FeedEvent]]:
        return self.feed.subscribe(thread_id, queue)

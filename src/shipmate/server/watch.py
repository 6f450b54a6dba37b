"""Follow runs for one client: the run of its own message, or whatever runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shipmate.orchestrator.feed import FeedEvent
from shipmate.server.port import Receipt, Ship
from shipmate.server.retell import retell, retell_data
from shipmate.server.stream import WAKE, Events
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.event import ApprovalReplyEvent, Outcome
from shipmate.values.thread_id import ThreadId


class OwnRuns:
    """Choose the chunks of the runs that answer these events, until all of them are answered."""

    def __init__(self, ship: Ship, thread_id: ThreadId, receipts: Sequence[Receipt], queue: Events) -> None:
        self._ship = ship
        self._thread_id = thread_id
        self._ids = frozenset(receipt.row.event.message_id for receipt in receipts)
        self._receipts = receipts
        self._has_begun = False
        self._queue = queue
        self._outcomes = asyncio.gather(*(receipt.outcome() for receipt in receipts))
        # Outcomes are known after the last chunk was put into the queue, so this wakes us behind it.
        self._outcomes.add_done_callback(self._settle)

    async def opening(self) -> list[Chunk]:
        """Say that another run goes first, when one does."""
        run = self._ship.feed.running(str(self._thread_id))
        if run is None or not self._receipts or run.answers & self._ids:
            return []
        own = self._receipts[0].row
        rows = await self._ship.store.inbox.open(str(self._thread_id))
        ahead = sum(row.status == "waiting" and row.seq < own.seq for row in rows)
        waiting = {"messageId": own.event.message_id, "position": ahead + 1}
        return [chunks.data("queue", waiting, transient=True)]

    async def choose(self, events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
        """Take our chunks; over when every event has its outcome."""
        chosen: list[Chunk] = []
        for event in events:
            if event.chunk is not None and event.answers & self._ids:
                chosen.append(event.chunk)
                if event.chunk["type"] == "start":
                    self._has_begun = True
                    chosen += await self._named_data(event.chunk["messageId"])
        # What was queued after these events must be looked at before the end is told.
        is_over = self._outcomes.done() and self._queue.empty()
        if is_over and not self._has_begun:
            chosen += await self._retell(self._outcomes.result()[-1])
        return chosen, is_over

    def _settle(self, outcomes: asyncio.Future[list[Outcome]]) -> None:
        if not outcomes.cancelled():
            # Asking for it marks it as seen: nobody else will when the client has left.
            outcomes.exception()
        self._queue.put_nowait(WAKE)

    def cancel(self) -> None:
        """Stop waiting; the runs go on."""
        self._outcomes.cancel()

    async def _named_data(self, message_id: str) -> list[Chunk]:
        """Give what was put into a message between two runs: the answers that let it go on."""
        if not isinstance(self._receipts[0].row.event, ApprovalReplyEvent):
            return []
        message = (await self._ship.threads.read(self._thread_id)).find(message_id)
        return retell_data(message) if message is not None else []

    async def _retell(self, outcome: Outcome) -> list[Chunk]:
        """Tell what became of events that started no run of their own."""
        if outcome.error is not None and outcome.message_id is None:
            return [chunks.error(outcome.error)]
        thread = await self._ship.threads.read(self._thread_id)
        if isinstance(self._receipts[-1].row.event, ApprovalReplyEvent):
            # The words about a refused answer were put into the message the question is in.
            last = thread.find(outcome.message_id or "") or thread.messages[-1]
            return [chunks.start(last["id"], {}), *retell_data(last), chunks.finish("stop")]
        message = thread.find(outcome.message_id or "")
        return retell(message) if message is not None else []


class RunInFlight:
    """Choose the chunks of the run in flight until it ends."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    async def choose(self, events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
        """Take the chunks of the run; over with its outcome."""
        chosen: list[Chunk] = []
        for event in events:
            if event.run_id != self._run_id:
                continue
            if event.outcome is not None:
                return chosen, True
            if event.chunk is not None:
                chosen.append(event.chunk)
        return chosen, False

"""Take events in for all threads: store, deduplicate, and wake the lane of the thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from shipmate.errors import ShipmateError, UserError
from shipmate.orchestrator.feed import Feed
from shipmate.orchestrator.lane import Lane
from shipmate.orchestrator.receipt import Receipt
from shipmate.store.port import InboxRow, Store
from shipmate.values import chunk as chunks
from shipmate.values.event import IngressEvent, Outcome, TextEvent
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId

# How long a repeat of an answered message is known as one.
REMEMBERED = timedelta(days=30)
WITHDRAWN = Outcome(run_id="", status="stopped")
CLOSED = Outcome(
    run_id="",
    status="failed",
    error="Shipmate ended first; the run goes on at the next start",
    retryable=True,
)
log = logging.getLogger(__name__)


class _Waiting(msgspec.Struct, frozen=True):
    row: InboxRow
    future: asyncio.Future[Outcome]


class Lanes:
    """Hold the lanes of all threads that have something to do."""

    def __init__(self, store: Store, feed: Feed, make_lane: Callable[..., Lane]) -> None:
        self._store = store
        self._feed = feed
        self._make_lane = make_lane
        self._lanes: dict[ThreadId, Lane] = {}
        self._tasks: dict[ThreadId, asyncio.Task[None]] = {}
        self._waiting: dict[ThreadId, dict[int, _Waiting]] = {}

    async def receive(self, event: IngressEvent) -> Receipt:
        """Store an event and see that it is answered; from here on it cannot be lost."""
        thread_id = ThreadId.parse(event.thread_id)
        row, is_new = await self._store.inbox.accept(event)
        if row.event.thread_id != event.thread_id:
            raise UserError(f"message id {event.message_id} was used in another thread; use a new one")
        waiting = self._waiting.get(thread_id, {}).get(row.seq)
        future = waiting.future if waiting else asyncio.get_running_loop().create_future()
        if row.outcome is not None:
            future.set_result(row.outcome)
        elif row.status == "withdrawn":
            future.set_result(WITHDRAWN)
        else:
            self._waiting.setdefault(thread_id, {})[row.seq] = _Waiting(row, future)
            self._wake(thread_id)
            if is_new and isinstance(event, TextEvent) and event.steer:
                self._lanes[thread_id].steer()
        return Receipt(row, is_new, future)

    async def resume(self) -> list[str]:
        """Take up what a process left unfinished; give the threads concerned."""
        await self._store.inbox.forget(timestamp(datetime.now(UTC) - REMEMBERED))
        unfinished = await self._store.inbox.threads()
        for thread_id in unfinished:
            self._wake(ThreadId.parse(thread_id))
        return unfinished

    def stop(self, thread_id: str) -> bool:
        """Stop the run in flight of a thread; tell whether there was one."""
        lane = self._lanes.get(ThreadId.parse(thread_id))
        return lane is not None and lane.stop()

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Take back an event that still waits, and tell whoever waits for its outcome."""
        if not await self._store.inbox.withdraw(thread_id, message_id):
            return False
        for waiting in list(self._waiting.get(ThreadId.parse(thread_id), {}).values()):
            if waiting.row.event.message_id == message_id:
                self._finished([waiting.row], WITHDRAWN)
        return True

    async def idle(self) -> None:
        """Wait until no lane has anything to do."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def close(self) -> None:
        """Leave all runs where they are; they are taken up at the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for thread_id in list(self._waiting):
            self._tell_waiting(thread_id, CLOSED)

    def _wake(self, thread_id: ThreadId) -> None:
        if thread_id not in self._tasks:
            self._lanes[thread_id] = self._make_lane(thread_id, finished=self._finished)
            self._tasks[thread_id] = asyncio.create_task(self._work(thread_id))

    async def _work(self, thread_id: ThreadId) -> None:
        try:
            await self._lanes[thread_id].drain()
            await self._settle_elsewhere(thread_id)
        # The process edge: trouble of one thread is shown to its watchers and logged; other threads go on.
        except Exception as error:
            if not isinstance(error, ShipmateError):
                log.exception("the lane of %s broke", thread_id)
            self._report(thread_id, error)
        finally:
            self._lanes.pop(thread_id, None)
            self._tasks.pop(thread_id, None)

    def _report(self, thread_id: ThreadId, error: Exception) -> None:
        """Tell watchers and waiting callers; the rows stay open and are tried again with the next message."""
        words = (
            str(error) if isinstance(error, ShipmateError) else "an internal error; the log has the details"
        )
        run = self._feed.running(str(thread_id))
        run_id = run.run_id if run else ""
        self._feed.publish(str(thread_id), run.message_id if run else "", chunks.error(words))
        outcome = Outcome(run_id=run_id, status="failed", error=words, retryable=True)
        self._feed.end(str(thread_id), outcome)
        self._tell_waiting(thread_id, outcome)

    def _tell_waiting(self, thread_id: ThreadId, outcome: Outcome) -> None:
        for waiting in self._waiting.pop(thread_id, {}).values():
            if not waiting.future.done():
                waiting.future.set_result(outcome)

    async def _settle_elsewhere(self, thread_id: ThreadId) -> None:
        """Answer callers whose rows another process worked or took back."""
        for waiting in list(self._waiting.get(thread_id, {}).values()):
            row = await self._store.inbox.find(waiting.row.event.platform, waiting.row.event.message_id)
            if row is not None and row.outcome is not None:
                self._finished([row], row.outcome)
            elif row is not None and row.status == "withdrawn":
                self._finished([row], WITHDRAWN)

    def _finished(self, rows: Sequence[InboxRow], outcome: Outcome) -> None:
        for row in rows:
            thread_id = ThreadId.parse(row.event.thread_id)
            waiting = self._waiting.get(thread_id, {})
            found = waiting.pop(row.seq, None)
            if not waiting:
                self._waiting.pop(thread_id, None)
            if found is not None and not found.future.done():
                found.future.set_result(outcome)

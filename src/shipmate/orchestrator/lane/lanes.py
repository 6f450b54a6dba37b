"""Take events in for all threads: store, deduplicate, and wake the lane of the thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from shipmate.errors import KeeperError, ShipmateError, StorageError
from shipmate.orchestrator.feed import Feed, FeedEvent, Receipt, Run
from shipmate.orchestrator.lane.decided import asks_to_stop
from shipmate.orchestrator.lane.ingress import is_kept, outcome_of
from shipmate.orchestrator.lane.lane import Lane
from shipmate.store.port import InboxRow, Store
from shipmate.thread.service import ThreadService
from shipmate.values import chunk as chunks
from shipmate.values.event import IngressEvent, Outcome, TextEvent
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId

# How often a thread is taken up again whose lane broke, at first and at most.
SWEEP_SECONDS = 2.0
SWEEP_LIMIT_SECONDS = 60.0
# How long a leaving keeper waits for calls that act; after that their outcome is unknown.
ACTING_SECONDS = 10.0
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
    """The lanes of all threads that have something to do."""

    def __init__(
        self, store: Store, threads: ThreadService, feed: Feed, make_lane: Callable[..., Lane]
    ) -> None:
        self._store = store
        self._threads = threads
        self._feed = feed
        self._make_lane = make_lane
        self._lanes: dict[ThreadId, Lane] = {}
        self._tasks: dict[ThreadId, asyncio.Task[None]] = {}
        self._waiting: dict[ThreadId, dict[int, _Waiting]] = {}
        # When a thread whose lane broke is taken up again, and how long it was left alone for that.
        self._broken: dict[ThreadId, tuple[float, float]] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._is_closing = False

    async def receive(self, event: IngressEvent) -> Receipt:
        """Store an event and see that it is answered; from here on it cannot be lost."""
        if self._is_closing:
            raise KeeperError("Shipmate is closing; the next process takes this up.")
        thread_id = ThreadId.parse(event.thread_id)
        if (known := await self._answered(thread_id, event)) is not None:
            return known
        row, is_new = await self._store.inbox.accept(event)
        waiting = self._waiting.get(thread_id, {}).get(row.seq)
        future = waiting.future if waiting else asyncio.get_running_loop().create_future()
        if row.outcome is not None:
            future.set_result(row.outcome)
        elif row.status == "withdrawn":
            future.set_result(WITHDRAWN)
        elif self._is_closing:
            future.set_result(CLOSED)
        else:
            self._waiting.setdefault(thread_id, {})[row.seq] = _Waiting(row, future)
            self._wake(thread_id)
            if is_new and isinstance(event, TextEvent) and event.steer:
                self.steer(event.thread_id)
            if is_new and asks_to_stop(row):
                await self.stop(event.thread_id)
        return Receipt(row, is_new, future)

    async def knows(self, event: IngressEvent) -> bool | None:
        """Return whether an event was ever taken in; None when its thread is not there to tell."""
        if await self._store.inbox.find(event) is not None:
            return True
        thread_id = ThreadId.parse(event.thread_id)
        if not await self._threads.exists(thread_id):
            return None
        return is_kept(await self._threads.read(thread_id), event)

    async def is_done(self, event: IngressEvent) -> bool:
        """Return whether an event that was taken in has come to its end."""
        row = await self._store.inbox.find(event)
        return row is None or row.status not in ("waiting", "running")

    async def _answered(self, thread_id: ThreadId, event: IngressEvent) -> Receipt | None:
        """Answer a repeat from the thread, when the inbox has forgotten the event."""
        if await self._store.inbox.find(event) is not None or not await self._threads.exists(thread_id):
            return None
        thread = await self._threads.read(thread_id)
        outcome = outcome_of(thread, event)
        if outcome is None:
            return None
        row = InboxRow(
            seq=0,
            event=event,
            received_at=timestamp(),
            status="done",
            run_id=outcome.run_id or None,
            outcome=outcome,
        )
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        future.set_result(outcome)
        return Receipt(row, False, future)

    async def resume(self) -> list[str]:
        """Take up what a process left unfinished, now and whenever a lane broke; list the threads."""
        unfinished = await self._store.inbox.threads()
        if self._is_closing:
            return []
        for thread_id in unfinished:
            self._wake(ThreadId.parse(thread_id))
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        return unfinished

    async def queue(self, thread_id: str) -> list[InboxRow]:
        """List what waits or runs in a thread."""
        return await self._store.inbox.open(thread_id)

    def steer(self, thread_id: str) -> None:
        """Ask the run in flight of a thread to end with its step."""
        if (lane := self._lanes.get(ThreadId.parse(thread_id))) is not None:
            lane.steer()

    async def stop(self, thread_id: str) -> bool:
        """Stop the run in flight of a thread; tell whether there was one."""
        lane = self._lanes.get(ThreadId.parse(thread_id))
        return lane is not None and await lane.stop()

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Take back an event that still waits, and tell whoever waits for its outcome."""
        if await self._is_taken(thread_id, message_id):
            return False
        row = await self._store.inbox.withdraw(thread_id, message_id)
        if row is not None:
            self._finished([row], WITHDRAWN)
        return row is not None

    def busy(self) -> list[str]:
        """List the threads that have something to do."""
        return [str(thread_id) for thread_id in self._tasks]

    async def _is_taken(self, thread_id: str, message_id: str) -> bool:
        """Return whether the thread has an event already: the inbox may not know it after a power cut."""
        rows = [row for row in await self._store.inbox.open(thread_id) if row.event.message_id == message_id]
        if not rows or not await self._threads.exists(ThreadId.parse(thread_id)):
            return False
        thread = await self._threads.read(ThreadId.parse(thread_id))
        return any(is_kept(thread, row.event) for row in rows)

    async def idle(self) -> None:
        """Wait until no lane has anything to do."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def close(self) -> None:
        """Let what acts come to its end, and leave all runs where they are for the next keeper."""
        self._is_closing = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        # A lane may end before its turn comes.
        leaving = [(self._lanes[thread_id], task) for thread_id, task in self._tasks.items()]
        await asyncio.gather(*(self._leave(lane, task) for lane, task in leaving))
        for thread_id in list(self._waiting):
            self._tell_waiting(thread_id, CLOSED)

    async def _leave(self, lane: Lane, task: asyncio.Task[None]) -> None:
        leaving = asyncio.ensure_future(lane.leave())
        await asyncio.wait({leaving, task}, timeout=ACTING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        task.cancel()
        await asyncio.gather(leaving, task, return_exceptions=True)

    def _wake(self, thread_id: ThreadId) -> None:
        if thread_id not in self._tasks:
            self._lanes[thread_id] = self._make_lane(thread_id, finished=self._finished)
            self._tasks[thread_id] = asyncio.create_task(self._work(thread_id))

    async def _sweep(self) -> None:
        """Take up again, each time later, what waits in threads whose lane broke and what lists missed."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            # A disk that refuses is asked again the next time.
            with contextlib.suppress(StorageError):
                for name in await self._store.inbox.threads():
                    thread_id = ThreadId.parse(name)
                    if now >= self._broken.get(thread_id, (0.0, 0.0))[0]:
                        self._wake(thread_id)
            # Another process shows the lists, which learn of a change from whoever made it.
            with contextlib.suppress(StorageError):
                await self._store.threads.catch_up()

    async def _work(self, thread_id: ThreadId) -> None:
        try:
            await self._lanes[thread_id].drain()
            self._broken.pop(thread_id, None)
        # The process edge: trouble of one thread is shown to its watchers and logged; other threads go on.
        except Exception as error:
            if not isinstance(error, ShipmateError):
                log.exception("the lane of %s broke", thread_id)
            self._report(thread_id, error)
        finally:
            self._lanes.pop(thread_id, None)
            self._tasks.pop(thread_id, None)

    def _report(self, thread_id: ThreadId, error: Exception) -> None:
        """Tell watchers and waiting callers; the rows stay open and are swept up later."""
        pause = min(max(SWEEP_SECONDS, 2 * self._broken.get(thread_id, (0.0, 0.0))[1]), SWEEP_LIMIT_SECONDS)
        self._broken[thread_id] = (asyncio.get_running_loop().time() + pause, pause)
        words = (
            str(error) if isinstance(error, ShipmateError) else "an internal error; the log has the details"
        )
        run = self._feed.running(str(thread_id))
        self._feed.publish(str(thread_id), run.message_id if run else "", chunks.error(words))
        outcome = Outcome(run_id=run.run_id if run else "", status="failed", error=words, retryable=True)
        self._feed.end(str(thread_id), outcome)
        self._tell_waiting(thread_id, outcome)

    def _tell_waiting(self, thread_id: ThreadId, outcome: Outcome) -> None:
        for waiting in self._waiting.pop(thread_id, {}).values():
            if not waiting.future.done():
                waiting.future.set_result(outcome)

    def _finished(self, rows: Sequence[InboxRow], outcome: Outcome) -> None:
        for row in rows:
            thread_id = ThreadId.parse(row.event.thread_id)
            waiting = self._waiting.get(thread_id, {})
            found = waiting.pop(row.seq, None)
            if not waiting:
                self._waiting.pop(thread_id, None)
            if found is not None and not found.future.done():
                found.future.set_result(outcome)


class Sending(Protocol):
    """What sends for a keeper, and ends with it."""

    def follow(self, thread_id: str, rows: Sequence[InboxRow], run_id: str) -> None: ...
    def wake(self, thread_id: str) -> None: ...
    async def begin(self) -> None: ...
    async def rest(self) -> None: ...
    async def idle(self) -> None: ...
    async def close(self) -> None: ...


class _NoSending:
    """What sends where there is nothing to send."""

    def follow(self, thread_id: str, rows: Sequence[InboxRow], run_id: str) -> None: ...
    def wake(self, thread_id: str) -> None: ...
    async def begin(self) -> None: ...
    async def rest(self) -> None: ...
    async def idle(self) -> None: ...
    async def close(self) -> None: ...


class Timing(Protocol):
    """What hands events to a keeper by the clock, and knows those that somebody begins by hand."""

    def begin(self) -> None: ...
    async def receive(self, event: TextEvent) -> Receipt: ...
    async def idle(self) -> None: ...
    async def close(self) -> None: ...


class LocalKeeper:
    """The keeper itself: its lanes and their feed."""

    def __init__(
        self,
        lanes: Lanes,
        feed: Feed,
        sending: Sending | None = None,
        make_timing: Callable[[], Timing] | None = None,
        *,
        keeps_time: bool = True,
    ) -> None:
        self.lanes = lanes
        self.feed = feed
        self.sending: Sending = sending or _NoSending()
        self._make_timing = make_timing
        self._keeps_time = keeps_time
        # Made when it is needed: most commands begin no task.
        self._timing: Timing | None = None
        # Never done: as long as this process lives, its keeper is there.
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def resume(self) -> list[str]:
        """Take up what a process left unfinished, and begin what the clock brings; list the threads."""
        unfinished = await self.lanes.resume()
        if self._keeps_time:
            self.keep_time()
        return unfinished

    def keep_time(self) -> None:
        """Begin what the clock brings."""
        if (timing := self._time()) is not None:
            timing.begin()

    async def rest_time(self) -> None:
        """Begin nothing more by the clock: another process does."""
        if self._timing is not None:
            await self._timing.close()
            self._timing = None

    def _time(self) -> Timing | None:
        if self._timing is None and self._make_timing is not None:
            self._timing = self._make_timing()
        return self._timing

    async def idle(self) -> None:
        """Wait until no lane has anything to do, and a while for what they have to send."""
        await self.lanes.idle()
        if self._timing is not None:
            await self._timing.idle()
        await self.sending.idle()

    async def close(self) -> None:
        """Leave all runs and sends where they are for the next keeper."""
        if self._timing is not None:
            await self._timing.close()
        await self.lanes.close()
        await self.sending.close()

    async def receive(self, event: IngressEvent) -> Receipt:
        if not isinstance(event, TextEvent) or event.source is None or (timing := self._time()) is None:
            return await self.lanes.receive(event)
        return await timing.receive(event)

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        return await self.lanes.withdraw(thread_id, message_id)

    async def stop(self, thread_id: str) -> bool:
        return await self.lanes.stop(thread_id)

    async def queue(self, thread_id: str) -> list[InboxRow]:
        return await self.lanes.queue(thread_id)

    def runs(self) -> dict[str, Run]:
        return self.feed.runs()

    def running(self, thread_id: str) -> Run | None:
        return self.feed.running(thread_id)

    def watch(
        self, thread_id: str, queue: asyncio.Queue[FeedEvent] | None = None
    ) -> AbstractAsyncContextManager[asyncio.Queue[FeedEvent]]:
        return self.feed.subscribe(thread_id, queue)

"""The lanes of a process in a fleet: events wait in the database; a thread is worked where its job is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

import psycopg

from shipmate.errors import FencedError, StorageError
from shipmate.fleet import fleet_frame as frames
from shipmate.fleet.bus import Bus
from shipmate.fleet.fleet_feed import FleetFeed
from shipmate.orchestrator.lane.lane import Lane
from shipmate.orchestrator.lane.lanes import WITHDRAWN, Lanes
from shipmate.store.port import InboxRow, Store
from shipmate.thread.service import ThreadService
from shipmate.values.event import Outcome
from shipmate.values.thread_id import ThreadId

# How often those who wait look for an outcome they may not have heard of.
LOOK_SECONDS = 5.0
log = logging.getLogger(__name__)


class FleetLanes(Lanes):
    """What one process of a fleet takes in, and the threads it works."""

    def __init__(
        self,
        store: Store,
        threads: ThreadService,
        feed: FleetFeed,
        make_lane: Callable[..., Lane],
        bus: Bus,
        try_later: Callable[[str, float], Awaitable[None]],
    ) -> None:
        super().__init__(store, threads, feed, make_lane)
        self._fleet_feed = feed
        self._bus = bus
        # Has a thread taken up again after so many seconds, by whichever process.
        self._try_later = try_later

    async def resume(self) -> list[str]:
        """Look now and then for outcomes that were not heard of; what is unfinished has its job."""
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._look())
        return []

    async def work(self, thread_id: str) -> None:
        """Work what waits in a thread, whose job this process has."""
        key = ThreadId.parse(thread_id)
        if self._is_closing or key in self._tasks:
            return
        super()._wake(key)
        # Cut off only by `close`, which lets what acts come to its end.
        await asyncio.wait({self._tasks[key]})
        if key in self._broken:
            await self._try_later(thread_id, self._broken[key][1])

    async def stop(self, thread_id: str) -> bool:
        """Stop the run in flight of a thread, here or wherever it goes on."""
        if await super().stop(thread_id):
            return True
        runs = {row.run_id for row in await self._store.inbox.open(thread_id) if row.status == "running"}
        for run_id in runs:
            # Whoever takes it up after a crash ends it as well.
            await self._store.inbox.stop(str(run_id))
        await self._bus.wish(frames.StopWish(thread_id=thread_id))
        return bool(runs)

    def steer(self, thread_id: str) -> None:
        """Ask the run in flight of a thread, here or wherever it goes on, to end with its step."""
        super().steer(thread_id)
        self._bus.say(frames.SteerWish(thread_id=thread_id), urgent=True)

    async def hear_stop(self, thread_id: str) -> None:
        """Stop a run that goes on here, as another process wishes."""
        await super().stop(thread_id)

    def hear_steer(self, thread_id: str) -> None:
        """Let a run that goes on here end with its step, as another process wishes."""
        super().steer(thread_id)

    async def settle(self, thread_id: str, seqs: Iterable[int]) -> None:
        """Tell those who wait here for rows that another process has finished."""
        waiting = self._waiting.get(ThreadId.parse(thread_id), {})
        for found in [waiting[seq] for seq in seqs if seq in waiting]:
            row = await self._store.inbox.find(found.row.event)
            outcome = WITHDRAWN if row is not None and row.status == "withdrawn" else row and row.outcome
            if row is not None and outcome is not None:
                super()._finished([row], outcome)

    async def look(self) -> None:
        """Look what became of everything that is waited for here."""
        for key, waiting in list(self._waiting.items()):
            await self.settle(str(key), list(waiting))

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
                await self._store.threads.catch_up()
            except (StorageError, psycopg.Error) as error:
                log.info("outcomes are looked for again: %s", error)

    def _wake(self, thread_id: ThreadId) -> None:
        """Wake nobody: the job that was written with the row does."""

    def _finished(self, rows: Sequence[InboxRow], outcome: Outcome) -> None:
        super()._finished(rows, outcome)
        thread_id = rows[0].event.thread_id if rows else ""
        self._bus.say(frames.OutcomeNews(thread_id=thread_id, seqs=[row.seq for row in rows]), urgent=True)

    def _report(self, thread_id: ThreadId, error: Exception) -> None:
        if isinstance(error, FencedError):
            # Another process goes on with it; whoever watches is told by that one.
            log.warning("%s was taken over by another process", thread_id)
            self._fleet_feed.drop(str(thread_id))
            return
        super()._report(thread_id, error)

    def _tell_waiting(self, thread_id: ThreadId, outcome: Outcome) -> None:
        """Let those who wait go on waiting while the thread is taken up again; tell them at the end."""
        if self._is_closing:
            super()._tell_waiting(thread_id, outcome)

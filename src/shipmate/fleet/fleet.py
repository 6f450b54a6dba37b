"""The engine of a fleet: any number of processes on any machines, over one PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial

import psycopg

from shipmate.delivery.sender import Sender
from shipmate.errors import StorageError
from shipmate.fleet import fleet_frame as frames
from shipmate.fleet.bus import NEWS, WISHES, Bus
from shipmate.fleet.fleet_feed import RENEW_SECONDS, FleetFeed
from shipmate.fleet.fleet_lanes import FleetLanes
from shipmate.fleet.fleet_sender import SENDING, FleetSender
from shipmate.fleet.job_loop import JobLoop
from shipmate.fleet.job_queue import JobQueue
from shipmate.fleet.leading import Leading
from shipmate.fleet.role import Role
from shipmate.orchestrator.feed import FeedEvent, Receipt, Run
from shipmate.orchestrator.keeper.health import EngineHealth
from shipmate.orchestrator.keeper.port import Lead
from shipmate.orchestrator.lane.lanes import Lanes, LocalKeeper
from shipmate.store.port import InboxRow
from shipmate.store.postgres.database import AsyncLink
from shipmate.store.postgres.postgres_store import PostgresStore
from shipmate.values.event import IngressEvent

# How often a process says that it lives, and looks whether others do.
TICK_SECONDS = 0.4
# So long a process may say nothing while its session lives: after that it counts as frozen, and is cut off.
FROZEN_SECONDS = 10.0
# How long a process that is asked to end lets its runs come to their end before it leaves them to others.
DRAIN_SECONDS = 10.0
# What one process does for all.
TIMING = "timing"
log = logging.getLogger(__name__)


class Fleet:
    """One process's part in a fleet, behind the keeper's verbs."""

    def __init__(
        self,
        store: PostgresStore,
        role: Role,
        assemble: Callable[[FleetFeed, Callable[..., Lanes], Callable[..., Sender]], LocalKeeper],
        *,
        version: str,
        keeps_time: bool = True,
    ) -> None:
        self._store = store
        self._role = role
        self._assemble = assemble
        self._keeps_time = keeps_time
        self._queue = JobQueue(store.database, role, version)
        self.feed = FleetFeed()
        self.leading = Leading(store.database)
        self.bus = Bus(
            store.database,
            self._hear,
            channels=[*([WISHES] if role.works or role.leads else []), NEWS, *self._queue.channels],
            woken=lambda: self._loop.wake() if self._loop else None,
            returned=self._come_back,
        )
        self._local: LocalKeeper | None = None
        self._lanes: FleetLanes | None = None
        self._loop: JobLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.taken_up: list[str] = []

    @property
    def lead(self) -> Lead:
        """Return what begins some work where no other process does it."""
        return self.leading.lead

    @property
    def role(self) -> str:
        """Return what this process is in the fleet."""
        return self._role.name

    @property
    def keeps(self) -> bool:
        """Return whether this process works threads."""
        return self._role.works

    @property
    def local(self) -> LocalKeeper:
        """What this process has of the keeper; only once it is open."""
        assert self._local is not None, "a fleet is opened first"
        return self._local

    async def open(self) -> None:
        """Take part: be heard of, hear of others, and take jobs where that is this process's role."""
        self._store.inbox.on_accept = self._accept
        await self._store.fences.open()
        self.feed.bus = self.bus
        leads = partial(self.leading.leads, SENDING)
        make_sender = partial(FleetSender, bus=self.bus, leads=leads)
        self._local = self._assemble(self.feed, self._make_lanes, make_sender)
        assert self._lanes is not None, "the lanes are made by what was begun"
        self._loop = JobLoop(self._queue, self._lanes, self._role.concurrency)
        if self._role.works or self._role.leads:
            await self._queue.register()
        await self.bus.open()
        await self._lanes.resume()
        self._start(self._tick())
        self._start(self._renew())
        if self._role.works:
            self._start(self._take_up())
            self._loop.begin()
        if self._keeps_time and (self._role.works or self._role.leads):
            self.leading.lead(TIMING, self._keep_time)
        if self._role.leads:
            self.leading.lead(SENDING, self._send)

    def _make_lanes(self, *parts: object) -> FleetLanes:
        self._lanes = FleetLanes(*parts, bus=self.bus, try_later=self._try_later)  # pyright: ignore[reportArgumentType]
        return self._lanes

    async def close(self, *, finish: bool = False) -> None:
        """Leave in good order: runs come to their end for a while, the rest goes on elsewhere."""
        if self._local is None:
            return
        assert self._loop is not None
        with suppress(StorageError):
            if self._role.works:
                await self._queue.drain()
        await self.leading.close()
        await self._loop.stop(DRAIN_SECONDS if self._role.works or finish else 0.0)
        await self._local.close()
        await self._loop.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(StorageError):
            if self._role.works or self._role.leads:
                await self._queue.leave()
        await self.bus.close()

    async def health(self) -> EngineHealth:
        """Return who is there, what waits, and which members nobody serves."""
        return await self._queue.health()

    def busy(self) -> list[str]:
        """List the threads that nobody but this process would work; others are there in a fleet."""
        return []

    async def idle(self) -> None:
        """Wait until this process works on nothing."""
        if self._loop is not None:
            await self._loop.idle()

    async def receive(self, event: IngressEvent) -> Receipt:
        receipt = await self.local.receive(event)
        if not self._role.works and not self._role.leads and receipt.is_new:
            # Somebody waits at a terminal for what may take long.
            for member in (await self.health()).unserved:
                log.warning("nobody serves %s now; what was said is kept until a worker does", member)
        return receipt

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        return await self.local.withdraw(thread_id, message_id)

    async def stop(self, thread_id: str) -> bool:
        return await self.local.stop(thread_id)

    async def queue(self, thread_id: str) -> list[InboxRow]:
        return await self.local.queue(thread_id)

    def runs(self) -> dict[str, Run]:
        return self.feed.runs()

    def running(self, thread_id: str) -> Run | None:
        return self.feed.running(thread_id)

    def watch(self, thread_id: str) -> AbstractAsyncContextManager[asyncio.Queue[FeedEvent]]:
        return self.local.watch(thread_id)

    async def _accept(self, link: AsyncLink, row: InboxRow) -> None:
        await self._queue.enqueue(link, row.event.thread_id, row.event.member)

    async def _try_later(self, thread_id: str, seconds: float) -> None:
        await self._queue.enqueue_later(thread_id, seconds)

    async def _take_up(self) -> None:
        """Let what is open and has no job be worked: an import brought it."""
        await self._queue.ensure(await self._store.inbox.threads())

    async def _keep_time(self) -> None:
        self.local.keep_time()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self.local.rest_time()

    async def _send(self) -> None:
        await self.local.sending.begin()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self.local.sending.rest()

    async def _preview(self, thread_id: str, run_id: str) -> None:
        """Show an answer while it is written elsewhere."""
        rows = [row for row in await self._store.inbox.open(thread_id) if row.run_id == run_id]
        if rows:
            self.local.sending.follow(thread_id, rows, run_id)

    async def _tick(self) -> None:
        """Say that this process lives, and take over from those that do not."""
        while True:
            try:
                await self._store.fences.open()
                is_known, is_any_silent = await self._queue.tick()
                if not is_known and (self._role.works or self._role.leads):
                    log.warning("this process was taken for dead; it begins anew")
                    await self._queue.register()
                if is_any_silent and self._role.works:
                    for worker in await self._queue.reap(FROZEN_SECONDS):
                        log.warning("%s is gone; its threads go on elsewhere", worker)
            except (StorageError, psycopg.Error) as error:
                log.info("the fleet is not seen: %s", error)
            await asyncio.sleep(TICK_SECONDS)

    async def _renew(self) -> None:
        """Say anew what is watched here."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if watched := self.feed.watched():
                self.bus.say(frames.WatchWish(thread_ids=watched))

    def _hear(self, sender: str, said: frames.Said) -> None:
        self.feed.hear(sender, said)
        if self._lanes is None:
            return
        match said:
            case frames.StopWish():
                self._start(self._lanes.hear_stop(said.thread_id))
            case frames.SteerWish():
                self._lanes.hear_steer(said.thread_id)
            case frames.SendWish() if self.leading.leads(SENDING):
                self.local.sending.wake(said.thread_id)
            case frames.RunNews() if said.run is not None and self.leading.leads(SENDING):
                self._start(self._preview(said.thread_id, said.run.run_id))
            case frames.OutcomeNews():
                self._start(self._lanes.settle(said.thread_id, said.seqs))
            case _:
                pass

    def _come_back(self) -> None:
        """Read what may have been missed: which runs there are, and what became of those waited for."""
        self._start(self._look())

    async def _look(self) -> None:
        assert self._lanes is not None
        if self._loop is not None:
            self._loop.catch_up()
        self.feed.replace_runs(await self._queue.runs())
        if watched := self.feed.watched():
            self.bus.say(frames.WatchWish(thread_ids=watched, is_anew=True), urgent=True)
        await self._lanes.look()

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(self._guard(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guard(self, work: Awaitable[None]) -> None:
        # The process edge: what breaks is logged, and done again by whoever looks next.
        try:
            await work
        except (StorageError, psycopg.Error) as error:
            log.info("something of the fleet is done again later: %s", error)

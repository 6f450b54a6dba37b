"""Carry the chunks of running threads to whoever watches; a late watcher gets the running message whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import msgspec

from shipmate.orchestrator.reduce import MessageSnapshot, Reducer
from shipmate.store.port import InboxRow
from shipmate.values.chunk import Chunk
from shipmate.values.event import Outcome
from shipmate.values.message import UIMessage

# From a chunk to the socket of an attached process: the watcher, its writer, the write itself.
HEARING_TURNS = 3


class FeedEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing that happened in a run: where it stands when a watcher joins, a chunk, or its end."""

    run_id: str
    # The message a chunk or snapshot is of. A run also works late-decided calls of earlier messages.
    message_id: str = ""
    # The platform messages its run answers, so that a watcher knows its own run from others of the thread.
    answers: frozenset[str] = frozenset()
    snapshot: MessageSnapshot | None = None
    chunk: Chunk | None = None
    outcome: Outcome | None = None
    # Nothing but that another process keeps from now on: what ended meanwhile is in the thread alone.
    is_handed_over: bool = False


HANDED_OVER = FeedEvent(run_id="", is_handed_over=True)


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A run in flight, the platform messages it answers, and the message it writes."""

    run_id: str
    answers: frozenset[str]
    message_id: str


class Feed(Protocol):
    """What the runs of a workspace tell, and whoever watches them."""

    # Hears of every run that begins, and with None of its end.
    on_run: Callable[[str, Run | None], None]

    def runs(self) -> dict[str, Run]: ...
    def running(self, thread_id: str) -> Run | None: ...
    def is_watched(self, thread_id: str) -> bool: ...
    def begin(self, thread_id: str, run: Run) -> None: ...
    def open(self, thread_id: str, message: UIMessage) -> None: ...
    def publish(self, thread_id: str, message_id: str, chunk: Chunk) -> None: ...
    def end(self, thread_id: str, outcome: Outcome) -> None: ...
    def subscribe(
        self, thread_id: str, queue: asyncio.Queue[FeedEvent] | None = None
    ) -> AbstractAsyncContextManager[asyncio.Queue[FeedEvent]]: ...


class LocalFeed:
    """The watchers of each thread in this process, and what they were told of the run in flight."""

    def __init__(self) -> None:
        # In the order they came: whoever came first is told first.
        self._watchers: dict[str, dict[asyncio.Queue[FeedEvent], None]] = {}
        self._runs: dict[str, Run] = {}
        # What was told of each message of the run in flight, by thread and message.
        self._told: dict[str, dict[str, Reducer]] = {}
        self.on_run: Callable[[str, Run | None], None] = lambda _thread_id, _run: None

    def runs(self) -> dict[str, Run]:
        """Return the runs in flight, by thread."""
        return dict(self._runs)

    def running(self, thread_id: str) -> Run | None:
        """Return the run in flight of a thread."""
        return self._runs.get(thread_id)

    def is_watched(self, thread_id: str) -> bool:
        """Return whether anybody watches a thread."""
        return thread_id in self._watchers

    def begin(self, thread_id: str, run: Run) -> None:
        """Open a run."""
        self._runs[thread_id] = run
        self._told[thread_id] = {}
        self.on_run(thread_id, run)

    def open(self, thread_id: str, message: UIMessage) -> None:
        """Name a message that the run in flight writes, and tell every watcher how it stands."""
        run = self._runs.get(thread_id)
        if run is None:
            return
        told = self._told[thread_id][message["id"]] = Reducer(message)
        self._tell(thread_id, _stand(run, told))

    def publish(self, thread_id: str, message_id: str, chunk: Chunk) -> None:
        """Send a chunk of a message to every watcher."""
        told = self._told.get(thread_id, {}).get(message_id)
        if told is not None:
            told.apply(chunk)
        if not self.is_watched(thread_id):
            return
        run = self._runs.get(thread_id)
        event = FeedEvent(
            run_id=run.run_id if run else "",
            message_id=message_id,
            answers=run.answers if run else frozenset(),
            chunk=chunk,
        )
        self._tell(thread_id, event)

    def end(self, thread_id: str, outcome: Outcome) -> None:
        """Close a run."""
        run = self._runs.pop(thread_id, None)
        self._told.pop(thread_id, None)
        answers = run.answers if run else frozenset[str]()
        event = FeedEvent(
            run_id=outcome.run_id, message_id=outcome.message_id or "", answers=answers, outcome=outcome
        )
        self._tell(thread_id, event)
        if run is not None:
            self.on_run(thread_id, None)

    def look(self, thread_id: str) -> list[FeedEvent]:
        """Return where the run in flight stands: a snapshot of each message it writes."""
        run = self._runs.get(thread_id)
        if run is None:
            return []
        return [_stand(run, told) for told in self._told[thread_id].values()]

    @asynccontextmanager
    async def subscribe(
        self, thread_id: str, queue: asyncio.Queue[FeedEvent] | None = None
    ) -> AsyncGenerator[asyncio.Queue[FeedEvent]]:
        """Watch a thread: a queue of events that begins with where the run in flight stands."""
        queue = asyncio.Queue() if queue is None else queue
        for event in self.look(thread_id):
            queue.put_nowait(event)
        watchers = self._watchers.setdefault(thread_id, {})
        watchers[queue] = None
        try:
            yield queue
        finally:
            watchers.pop(queue, None)
            if not watchers:
                self._watchers.pop(thread_id, None)

    def _tell(self, thread_id: str, event: FeedEvent) -> None:
        for queue in self._watchers.get(thread_id, ()):
            queue.put_nowait(event)


def _stand(run: Run, told: Reducer) -> FeedEvent:
    return FeedEvent(
        run_id=run.run_id, message_id=told.message["id"], answers=run.answers, snapshot=told.snapshot()
    )


class Receipt(msgspec.Struct, frozen=True):
    """The confirmation that an event is stored; await `outcome` for how its run ends."""

    row: InboxRow
    is_new: bool
    _future: asyncio.Future[Outcome]

    async def outcome(self) -> Outcome:
        """Wait for the run that answers the event; a repeat gets the stored outcome at once."""
        return await asyncio.shield(self._future)


async def let_watchers_hear() -> None:
    """Let the last words leave, also to other processes, before the disk is waited for."""
    for _ in range(HEARING_TURNS):
        await asyncio.sleep(0)

"""Carry the chunks of running threads to whoever watches; a late watcher gets the running message whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec

from shipmate.values.chunk import Chunk
from shipmate.values.event import Outcome
from shipmate.values.message import UIMessage

DELTAS = frozenset({"text-delta", "reasoning-delta"})


class FeedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Carry one thing that happened in a run: a chunk, or its end."""

    run_id: str
    # The platform messages its run answers, so that a watcher knows its own run from others of the thread.
    answers: frozenset[str] = frozenset()
    chunk: Chunk | None = None
    outcome: Outcome | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Name a run in flight, the platform messages it answers, and the message it writes.

    `before` is that message as it stood when the run began: a watcher who joins late starts from it, and the
    chunks of the run bring the rest.
    """

    run_id: str
    answers: frozenset[str]
    message_id: str
    before: UIMessage | None


class Feed:
    """Keep the watchers of each thread and the chunks of the run in flight."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[asyncio.Queue[FeedEvent]]] = {}
        self._runs: dict[str, Run] = {}
        self._chunks: dict[str, list[Chunk]] = {}

    def running(self, thread_id: str) -> Run | None:
        """Give the run in flight of a thread."""
        return self._runs.get(thread_id)

    def begin(self, thread_id: str, run: Run) -> None:
        """Open a run; its chunks are kept until it ends."""
        self._runs[thread_id] = run
        self._chunks[thread_id] = []

    def publish(self, thread_id: str, run_id: str, chunk: Chunk) -> None:
        """Give a chunk to every watcher."""
        chunks = self._chunks.get(thread_id)
        if chunks is not None:
            _keep(chunks, chunk)
        self._tell(thread_id, FeedEvent(run_id=run_id, answers=self._answers(thread_id), chunk=chunk))

    def end(self, thread_id: str, outcome: Outcome) -> None:
        """Close a run."""
        event = FeedEvent(run_id=outcome.run_id, answers=self._answers(thread_id), outcome=outcome)
        self._runs.pop(thread_id, None)
        self._chunks.pop(thread_id, None)
        self._tell(thread_id, event)

    @asynccontextmanager
    async def subscribe(self, thread_id: str) -> AsyncGenerator[asyncio.Queue[FeedEvent]]:
        """Watch a thread: a queue of events that begins with the run in flight, if there is one."""
        queue: asyncio.Queue[FeedEvent] = asyncio.Queue()
        run = self._runs.get(thread_id)
        if run is not None:
            for chunk in self._chunks[thread_id]:
                queue.put_nowait(FeedEvent(run_id=run.run_id, answers=run.answers, chunk=chunk))
        watchers = self._watchers.setdefault(thread_id, set())
        watchers.add(queue)
        try:
            yield queue
        finally:
            watchers.discard(queue)
            if not watchers:
                self._watchers.pop(thread_id, None)

    def _answers(self, thread_id: str) -> frozenset[str]:
        run = self._runs.get(thread_id)
        return run.answers if run is not None else frozenset()

    def _tell(self, thread_id: str, event: FeedEvent) -> None:
        for queue in self._watchers.get(thread_id, ()):
            queue.put_nowait(event)


def _keep(chunks: list[Chunk], chunk: Chunk) -> None:
    """Keep a chunk for late watchers; neighbouring deltas of one text become one chunk."""
    last = chunks[-1] if chunks else {}
    if chunk["type"] in DELTAS and (chunk["type"], chunk["id"]) == (last.get("type"), last.get("id")):
        chunks[-1] = {**last, "delta": last["delta"] + chunk["delta"]}
    else:
        chunks.append(chunk)

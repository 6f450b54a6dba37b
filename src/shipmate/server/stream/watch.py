"""Follow runs for one client: the run of its own message, or whatever runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shipmate.delivery.cleaning import remove_from
from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.reduce import MessageSnapshot
from shipmate.orchestrator.turn import message_id_of
from shipmate.server.port import Receipt, Ship, read_if_there
from shipmate.server.stream.projection import Projection
from shipmate.server.stream.stream import WAKE, Events
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.event import Outcome
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId

REJOIN = "The answer was taken up anew after an interruption. Join its stream again to see it whole."
BEGIN_SECONDS = 10.0
NO_ANSWER = "This message was taken, but its answer is no longer in the thread."
# What changes a message so that a client which holds it should see it.
TELLING = ("tool-output-", "tool-approval-request", "data-")


class Telling:
    """What one client is told: one message as chunks, and others that change meanwhile as whole messages."""

    def __init__(self, ship: Ship, thread_id: ThreadId, held: UIMessage | None = None) -> None:
        self._ship = ship
        self._thread_id = thread_id
        self._held = held
        self._projection: Projection | None = None
        self._changed: dict[str, None] = {}
        # The client's copy and the message part ways: it must be given the message anew.
        self.is_torn = False

    @property
    def is_finished(self) -> bool:
        """Return whether the message was told to its end."""
        return self._projection is not None and self._projection.is_finished

    def take(self, event: FeedEvent) -> list[Chunk]:
        """Return what to tell of something that happened in the message."""
        known, projection = self._projection, self._project(event.message_id)
        if event.snapshot is not None:
            told = projection.meet(event.snapshot)
            # A copy the client brought with it is brought in line at the end instead.
            self.is_torn = known is not None and known.is_begun and not projection.is_exact
            return told
        return projection.take(event.chunk) if event.chunk is not None else []

    def note(self, event: FeedEvent) -> None:
        """Note what happened in another message."""
        kind = event.chunk["type"] if event.chunk is not None and not event.chunk.get("transient") else ""
        if event.message_id and (event.outcome is not None or kind.startswith(TELLING)):
            self._changed[event.message_id] = None

    async def others(self) -> list[Chunk]:
        """Return the other messages that changed since the last time, as they are stored."""
        changed, self._changed = self._changed, {}
        found = [await find_message(self._ship, self._thread_id, each) for each in changed]
        return [_whole(message) for message in found if message is not None]

    def end(self, message: UIMessage) -> list[Chunk]:
        """Return what is left to tell of a message that is stored."""
        projection = self._project(message["id"])
        told = projection.finish(MessageSnapshot(message=message))
        return told if projection.is_exact else [*told, _whole(message)]

    def _project(self, message_id: str) -> Projection:
        if self._projection is None:
            held = self._held if self._held is not None and self._held["id"] == message_id else None
            self._projection = Projection(message_id, held)
        return self._projection


class OwnRuns:
    """What to tell of the runs that answer these events, until all of them are answered.

    The client goes on with the message it holds (`held`), when it sent one; else it is told the answer to the
    last event.
    """

    def __init__(
        self,
        ship: Ship,
        thread_id: ThreadId,
        receipts: Sequence[Receipt],
        queue: Events,
        held: UIMessage | None = None,
    ) -> None:
        self._ship = ship
        self._thread_id = thread_id
        self._ids = frozenset(receipt.row.event.message_id for receipt in receipts)
        self._receipts = receipts
        self._held = held
        self._telling = Telling(ship, thread_id, held)
        self._queue = queue
        self._outcomes = asyncio.gather(*(receipt.outcome() for receipt in receipts))
        # Outcomes are known after the last chunk was put into the queue, so this wakes us behind it.
        self._outcomes.add_done_callback(self._settle)

    async def opening(self) -> list[Chunk]:
        """Say that another run goes first, when one does."""
        run = self._ship.keeper.running(str(self._thread_id))
        if run is None or not self._receipts or run.answers & self._ids:
            return []
        own = self._receipts[0].row
        rows = await self._ship.keeper.queue(str(self._thread_id))
        ahead = sum(row.status == "waiting" and row.seq < own.seq for row in rows)
        waiting = {"messageId": own.event.message_id, "position": ahead + 1}
        return [chunks.data("queue", waiting, transient=True)]

    async def choose(self, events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
        """Take what concerns us; over when every event has its outcome."""
        chosen: list[Chunk] = []
        for event in events:
            if not event.answers & self._ids:
                continue
            if self._is_told(event):
                chosen += self._telling.take(event)
            else:
                self._telling.note(event)
            if self._telling.is_torn:
                return [*chosen, chunks.error(REJOIN)], True
        chosen += await self._telling.others()
        # What was queued after these events must be looked at before the end is told.
        is_over = self._outcomes.done() and self._queue.empty()
        return [*chosen, *(await self._end() if is_over else [])], is_over

    def cancel(self) -> None:
        """Stop waiting; the runs go on."""
        self._outcomes.cancel()

    def _is_told(self, event: FeedEvent) -> bool:
        if self._held is not None:
            return event.message_id == self._held["id"]
        own = self._receipts[-1].row.event.message_id
        return own in event.answers and event.message_id == message_id_of(event.run_id)

    def _settle(self, outcomes: asyncio.Future[list[Outcome]]) -> None:
        if not outcomes.cancelled():
            # Asking for it marks it as seen: nobody else will when the client has left.
            outcomes.exception()
        self._queue.put_nowait(WAKE)

    async def _end(self) -> list[Chunk]:
        """Tell what became of the events beyond what was told while it happened."""
        try:
            outcome = self._outcomes.result()[-1]
        except (ConnectionError, ShipmateError):
            return [chunks.error(REJOIN)]
        if self._telling.is_finished and self._held is None:
            return []
        message_id = self._held["id"] if self._held is not None else outcome.message_id
        message = await find_message(self._ship, self._thread_id, message_id)
        if message is not None:
            return self._telling.end(message)
        words = outcome.error or (NO_ANSWER if outcome.status == "replied" else None)
        return [chunks.error(words)] if words else []


class RunInFlight:
    """What to tell of the run in flight until it ends."""

    def __init__(
        self, ship: Ship, thread_id: ThreadId, run_id: str | None, held: UIMessage | None = None
    ) -> None:
        self._ship = ship
        self._thread_id = thread_id
        self._run_id = run_id
        self._telling = Telling(ship, thread_id, held)
        self._is_late = False

    def expect(self, queue: Events) -> asyncio.TimerHandle:
        """Wait only so long for a run that is about to begin; its client looks again then."""

        def be_late() -> None:
            self._is_late = True
            queue.put_nowait(WAKE)

        return asyncio.get_running_loop().call_later(BEGIN_SECONDS, be_late)

    async def choose(self, events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
        """Take what the run says; over with its outcome."""
        if all(event.is_handed_over for event in events):
            # Whether the next keeper goes on with the run is not known yet.
            return [], False
        chosen: list[Chunk] = []
        for event in events:
            # A run that was about to begin is known by the first thing it says.
            self._run_id = self._run_id or event.run_id or None
            if event.run_id != self._run_id:
                continue
            if event.outcome is not None:
                return [*chosen, *await self._telling.others()], True
            if event.message_id == message_id_of(event.run_id):
                chosen += self._telling.take(event)
            else:
                self._telling.note(event)
            if self._telling.is_torn:
                return [*chosen, chunks.error(REJOIN)], True
        is_idle = self._is_late and self._ship.keeper.running(str(self._thread_id)) is None
        return [*chosen, *await self._telling.others()], is_idle


async def find_message(ship: Ship, thread_id: ThreadId, message_id: str | None) -> UIMessage | None:
    """Return a stored message, or None when its thread or the message is not there."""
    thread = await read_if_there(ship, thread_id)
    return thread.find(message_id) if thread is not None and message_id else None


async def retell_stored(ship: Ship, thread_id: ThreadId, held: UIMessage) -> list[Chunk]:
    """Return what brings a client's copy of a message to what is stored."""
    message = await find_message(ship, thread_id, held["id"])
    return Telling(ship, thread_id, held).end(message) if message is not None else [chunks.error(NO_ANSWER)]


def _whole(message: UIMessage) -> Chunk:
    return chunks.data("message", remove_from(message), transient=True)

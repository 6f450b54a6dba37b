"""The feed of a process in a fleet: its own runs, and those of others that somebody watches here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from shipmate.errors import StorageError
from shipmate.fleet import fleet_frame as frames
from shipmate.fleet.bus import Bus
from shipmate.orchestrator.feed import HANDED_OVER, FeedEvent, LocalFeed, Run
from shipmate.values.event import Outcome

# How long a thread counts as watched elsewhere after somebody said so, and how often it is said anew.
WATCHED_SECONDS = 30.0
RENEW_SECONDS = 10.0


class FleetFeed(LocalFeed):
    """The watchers of one process, told of runs wherever they go on."""

    def __init__(self) -> None:
        super().__init__()
        self.bus: Bus | None = None
        # Threads that are watched through other processes, and until when.
        self._watched_elsewhere: dict[str, float] = {}
        # The runs of other processes, and who works each: only that one is listened to.
        self._elsewhere: dict[str, Run] = {}
        self._speakers: dict[str, str] = {}
        # Watchers that do not know yet where a run elsewhere stands: pieces of it would mean nothing to them.
        self._unready: dict[asyncio.Queue[FeedEvent], None] = {}

    def runs(self) -> dict[str, Run]:
        return {**self._elsewhere, **super().runs()}

    def running(self, thread_id: str) -> Run | None:
        return super().running(thread_id) or self._elsewhere.get(thread_id)

    def is_watched(self, thread_id: str) -> bool:
        return super().is_watched(thread_id) or self._is_watched_elsewhere(thread_id)

    def watched(self) -> list[str]:
        """List the threads that are watched here."""
        return list(self._watchers)

    def begin(self, thread_id: str, run: Run) -> None:
        self._elsewhere.pop(thread_id, None)
        super().begin(thread_id, run)
        self._say(frames.RunNews(thread_id=thread_id, run=run))

    def end(self, thread_id: str, outcome: Outcome) -> None:
        super().end(thread_id, outcome)
        self._say(frames.RunNews(thread_id=thread_id))

    def drop(self, thread_id: str) -> None:
        """Forget a run that another process has taken over; nobody is told."""
        self._runs.pop(thread_id, None)
        self._told.pop(thread_id, None)

    def _tell(self, thread_id: str, event: FeedEvent) -> None:
        super()._tell(thread_id, event)
        if self._is_watched_elsewhere(thread_id):
            self._say(frames.FeedNews(thread_id=thread_id, event=event))

    def hear(self, sender: str, said: frames.Said) -> None:
        """Take what another process says of runs."""
        match said:
            case frames.WatchWish():
                for thread_id in said.thread_ids:
                    self._note_watched(thread_id, is_anew=said.is_anew)
            case frames.RunNews(run=None):
                if self._speakers.get(said.thread_id) == sender:
                    del self._speakers[said.thread_id]
                    self._note_run(said.thread_id, None)
            case frames.RunNews():
                self._speakers[said.thread_id] = sender
                self._note_run(said.thread_id, said.run)
            case frames.FeedNews():
                if self._speakers.setdefault(said.thread_id, sender) == sender:
                    self._pass_on(said.thread_id, said.event)
            case _:
                pass

    def replace_runs(self, runs: dict[str, Run]) -> None:
        """Take over which runs there are, as the stored rows say, after something may have been missed."""
        own = super().runs()
        self._elsewhere = {thread_id: run for thread_id, run in runs.items() if thread_id not in own}
        for thread_id in self._watchers:
            super()._tell(thread_id, HANDED_OVER)

    @asynccontextmanager
    async def subscribe(
        self, thread_id: str, queue: asyncio.Queue[FeedEvent] | None = None
    ) -> AsyncGenerator[asyncio.Queue[FeedEvent]]:
        async with super().subscribe(thread_id, queue) as found:
            try:
                if self.bus is not None and super().running(thread_id) is None:
                    self._unready[found] = None
                    # Said anew when the database is back; until then nothing is live anyway.
                    with suppress(StorageError):
                        await self.bus.wish(frames.WatchWish(thread_ids=[thread_id], is_anew=True))
                yield found
            finally:
                self._unready.pop(found, None)

    def _note_watched(self, thread_id: str, *, is_anew: bool) -> None:
        is_known = self._is_watched_elsewhere(thread_id)
        self._watched_elsewhere[thread_id] = time.monotonic() + WATCHED_SECONDS
        if is_anew or not is_known:
            # Whoever begins to watch is told where the run stands.
            for event in self.look(thread_id):
                self._say(frames.FeedNews(thread_id=thread_id, event=event))

    def _pass_on(self, thread_id: str, event: FeedEvent) -> None:
        for queue in self._watchers.get(thread_id, ()):
            if event.chunk is None:
                self._unready.pop(queue, None)
            if queue not in self._unready:
                queue.put_nowait(event)

    def _is_watched_elsewhere(self, thread_id: str) -> bool:
        until = self._watched_elsewhere.get(thread_id)
        if until is None:
            return False
        if until < time.monotonic():
            del self._watched_elsewhere[thread_id]
            return False
        return True

    def _note_run(self, thread_id: str, run: Run | None) -> None:
        if run is None:
            self._elsewhere.pop(thread_id, None)
        else:
            self._elsewhere[thread_id] = run
        self.on_run(thread_id, run)

    def _say(self, said: frames.News) -> None:
        if self.bus is not None:
            self.bus.say(said)

"""Somebody who watches a thread as a client of the page does, and what they hold of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from shipmate.orchestrator.feed import FeedEvent
from shipmate.orchestrator.reduce import Reducer
from shipmate.server.stream.projection import Projection
from shipmate.values.chunk import Chunk
from shipmate.values.message import UIMessage


@dataclass(slots=True)
class Telling:
    """One message as it was told from the start."""

    thread_id: str
    message_id: str
    projection: Projection
    copy: Reducer
    # Its run came to an end, and nothing was told since.
    is_over: bool = False

    @property
    def message(self) -> UIMessage:
        return self.copy.message


@dataclass(slots=True)
class Watcher:
    """One who watches one thread for a while."""

    thread_id: str
    # What was told of each message; one that could not go on was told anew from the start.
    tellings: dict[str, Telling] = field(default_factory=dict[str, Telling])
    troubles: list[str] = field(default_factory=list[str])

    async def follow(self, queue: asyncio.Queue[FeedEvent]) -> None:
        """Take in whatever comes."""
        while True:
            self.take(await queue.get())

    def take(self, event: FeedEvent) -> None:
        """Take in one event."""
        if event.outcome is not None:
            if (telling := self.tellings.get(event.message_id)) is not None:
                telling.is_over = True
            return
        if not event.message_id:
            return
        if event.snapshot is not None:
            telling = self._telling(event.message_id)
            self._tell(telling, telling.projection.meet(event.snapshot))
            if not telling.projection.is_exact:
                # Text was shown that never came to be stored: the client comes back and begins anew.
                del self.tellings[event.message_id]
                telling = self._telling(event.message_id)
                self._tell(telling, telling.projection.meet(event.snapshot))
        elif event.chunk is not None:
            is_about = event.chunk["type"] != "error" and not event.chunk.get("transient")
            if event.message_id not in self.tellings and is_about:
                self.troubles.append(f"{event.chunk} came before its message {event.message_id}")
                return
            if event.message_id not in self.tellings:
                return
            telling = self._telling(event.message_id)
            self._tell(telling, telling.projection.take(event.chunk))

    def _telling(self, message_id: str) -> Telling:
        if message_id not in self.tellings:
            empty: UIMessage = {"id": message_id, "role": "assistant", "parts": []}
            telling = Telling(self.thread_id, message_id, Projection(message_id), Reducer(empty))
            self.tellings[message_id] = telling
        return self.tellings[message_id]

    def _tell(self, telling: Telling, told: list[Chunk]) -> None:
        telling.is_over = False
        for chunk in told:
            try:
                telling.copy.apply(chunk)
            except (KeyError, IndexError):
                self.troubles.append(f"{chunk} of {telling.message_id} came out of order")

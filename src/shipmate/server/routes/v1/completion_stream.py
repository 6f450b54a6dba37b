"""Follow the run that answers a request, as a stream that begins with its first word."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from starlette.types import Receive, Scope, Send

from shipmate.orchestrator.feed import FeedEvent
from shipmate.server.guard.error import respond
from shipmate.server.port import Receipt, Ship
from shipmate.server.routes.v1.answer import ChunkEncoder, Conclusion, conclude, headers_of, lost
from shipmate.server.routes.v1.application import Admitted
from shipmate.server.stream.stream import KEEP_ALIVE_SECONDS, Events, Streams, Wire, drain
from shipmate.server.stream.watch import REJOIN, OwnRuns
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk


class CompletionStream:
    """The answer to one request while it is written."""

    def __init__(self, ship: Ship, streams: Streams, admitted: Admitted, encoder: ChunkEncoder) -> None:
        self._ship = ship
        self._streams = streams
        self._admitted = admitted
        self._encoder = encoder
        self._end: Conclusion | None = None

    async def play(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; what fails before its first word has the status of its failure instead."""
        thread_id = self._admitted.thread_id
        async with self._ship.keeper.watch(str(thread_id)) as queue:
            receipt = await self._ship.keeper.receive(self._admitted.event)
            runs = OwnRuns(self._ship, thread_id, [receipt], queue)

            async def choose(events: Sequence[FeedEvent]) -> tuple[list[Chunk], bool]:
                return await self._choose(runs, receipt, events)

            try:
                first, is_over = await self._begin(queue, runs, receipt)
                if self._end is not None and self._end.problem is not None and not self._encoder.has_begun:
                    await respond(self._end.problem, scope["path"])(scope, receive, send)
                    return
                self._encoder.is_sent = True
                wire = Wire(receive, send, self._streams, self._encoder.encode, b"")
                await wire.open(headers_of(self._admitted))
                if is_over:
                    await wire.finish(first)
                    return
                await wire.write(first)
                await wire.follow(queue, choose)
            finally:
                runs.cancel()

    async def _begin(self, queue: Events, runs: OwnRuns, receipt: Receipt) -> tuple[list[Chunk], bool]:
        """Wait for the first word or the end, or so long that a connection may be taken for dead."""
        told = b""
        is_over = False
        latest = asyncio.get_running_loop().time() + KEEP_ALIVE_SECONDS
        with contextlib.suppress(TimeoutError):
            while not told and not is_over:
                async with asyncio.timeout_at(latest):
                    event = await queue.get()
                chosen, is_over = await self._choose(runs, receipt, [event, *drain(queue)])
                told = b"".join(map(self._encoder.encode, chosen))
        return [{"type": "encoded", "data": told}], is_over

    async def _choose(
        self, runs: OwnRuns, receipt: Receipt, events: Sequence[FeedEvent]
    ) -> tuple[list[Chunk], bool]:
        chosen, is_over = await runs.choose(events)
        if is_over:
            is_torn = chunks.error(REJOIN) in chosen
            self._end = lost() if is_torn else await conclude(self._ship, self._admitted, receipt)
            chosen = [*chosen, {"type": "conclusion", "data": self._end}]
        return chosen, is_over

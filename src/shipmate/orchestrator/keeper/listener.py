"""Serve the keeper's verbs to attached processes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from shipmate.errors import ShipmateError
from shipmate.orchestrator.feed import Run
from shipmate.orchestrator.keeper import frame as frames
from shipmate.orchestrator.keeper.frame import Frame
from shipmate.orchestrator.keeper.socket import Link
from shipmate.orchestrator.lane.lanes import LocalKeeper

# How many bytes an attached process may fall behind: it may be halted while long answers are told.
BACKLOG = 64 << 20
# How long a leaving keeper waits for an attached process to take its last words.
PARTING_SECONDS = 1.0
log = logging.getLogger(__name__)


class Listener:
    """The attached processes of one keeper."""

    def __init__(self, keeper: LocalKeeper) -> None:
        self._keeper = keeper
        self._visitors: dict[_Visitor, None] = {}
        # Set once another process is, or was, attached.
        self.visited = asyncio.Event()
        self._is_leaving = False
        keeper.feed.on_run = self._tell_run

    @property
    def has_visitors(self) -> bool:
        """Return whether another process is attached."""
        return bool(self._visitors)

    async def welcome(self, link: Link) -> None:
        """Serve one attached process until it is gone; one that comes too late is sent to the next keeper."""
        if self._is_leaving:
            link.close()
            return
        visitor = _Visitor(self._keeper, link)
        self._visitors[visitor] = None
        self.visited.set()
        try:
            await visitor.serve()
        finally:
            del self._visitors[visitor]
            visitor.gone.set()

    def leave(self) -> None:
        """Tell every attached process that another one has to keep from now on."""
        self._is_leaving = True
        for visitor in list(self._visitors):
            visitor.say(frames.Leaving())

    async def close(self) -> None:
        """Cut every link, after what was said to it has been handed over."""
        await asyncio.gather(*(visitor.close() for visitor in list(self._visitors)))

    def _tell_run(self, thread_id: str, run: Run | None) -> None:
        for visitor in self._visitors:
            visitor.say(frames.Began(thread_id=thread_id, run=run))


class _Visitor:
    """One attached process, as the keeper sees it."""

    def __init__(self, keeper: LocalKeeper, link: Link) -> None:
        self._keeper = keeper
        self._link = link
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._watches: dict[int, asyncio.Task[None]] = {}
        # One writer: frames leave in the order they were said, and a slow reader holds up no run.
        self._outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._backlog = 0
        self._is_greeted = False
        self._is_cut = False
        self._writer: asyncio.Task[None] | None = None
        # Set when nothing more is done for it.
        self.gone = asyncio.Event()

    def say(self, frame: Frame) -> None:
        """Hand a frame to the writer; whoever reads too slowly is cut off, and comes back."""
        if self._backlog > BACKLOG:
            self._cut()
        if not self._is_cut:
            data = frames.encode(frame)
            self._backlog += len(data)
            self._outgoing.put_nowait(data)

    async def serve(self) -> None:
        """Answer what comes in until the other side is gone."""
        self._writer = asyncio.create_task(self._write())
        try:
            while (data := await self._link.receive()) is not None:
                self._take(frames.decode(data))
        except ConnectionError as error:
            log.warning("an attached process was cut off: %s", error)
        finally:
            self._cut()

    async def close(self) -> None:
        """Let the writer finish, then cut the link."""
        self._outgoing.put_nowait(None)
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=PARTING_SECONDS)
        self._link.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.gone.wait(), PARTING_SECONDS)

    def _cut(self) -> None:
        """End the link and forget what was to be said: a halted process may hold it open for long."""
        self._is_cut = True
        self._outgoing, self._backlog = asyncio.Queue(), 0
        for task in (*self._tasks, *self._watches.values(), self._writer):
            if task is not None:
                task.cancel()
        self._link.close()

    async def _write(self) -> None:
        try:
            while (data := await self._outgoing.get()) is not None:
                await self._link.send(data)
                self._backlog -= len(data)
        except ConnectionError:
            self._link.close()

    def _take(self, said: Frame) -> None:
        match said:
            case frames.Hello():
                self._greet(said)
            case _ if not self._is_greeted:
                raise ConnectionError("it did not say which version it speaks, or speaks another")
            case frames.Watch():
                self._unwatch(said.number)
                self._watches[said.number] = asyncio.create_task(self._watch(said))
            case frames.Unwatch():
                self._unwatch(said.number)
            case frames.Receive():
                self._start(said.number, self._receive(said))
            case frames.WithdrawFrame():
                self._start(said.number, self._withdraw(said))
            case frames.StopFrame():
                self._start(said.number, self._stop(said))
            case frames.QueueFrame():
                self._start(said.number, self._queue(said))
            case _:
                raise ConnectionError("it said what only a keeper says")

    def _greet(self, said: frames.Hello) -> None:
        if said.version != frames.VERSION:
            words = "The process that keeps this workspace is another version of Shipmate. End it first."
            self.say(frames.refuse(said.number, ShipmateError(words)))
        else:
            self._is_greeted = True
            self.say(frames.Welcome(number=said.number, runs=self._keeper.feed.runs()))

    def _unwatch(self, number: int) -> None:
        if (watch := self._watches.pop(number, None)) is not None:
            watch.cancel()

    def _start(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._answer(number, work))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _answer(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ShipmateError as error:
            self.say(frames.refuse(number, error))
        # The process edge: a bug in one answer is told to whoever asked and logged; the keeper goes on.
        except Exception:
            log.exception("an attached process could not be answered")
            self.say(
                frames.refuse(number, ShipmateError("an internal error; the keeper's log has the details"))
            )

    async def _receive(self, said: frames.Receive) -> None:
        receipt = await self._keeper.receive(said.event)
        self.say(frames.Received(number=said.number, row=receipt.row, is_new=receipt.is_new))
        self.say(frames.Settled(number=said.number, outcome=await receipt.outcome()))

    async def _withdraw(self, said: frames.WithdrawFrame) -> None:
        value = await self._keeper.withdraw(said.thread_id, said.message_id)
        self.say(frames.Done(number=said.number, value=value))

    async def _stop(self, said: frames.StopFrame) -> None:
        self.say(frames.Done(number=said.number, value=await self._keeper.stop(said.thread_id)))

    async def _queue(self, said: frames.QueueFrame) -> None:
        self.say(frames.Rows(number=said.number, rows=await self._keeper.queue(said.thread_id)))

    async def _watch(self, said: frames.Watch) -> None:
        async with self._keeper.watch(said.thread_id) as queue:
            self.say(frames.Done(number=said.number, value=True))
            while True:
                self.say(frames.Told(number=said.number, event=await queue.get()))

"""This process's part in keeping a workspace: it keeps, or is attached to the one that does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from shipmate.errors import KeeperError, ShipmateError
from shipmate.orchestrator.feed import HANDED_OVER, FeedEvent, Receipt, Run
from shipmate.orchestrator.keeper.attached import AttachedKeeper, KeeperGoneError
from shipmate.orchestrator.keeper.health import EngineHealth
from shipmate.orchestrator.keeper.listener import Listener
from shipmate.orchestrator.keeper.port import ALONE, Keeper
from shipmate.orchestrator.keeper.socket import Socket
from shipmate.orchestrator.lane.lanes import LocalKeeper
from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent, Outcome

# How long another keeper may take to answer while it starts, leaves, or is halted.
PATIENCE_SECONDS = 30.0
# How often a seat that is neither free nor listening is looked at again.
RETRY_SECONDS = 0.02
# How long a disk that refused is left alone.
AGAIN_SECONDS = 2.0

LEFT = Outcome(
    run_id="",
    status="failed",
    error="this process left first; the keeper goes on with the run",
    retryable=True,
)
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


class Keeping:
    """The keeper's verbs, whoever keeps; when the keeper goes, this process or another takes over."""

    def __init__(self, socket: Socket, begin: Callable[[], Awaitable[LocalKeeper]]) -> None:
        self._socket = socket
        # Makes the lanes of a keeper and takes up what was left; called when this process begins to keep.
        self._begin = begin
        self._listener: Listener | None = None
        self._local: LocalKeeper | None = None
        self._attached: AttachedKeeper | None = None
        # One that was reached and has not yet answered.
        self._greeting: AttachedKeeper | None = None
        self._seating = asyncio.Lock()
        self._tasks: dict[asyncio.Task[None], None] = {}
        # Outcomes that this process waits for at the keeper.
        self._awaited: dict[asyncio.Future[Outcome], None] = {}
        self._is_closing = False
        # The threads that a process before this one had left unfinished.
        self.taken_up: list[str] = []

    @property
    def lead(self) -> None:
        """Return nothing: the keeper does what one does for all, and listening has a lock of its own."""

    @property
    def keeps(self) -> bool:
        """Return whether this process is the keeper."""
        return self._local is not None

    @property
    def role(self) -> str:
        """Return that every process does everything: whoever keeps changes."""
        return ALONE

    def busy(self) -> list[str]:
        """List the threads this process works on as the keeper, while nobody else is there to do so."""
        is_alone = self._listener is not None and not self._listener.has_visitors
        return self._local.lanes.busy() if self._local is not None and is_alone else []

    async def idle(self) -> None:
        """Wait until this process has nothing to work on; one that is attached never has."""
        if self._local is not None:
            await self._local.lanes.idle()

    async def health(self) -> EngineHealth:
        """Return what goes on, as far as this process knows."""
        await self._current()
        return EngineHealth(engine="files", running=len(self.runs()))

    async def open(self) -> None:
        """Keep, or attach to whoever keeps; from then on stand ready to take over."""
        await self._current()

    async def receive(self, event: IngressEvent) -> Receipt:
        """Store an event; whoever keeps until then, its outcome comes."""
        keeper, receipt = await self._try(lambda keeper: _receive(keeper, event))
        if isinstance(keeper, LocalKeeper):
            return receipt
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._awaited[future] = None
        future.add_done_callback(self._awaited.pop)
        # Nobody may be waiting any more when the keeper says what went wrong.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._start(self._follow_outcome(event, receipt, future))
        return Receipt(receipt.row, receipt.is_new, future)

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Take back an event that still waits."""
        return await self._try(lambda keeper: keeper.withdraw(thread_id, message_id))

    async def stop(self, thread_id: str) -> bool:
        """Stop the run in flight of a thread."""
        return await self._try(lambda keeper: keeper.stop(thread_id))

    async def queue(self, thread_id: str) -> list[InboxRow]:
        """List what waits or runs in a thread."""
        return await self._try(lambda keeper: keeper.queue(thread_id))

    def runs(self) -> dict[str, Run]:
        """Return the runs in flight, by thread, as far as this process knows."""
        keeper = self._local or self._attached
        return {} if keeper is None else keeper.runs()

    def running(self, thread_id: str) -> Run | None:
        """Return the run in flight of a thread, as far as this process knows."""
        keeper = self._local or self._attached
        return None if keeper is None else keeper.running(thread_id)

    @asynccontextmanager
    async def watch(self, thread_id: str) -> AsyncGenerator[asyncio.Queue[FeedEvent]]:
        """Follow a thread through every change of keeper; after one, the queue goes on with a snapshot."""
        if self._local is not None:
            async with self._local.watch(thread_id) as queue:
                yield queue
            return
        queue = asyncio.Queue[FeedEvent]()
        ready = asyncio.Event()
        pump = asyncio.create_task(self._pump(thread_id, queue, ready))
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({pump, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if pump.done():
                pump.result()
            yield queue
        finally:
            waiting.cancel()
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)

    async def close(self, *, finish: bool = False) -> None:
        """Leave: a keeper lets acting calls end and hands the rest over; `finish` works off all of it first.

        What was attached is let go; the keeper goes on with what it was handed.
        """
        self._is_closing = True
        if self._greeting is not None:
            self._greeting.close()
        # Whoever takes the seat in this moment gets to its end first; else nobody would leave it again.
        async with self._seating:
            local, self._local = self._local, None
        try:
            if local is not None:
                await self._leave(local, finish=finish)
        finally:
            await self._let_go()

    async def _leave(self, local: LocalKeeper, *, finish: bool) -> None:
        listener = self._listener
        assert listener is not None, "a keeper listens"
        try:
            if finish:
                await _finish(local, listener)
        finally:
            # Also when somebody has no time for that: what acts comes to its end, the rest is handed over.
            leaving = asyncio.ensure_future(self._hand_over(local, listener))
            try:
                await asyncio.shield(leaving)
            except asyncio.CancelledError:
                # Asked to end in the midst of it: that is what is being done.
                await leaving
                raise

    async def _hand_over(self, local: LocalKeeper, listener: Listener) -> None:
        try:
            await self._socket.close()
            listener.leave()
            await local.close()
            await listener.close()
        finally:
            self._socket.release()

    async def _let_go(self) -> None:
        """End what this process has as an attached one, and tell whoever waits here."""
        if self._attached is not None:
            self._attached.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for future in list(self._awaited):
            if not future.done():
                future.set_result(LEFT)

    async def _try(self, ask: Callable[[Keeper], Coroutine[Any, Any, Answer]]) -> Answer:
        """Ask whoever keeps; ask the next one when it goes meanwhile. Every verb may be repeated."""
        while True:
            keeper = await self._current()
            try:
                return await ask(keeper)
            except KeeperGoneError:
                continue

    async def _follow_outcome(
        self, event: IngressEvent, receipt: Receipt, future: asyncio.Future[Outcome]
    ) -> None:
        """Wait for an outcome through every change of keeper: the next one knows the event, or is told it."""
        while True:
            try:
                outcome = await receipt.outcome()
            except KeeperGoneError:
                receipt = await self._receive_again(event)
            except ShipmateError as error:
                if not future.done():
                    future.set_exception(error)
                return
            else:
                if not future.done():
                    future.set_result(outcome)
                return

    async def _receive_again(self, event: IngressEvent) -> Receipt:
        """Hand an event over that was stored already; trouble that passes is waited out."""
        while True:
            try:
                return await self._try(lambda keeper: keeper.receive(event))
            except ShipmateError as error:
                log.warning("an answer is waited for, and nobody can tell it: %s", error)
                await asyncio.sleep(AGAIN_SECONDS)

    async def _pump(self, thread_id: str, queue: asyncio.Queue[FeedEvent], ready: asyncio.Event) -> None:
        """Keep a queue filled: by the keeper there is, then by the next."""
        while True:
            try:
                keeper = await self._current()
                async with keeper.watch(thread_id, queue):
                    if ready.is_set():
                        queue.put_nowait(HANDED_OVER)
                    ready.set()
                    await asyncio.shield(keeper.gone)
            except KeeperGoneError:
                continue
            except ShipmateError as error:
                if self._is_closing or not ready.is_set():
                    raise
                log.warning("a thread is watched, and nobody can tell of it: %s", error)
                await asyncio.sleep(AGAIN_SECONDS)

    async def _current(self) -> LocalKeeper | AttachedKeeper:
        """Return whoever keeps; take the seat when it is free."""
        if self._local is not None:
            return self._local
        if self._attached is not None and not self._attached.gone.done():
            return self._attached
        async with self._seating:
            return await self._seat()

    async def _seat(self) -> LocalKeeper | AttachedKeeper:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while loop.time() < deadline:
            if self._is_closing:
                raise KeeperError("Shipmate is closing; the next process takes this up.")
            if self._local is not None:
                return self._local
            if self._attached is not None and not self._attached.gone.done():
                return self._attached
            if self._socket.hold():
                return await self._keep()
            if (found := await self._attach(deadline)) is not None:
                return found
            await asyncio.sleep(RETRY_SECONDS)
        raise KeeperError

    async def _keep(self) -> LocalKeeper:
        try:
            local = await self._begin()
        except BaseException:
            self._socket.release()
            raise
        self._listener = Listener(local)
        try:
            await self._socket.listen(self._listener.welcome)
        except BaseException:
            # Somebody may have come in meanwhile: nothing of theirs may go on once another keeps.
            await self._leave(local, finish=False)
            raise
        self._attached = None
        self._local = local
        self.taken_up = await local.resume()
        return local

    async def _attach(self, deadline: float) -> AttachedKeeper | None:
        link = await self._socket.connect()
        if link is None:
            return None
        attached = self._greeting = AttachedKeeper(link)
        try:
            async with asyncio.timeout_at(deadline):
                await attached.greet()
        except (KeeperGoneError, TimeoutError):
            attached.close()
            return None
        except BaseException:
            attached.close()
            raise
        finally:
            self._greeting = None
        self._attached = attached
        self._start(self._stand_by(attached))
        return attached

    async def _stand_by(self, attached: AttachedKeeper) -> None:
        """Take over as soon as the keeper is gone, whether or not anybody asks for something."""
        await asyncio.shield(attached.gone)
        while not self._is_closing:
            try:
                await self._current()
            except ShipmateError as error:
                if not self._is_closing:
                    log.warning("nobody keeps this workspace: %s", error)
                    await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)


async def _receive(keeper: Keeper, event: IngressEvent) -> tuple[Keeper, Receipt]:
    return keeper, await keeper.receive(event)


async def _finish(local: LocalKeeper, listener: Listener) -> None:
    """Work off everything, as long as nobody is there to take over; those who came and went do not count."""
    if listener.has_visitors:
        return
    listener.visited.clear()
    ends = [asyncio.create_task(local.idle()), asyncio.create_task(listener.visited.wait())]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()

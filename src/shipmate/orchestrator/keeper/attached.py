"""Answer the keeper's verbs in a process that is attached to the one that keeps."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from shipmate.errors import KeeperError
from shipmate.orchestrator.feed import FeedEvent, Receipt, Run
from shipmate.orchestrator.keeper import frame as frames
from shipmate.orchestrator.keeper.frame import Frame
from shipmate.orchestrator.keeper.socket import Link
from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent, Outcome, encode_event

# How long a keeper may take to answer: one that is halted would be waited for in vain.
PATIENCE_SECONDS = 30.0


class KeeperGoneError(ConnectionError):
    """The process that kept the workspace is gone; another one takes over."""


class AttachedKeeper:
    """The keeper, reached over a link."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._number = 0
        self._answers: dict[int, asyncio.Future[Frame]] = {}
        self._outcomes: dict[int, asyncio.Future[Outcome]] = {}
        self._watchers: dict[int, asyncio.Queue[FeedEvent]] = {}
        self._runs: dict[str, Run] = {}
        # Done when the keeper is gone, or takes nothing more.
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader: asyncio.Task[None] | None = None

    async def greet(self) -> None:
        """Open the link; raise when the keeper is another version or gone."""
        self._reader = asyncio.create_task(self._read())
        welcome = await self._ask(frames.Hello(number=self._next()))
        if isinstance(welcome, frames.Welcome):
            self._runs.update(welcome.runs)

    async def receive(self, event: IngressEvent) -> Receipt:
        # Refuses what cannot be written down, here as the inbox does.
        encode_event(event)
        number = self._next()
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        outcome.add_done_callback(_look_at)
        self._outcomes[number] = outcome
        try:
            answer = await self._ask(frames.Receive(number=number, event=event))
        except BaseException:
            self._outcomes.pop(number, None)
            raise
        if not isinstance(answer, frames.Received):
            raise KeeperGoneError
        return Receipt(answer.row, answer.is_new, outcome)

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        answer = await self._ask(
            frames.WithdrawFrame(number=self._next(), thread_id=thread_id, message_id=message_id)
        )
        return isinstance(answer, frames.Done) and answer.value

    async def stop(self, thread_id: str) -> bool:
        answer = await self._ask(frames.StopFrame(number=self._next(), thread_id=thread_id))
        return isinstance(answer, frames.Done) and answer.value

    async def queue(self, thread_id: str) -> list[InboxRow]:
        answer = await self._ask(frames.QueueFrame(number=self._next(), thread_id=thread_id))
        return answer.rows if isinstance(answer, frames.Rows) else []

    def runs(self) -> dict[str, Run]:
        return dict(self._runs)

    def running(self, thread_id: str) -> Run | None:
        return self._runs.get(thread_id)

    @asynccontextmanager
    async def watch(
        self, thread_id: str, queue: asyncio.Queue[FeedEvent] | None = None
    ) -> AsyncGenerator[asyncio.Queue[FeedEvent]]:
        number = self._next()
        queue = asyncio.Queue() if queue is None else queue
        self._watchers[number] = queue
        try:
            # From its answer on nothing of the thread is missed.
            await self._ask(frames.Watch(number=number, thread_id=thread_id))
            yield queue
        finally:
            self._watchers.pop(number, None)
            with contextlib.suppress(KeeperGoneError):
                await self._send(frames.Unwatch(number=number))

    def close(self) -> None:
        """Let go of the keeper; what it does goes on."""
        if self._reader is not None:
            self._reader.cancel()
        self._link.close()
        self._end()

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _ask(self, said: Frame) -> Frame:
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_look_at)
        self._answers[said.number] = answer
        try:
            await self._send(said)
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await answer
        except TimeoutError as error:
            raise KeeperError from error
        finally:
            self._answers.pop(said.number, None)

    async def _send(self, said: Frame) -> None:
        if self.gone.done():
            raise KeeperGoneError
        try:
            await self._link.send(frames.encode(said))
        except ConnectionError as error:
            # Known at once, not only when the reader comes to the end: else whoever asks again asks in vain.
            self._end()
            raise KeeperGoneError from error

    async def _read(self) -> None:
        try:
            while (data := await self._link.receive()) is not None:
                self._take(frames.decode(data))
        except ConnectionError:
            pass
        finally:
            self._link.close()
            self._end()

    def _take(self, said: Frame) -> None:
        match said:
            case frames.Told():
                if (queue := self._watchers.get(said.number)) is not None:
                    queue.put_nowait(said.event)
            case frames.Settled():
                outcome = self._outcomes.pop(said.number, None)
                if outcome is not None and not outcome.done():
                    outcome.set_result(said.outcome)
            case frames.Began():
                self._note_run(said)
            case frames.Leaving():
                self._end()
            case frames.Refused(number=0):
                for number in list(self._answers):
                    self._answer(number, frames.error_of(said))
            case frames.Refused():
                self._answer(said.number, frames.error_of(said))
            case _:
                self._answer(said.number, said)

    def _note_run(self, said: frames.Began) -> None:
        if said.run is None:
            self._runs.pop(said.thread_id, None)
        else:
            self._runs[said.thread_id] = said.run

    def _answer(self, number: int, said: Frame | Exception) -> None:
        waiting = self._answers.get(number)
        if waiting is not None and not waiting.done():
            if isinstance(said, Exception):
                waiting.set_exception(said)
            else:
                waiting.set_result(said)
        elif isinstance(said, Exception) and (outcome := self._outcomes.pop(number, None)) is not None:
            outcome.set_exception(said)

    def _end(self) -> None:
        """Tell everyone who waits that the keeper is gone."""
        for waiting in (*self._answers.values(), *self._outcomes.values()):
            if not waiting.done():
                waiting.set_exception(KeeperGoneError())
        self._outcomes.clear()
        self._runs.clear()
        if not self.gone.done():
            self.gone.set_result(None)


def _look_at(done: asyncio.Future[Any]) -> None:
    """Count an exception as seen: nobody may be waiting for it any more when the keeper goes."""
    if not done.cancelled():
        done.exception()

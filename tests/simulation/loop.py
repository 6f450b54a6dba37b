"""An event loop whose time is virtual and whose order is chosen by a seed."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Owner(Protocol):
    """Whose callbacks these are; those of a dead one are dropped."""

    is_dead: bool
    # Its callbacks wait.
    is_halted: bool


OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("OWNER", default=None)


class StuckError(AssertionError):
    """Nothing is left to run, and what was awaited has not come."""


class EndlessError(AssertionError):
    """More happened than a seed can hold: something goes round in circles."""


class SimLoop(asyncio.BaseEventLoop):
    """Run what is ready in an order the seed chooses; when nothing is, go to the next moment.

    Between owners (the simulated processes) any order can come. What one owner has ready runs in its order,
    as in any event loop.
    """

    def __init__(self, chance: random.Random, *, limit: int = 400_000) -> None:
        super().__init__()
        self._chance = chance
        self._limit = limit
        self._moment = 0.0
        self._queue: list[asyncio.Handle] = []
        self._timers: list[tuple[float, float, int, asyncio.TimerHandle]] = []
        self._held: list[asyncio.Handle] = []
        self._count = 0
        self.steps = 0

    def time(self) -> float:
        """Return the virtual time."""
        return self._moment

    def call_soon(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._queue.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # pyright: ignore[reportAssignmentType]

    def call_at(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        # Two timers of one moment go off in any order.
        heapq.heappush(self._timers, (when, self._chance.random(), self._count, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave a cancelled timer where it is; it does nothing."""

    def run_in_executor(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, executor: object, func: Callable[..., Result], *args: Any
    ) -> asyncio.Future[Result]:
        """Run what would run in a thread a little later, in one go."""
        future: asyncio.Future[Result] = self.create_future()
        self.call_later(self._chance.choice((0.0, 0.0, 0.001, 0.02)), _settle, future, func, args)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep the loop's complaints about tasks of dead processes to itself."""

    def _run_once(self) -> None:
        queue = self._queue
        while not queue:
            if not self._timers:
                raise StuckError("nothing is left to run")
            when, _, _, timer = heapq.heappop(self._timers)
            if timer.cancelled():
                continue
            self._moment = max(self._moment, when)
            queue.append(timer)
            while self._timers and self._timers[0][0] <= self._moment:
                queue.append(heapq.heappop(self._timers)[3])
        self.steps += 1
        if self.steps > self._limit:
            raise EndlessError(f"more than {self._limit} steps")
        handle = self._choose(queue)
        if handle.cancelled():
            return
        owner = handle._context.get(OWNER)  # pyright: ignore
        if owner is not None and owner.is_dead:
            return
        if owner is not None and owner.is_halted:
            self._held.append(handle)
            return
        handle._run()  # pyright: ignore

    def _choose(self, queue: list[asyncio.Handle]) -> asyncio.Handle:
        """Choose whose turn it is; then the first of theirs."""
        if len(queue) == 1:
            return queue.pop()
        place = int(self._chance.random() * len(queue))
        owner = queue[place]._context.get(OWNER)  # pyright: ignore
        for first, handle in enumerate(queue[:place]):
            if handle._context.get(OWNER) is owner:  # pyright: ignore
                return queue.pop(first)
        return queue.pop(place)

    def release(self) -> None:
        """Let those go on who were halted."""
        self._queue[:0] = self._held
        self._held.clear()

    def drop(self) -> None:
        """Forget whatever has not run."""
        self._queue.clear()
        self._timers.clear()


def _settle(future: asyncio.Future[Result], func: Callable[..., Result], args: tuple[Any, ...]) -> None:
    if future.cancelled():
        return
    try:
        result = func(*args)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)

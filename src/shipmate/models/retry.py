"""Ask again when a provider is busy or away, as long as nothing of the answer was shown."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from shipmate.errors import ModelError
from shipmate.models.failure import in_short
from shipmate.models.port import Finish, Model, ModelEvent, ModelNotice, ModelRequest
from shipmate.models.relay import close_model, relay
from shipmate.telemetry import watch_model

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 20.0
# A provider that wants a longer wait than this is given up on, so that a fallback or a person can decide.
LONGEST_WAIT = 60.0


class RetryingModel:
    """The inner model, asked again after failures that may pass."""

    def __init__(
        self,
        inner: Model,
        max_retries: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._inner = inner
        self._max_retries = max_retries
        self._sleep = sleep
        self._chance = chance

    @property
    def name(self) -> str:
        """Return the inner model's name."""
        return self._inner.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request, asking again while nothing has come."""
        for attempt in range(self._max_retries + 1):
            begun = False
            try:
                with watch_model(self.name, request.origin.thread_id if request.origin else "") as watch:
                    async with aclosing(relay(self._inner, request)) as events:
                        async for event in events:
                            begun = True
                            if isinstance(event, Finish):
                                watch.finish(event.model, event.reason, event.usage)
                            yield event
            except ModelError as error:
                pause = self._pause(attempt, error)
                if begun or pause is None:
                    raise
                notice = ModelNotice(
                    kind="retry", model=self.name, reason=in_short(error), wait_seconds=pause
                )
            else:
                return
            yield notice
            await self._sleep(pause)

    def _pause(self, attempt: int, error: ModelError) -> float | None:
        """Return the seconds to wait before the next attempt; None when there should be none."""
        if not error.retryable or attempt >= self._max_retries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_WAIT else None
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)
        # Half of the pause is left to chance, so that threads which failed together do not return together.
        return longest * (0.5 + 0.5 * self._chance())

    async def close(self) -> None:
        """Close the inner model."""
        await close_model(self._inner)

"""Keep a token that a platform gives for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from shipmate.errors import SendError, SendLaterError

# So long before its end a token is asked for anew.
RENEW_SECONDS = 300.0


class PassingToken:
    """A token, asked for when it is needed; `ask` returns it and for how many seconds it is good."""

    def __init__(
        self, ask: Callable[[], Awaitable[tuple[str, float]]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token, self._good_until = "", 0.0

    async def get(self) -> str:
        """Return a token that is good for a while; raise SendLaterError when there is none."""
        async with self._lock:
            if self._clock() >= self._good_until:
                try:
                    self._token, seconds = await self._ask()
                except SendLaterError:
                    raise
                except SendError as error:
                    # Nothing but a token was asked for.
                    raise SendLaterError(str(error)) from None
                self._good_until = self._clock() + max(seconds - RENEW_SECONDS, seconds / 2)
            return self._token

    def drop(self, token: str) -> None:
        """Use a token no more that the platform no longer takes; another may have been asked for since."""
        if token == self._token:
            self._good_until = 0.0

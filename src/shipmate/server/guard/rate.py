"""Count requests, so that neither a runaway program nor a guesser can wear the server down."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 4096


class RateLimit:
    """The limit of each caller: `burst` requests at once and `rate` per second after that."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self.burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """Count one request; give 0 when it may pass, else the seconds to wait."""
        now = self._clock()
        left, since = self._buckets.pop(caller, (float(self.burst), now))
        left = min(self.burst, left + (now - since) * self._rate)
        passes = left >= 1
        self._buckets[caller] = (left - 1 if passes else left, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return 0 if passes else (1 - left) / self._rate

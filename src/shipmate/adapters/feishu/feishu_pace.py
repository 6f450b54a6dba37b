"""Keep within what Feishu lets an app do: so many calls of one kind a second, and a minute."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from shipmate.errors import SendLaterError

# The platform's are 50 a second and 1000 a minute.
SECOND, MINUTE = 45, 950


class FeishuPace:
    """The calls of one kind in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=MINUTE)

    def step(self) -> None:
        """Count a call; raise SendLaterError with how long to wait when it would be one too many."""
        now = self._clock()
        wait = 0.0
        for count, seconds in ((SECOND, 1.0), (MINUTE, 60.0)):
            if len(self._times) >= count:
                wait = max(wait, self._times[-count] + seconds - now)
        if wait > 0:
            raise SendLaterError("Feishu takes no more for now", retry_after=wait)
        self._times.append(now)

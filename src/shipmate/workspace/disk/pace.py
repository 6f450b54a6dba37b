"""Wait for the disk without making others wait.

A sync takes less than a thread costs where the disk is quick. Where it is slow, hundreds of threads of talk
would stand still behind each one; then it is waited for in a thread, and many are waited for at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from shipmate.workspace.disk.disk import Disk, OsDisk

# Seconds a wait takes, of late, from which on the disk counts as slow, and below which as quick again.
SLOW = 0.002
QUICK = 0.001
# How much of what is known the last wait makes up.
SHARE = 0.2

Result = TypeVar("Result")


class Pace:
    """How long waits take on one disk, and where they are waited for."""

    def __init__(self, *, measures: bool) -> None:
        # A simulated disk has a clock of its own and must stay in step with it.
        self._measures = measures
        self._mean = 0.0
        self._is_slow = False

    async def wait(self, work: Callable[[], Result]) -> Result:
        """Do something that waits for the disk. It is done to its end, also when the task is cancelled."""
        if not self._measures:
            return work()
        if not self._is_slow:
            return self._time(work)
        return await self._wait_elsewhere(work)

    async def _wait_elsewhere(self, work: Callable[[], Result]) -> Result:
        waiting = asyncio.get_running_loop().run_in_executor(None, partial(self._time, work))
        cancelled = False
        while not waiting.done():
            try:
                await asyncio.shield(waiting)
            except asyncio.CancelledError:
                cancelled = True
            except BaseException:  # noqa: BLE001, S110  (raised below, where the result is asked for)
                pass
        task = asyncio.current_task()
        if cancelled and task is not None:
            # What was done must be taken note of first; the next thing that is awaited ends the task. It was
            # asked to end once, so it must not look as if it had been asked twice: Ctrl-C goes by that.
            task.uncancel()
            task.cancel()
        return waiting.result()

    def _time(self, work: Callable[[], Result]) -> Result:
        began = time.perf_counter()
        try:
            return work()
        finally:
            self._mean += SHARE * (time.perf_counter() - began - self._mean)
            self._is_slow = self._mean > (QUICK if self._is_slow else SLOW)


_paces: WeakKeyDictionary[Disk, Pace] = WeakKeyDictionary()


def pace_of(disk: Disk) -> Pace:
    """Return the pace of a disk, the same for all who use it."""
    if disk not in _paces:
        _paces[disk] = Pace(measures=isinstance(disk, OsDisk))
    return _paces[disk]

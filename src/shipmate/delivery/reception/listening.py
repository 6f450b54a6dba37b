"""Listen at every platform that ship.json names, in one process at a time."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable, Iterable

from shipmate.delivery.adapter import Adapter, Hear
from shipmate.errors import ConfigError
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
# How often a process looks whether the one that listens is gone.
LOOK_SECONDS = 2.0
log = logging.getLogger(__name__)


class Listening:
    """The listening of one process: it begins when no other listens, and ends with `close`."""

    def __init__(
        self,
        layout: Layout,
        names: Iterable[str],
        find: Callable[[str], Adapter],
        hear: Hear,
        mask: Callable[[str], str],
    ) -> None:
        self._lock = layout.people.with_name("listening.lock")
        self._names = sorted(names)
        self._find = find
        self._hear = hear
        self._mask = mask
        self._task: asyncio.Task[None] | None = None
        # What went wrong last at each platform, while it does not work.
        self.troubles: dict[str, str] = {}

    def begin(self) -> None:
        """Begin as soon as no other process listens."""
        if self._names and self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Listen no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        make_private(self._lock.parent)
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _hold(handle):  # noqa: ASYNC110  (another process holds it)
                await asyncio.sleep(LOOK_SECONDS)
            await asyncio.gather(*(self._listen(name) for name in self._names))
        finally:
            os.close(handle)

    async def _listen(self, name: str) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._find(name).listen(self._hear)
                return
            except ConfigError as error:
                self._report(name, error)
                return
            # The edge of an adapter: whatever breaks in one is logged, told by the doctor, and tried again.
            except Exception as error:  # noqa: BLE001
                self._report(name, error)
            if asyncio.get_running_loop().time() - began > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _report(self, name: str, error: Exception) -> None:
        words = self._mask(f"{type(error).__name__}: {error}")
        self.troubles[name] = words
        log.warning("%s hears nothing: %s", name, words)


def _hold(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

"""Listen at every platform that ship.json names, in one process at a time."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from shipmate.delivery.adapter import Adapter, Hear
from shipmate.errors import ConfigError
from shipmate.orchestrator.keeper.port import Lead
from shipmate.values.message import timestamp
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
# How often a process looks whether the one that listens is gone.
LOOK_SECONDS = 2.0
# After so long without trouble a platform counts as reached, though nobody has said anything there.
SETTLED_SECONDS = 30.0
log = logging.getLogger(__name__)

# `elsewhere` is a platform at which another process listens, `off` one at which none was asked to.
HearingState: TypeAlias = Literal["listening", "trouble", "elsewhere", "off"]


class Hearing(msgspec.Struct, kw_only=True):
    """How it stands with one platform, as far as this process knows."""

    state: HearingState = "off"
    # Since when it stands so.
    since: str = ""
    # What went wrong last, while it does not work.
    trouble: str = ""
    last_event_at: str | None = None
    # When the present attempt began, by the monotonic clock; None between attempts.
    began: float | None = None

    def change(self, state: HearingState, trouble: str = "") -> None:
        """Take over another state; what it was already is so since then."""
        if state != self.state:
            self.state, self.since = state, timestamp()
        self.trouble = trouble


class Listening:
    """The listening of one process: it begins when no other listens, and ends with `close`."""

    def __init__(
        self,
        layout: Layout,
        names: Iterable[str],
        find: Callable[[str], Adapter],
        hear: Hear,
        mask: Callable[[str], str],
        lead: Lead | None = None,
    ) -> None:
        self._lock = layout.people.with_name("listening.lock")
        self._names = sorted(names)
        self._find = find
        self._hear = hear
        self._mask = mask
        # Begins some work where no other process of a fleet does it; one for each platform.
        self._lead = lead
        self._task: asyncio.Task[None] | None = None
        self._hearings = {name: Hearing() for name in self._names}

    def begin(self) -> None:
        """Begin as soon as no other process listens."""
        if self._lead is not None:
            for name, hearing in self._hearings.items():
                hearing.change("elsewhere")
                self._lead(f"listening {name}", partial(self._listen, name))
        elif self._names and self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Listen no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def look(self, name: str) -> Hearing:
        """Return how it stands with a platform."""
        hearing = self._hearings.get(name) or Hearing()
        if hearing.began is not None and time.monotonic() - hearing.began > SETTLED_SECONDS:
            hearing.change("listening")
        return hearing

    def note(self, name: str) -> None:
        """Hear that something came from a platform."""
        if hearing := self._hearings.get(name):
            hearing.last_event_at = timestamp()
            hearing.change("listening")

    async def _run(self) -> None:
        make_private(self._lock.parent)
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _hold(handle):
                for hearing in self._hearings.values():
                    hearing.change("elsewhere")
                await asyncio.sleep(LOOK_SECONDS)
            await asyncio.gather(*(self._listen(name) for name in self._names))
        finally:
            os.close(handle)

    async def _listen(self, name: str) -> None:
        pause, hearing = FIRST_PAUSE_SECONDS, self._hearings[name]
        while True:
            began = hearing.began = time.monotonic()
            if hearing.state != "trouble":
                hearing.change("listening")
            try:
                await self._find(name).listen(self._hear)
                return
            except ConfigError as error:
                self._report(name, error)
                return
            # The edge of an adapter: whatever breaks in one is logged, told by the doctor, and tried again.
            except Exception as error:  # noqa: BLE001
                self._report(name, error)
            if time.monotonic() - began > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _report(self, name: str, error: Exception) -> None:
        words = self._mask(f"{type(error).__name__}: {error}")
        self._hearings[name].began = None
        self._hearings[name].change("trouble", words)
        log.warning("%s hears nothing: %s", name, words)


def _hold(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

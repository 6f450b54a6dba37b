"""What people and the process want of a run while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Control:
    """The wishes of people and of the process for one run, through all messages it works on."""

    def __init__(self) -> None:
        # Set by a person: `stop` ends the run where it is, `steer` at the end of its step.
        self.stop_asked = False
        self.steer_asked = False
        # Set when the process leaves: nothing that acts begins any more.
        self.leave_asked = False
        # Set while nothing acts: only then can the run be cut off without leaving anything in doubt.
        self.is_quiet = asyncio.Event()
        self.is_quiet.set()
        self._acting = 0

    @asynccontextmanager
    async def acting(self) -> AsyncGenerator[None]:
        """Hold the run together while a call acts, until its result is on disk."""
        if self.leave_asked:
            # The process leaves as soon as nothing acts; the next keeper makes this call.
            await asyncio.get_running_loop().create_future()
        self._acting += 1
        self.is_quiet.clear()
        try:
            yield
        finally:
            self._acting -= 1
            if not self._acting:
                self.is_quiet.set()

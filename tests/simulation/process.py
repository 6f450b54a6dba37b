"""One simulated process: a composition of its own over the shared volume, until it ends or is killed."""

from __future__ import annotations

import asyncio
import contextvars
import traceback
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from shipmate.app import Shipmate
from shipmate.errors import ShipmateError
from tests.simulation.disk import SimDisk
from tests.simulation.loop import OWNER
from tests.simulation.socket import SimSocket

if TYPE_CHECKING:
    from tests.simulation.world import World


class KilledError(BaseException):
    """The process is dead; nothing of it has any effect from here on."""


class Process:
    """A process of the workspace: a server, a terminal, a program."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.is_dead = False
        self.is_halted = False
        # Told to leave: it takes nothing new.
        self.is_leaving = False
        # It came for one question, and is asked for nothing else.
        self.is_asking = False
        self.opened = asyncio.Event()
        self.calls = 0
        self.kill_at: int | None = None
        self.context = contextvars.copy_context()
        self.context.run(OWNER.set, self)
        self.disk = SimDisk(world.volume, world.locks, self._before)
        self.socket = SimSocket(self, world.harbour, ignores_lock=world.ignores_lock)
        self.ship: Shipmate | None = None
        self._tasks: list[asyncio.Task[Any]] = []

    @property
    def is_ready(self) -> bool:
        """Tell whether it can be asked for something."""
        is_free = not self.is_leaving and not self.is_asking and not self.is_halted
        return self.ship is not None and not self.is_dead and is_free

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something as a part of this process."""
        task = self.world.loop.create_task(self._guard(work), context=self.context.copy())
        # Held: whatever is dropped by a kill must not come to its `finally` while the seed still runs.
        self._tasks.append(task)
        return task

    async def _guard(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do some work; whatever it raises that is no word to people is a bug."""
        try:
            return await work
        except ShipmateError as error:
            self.world.note(f"{self.number}: {error}")
        except (KilledError, asyncio.CancelledError):
            raise
        except Exception as error:
            self.world.outside.troubles.append("".join(traceback.format_exception(error)))

    async def open(self) -> None:
        """Compose the workspace and take part in keeping it."""
        try:
            self.ship = await self.world.compose(self)
            self.opened.set()
        finally:
            if self.ship is None:
                # It could not begin, said why, and ends.
                self.kill()

    async def leave(self, *, finish: bool) -> None:
        """End as a person would end it."""
        self.is_leaving = True
        if self.ship is not None:
            await self.ship.close(finish=finish)
        self.kill()

    def check(self) -> None:
        """Raise when the process is dead."""
        if self.is_dead:
            raise KilledError

    def kill(self) -> None:
        """End at once, as the system ends a process: files closed, locks free, links cut."""
        if self.is_dead:
            return
        self.is_dead = True
        self.disk.end()
        self.socket.end()
        self.world.close_index(self)

    def _before(self, call: str, path: str) -> None:
        self.check()
        self.calls += 1
        if self.calls == self.kill_at:
            self.world.note(f"{self.number} is killed before {call} {path}")
            self.kill()
        self.world.before(self, call, path)
        self.check()

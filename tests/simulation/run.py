"""Run seeds."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import sqlite3
import sys
import traceback
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FunctionType

from shipmate.store.sqlite.database import Database
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from tests.simulation.check import Check
from tests.simulation.clock import installed
from tests.simulation.platform import CHATS, has_chats
from tests.simulation.story import Story
from tests.simulation.world import World, make_workspace

# In memory where there is such a place: the index is a real file.
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path("/tmp")


@dataclass(slots=True)
class Result:
    """What became of one seed."""

    seed: int
    troubles: list[str]
    told: list[str] = field(default_factory=list[str])
    calls: int = 0
    steps: int = 0
    digest: str = ""


class Runner:
    """Runs seeds one after the other, in a folder of its own."""

    def __init__(self) -> None:
        # Its length is always the same, so that no seed depends on it.
        if isinstance(vars(Layout)["thread"], FunctionType):
            remember_paths()
        self._layout = make_workspace(MEMORY / f"shipmate-simulation-{os.getpid():08d}")
        self._loaded = load_config(self._layout, {})
        (self._layout.config).write_text(CHATS)
        self._chats = load_config(self._layout, {})
        self._count = 0
        Database(self._layout).close()
        with sqlite3.connect(self._layout.state) as connection:
            connection.execute("DELETE FROM meta WHERE name = 'boot'")
        connection.close()
        self._blank = self._layout.state.read_bytes()
        shutil.rmtree(self._layout.ship)
        gc.collect()
        gc.freeze()

    def run(self, seed: int, *, tells: bool = False) -> Result:
        """Run one seed and check it."""
        world = World(seed, self._layout, self._chats if has_chats(seed) else self._loaded, self._blank)
        world.tells = tells
        gc.disable()
        troubles: list[str] = []
        asyncio.set_event_loop(world.loop)
        try:
            with installed(world.clock, world.chance, world.pid, lambda: f"start {world.starts}"):
                try:
                    story = Story(world)
                    world.loop.run_until_complete(story.unfold())
                    troubles = list(Check(world).troubles())
                    if seed % 2 == 0 and not troubles:
                        troubles += world.loop.run_until_complete(world.check_index())
                except Exception as error:
                    troubles = [*world.outside.troubles, "".join(traceback.format_exception(error))]
        finally:
            self._end(world)
        return Result(seed, troubles, world.told, world.calls, world.loop.steps, world.digest)

    def _end(self, world: World) -> None:
        world.end()
        world.loop.close()
        asyncio.set_event_loop(None)
        self._count += 1
        if self._count % 20 == 0:
            gc.collect()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._layout.root, ignore_errors=True)


def remember_paths() -> None:
    """Build each path of the workspace once: nothing takes as long."""
    for name, member in list(vars(Layout).items()):
        if isinstance(member, property) and member.fget is not None:
            setattr(Layout, name, property(lru_cache(64)(member.fget)))
    for name in ("thread", "thread_bin", "thread_lock", "sidecar", "mark", "approval"):
        setattr(Layout, name, lru_cache(10_000)(getattr(Layout, name)))


def silence() -> None:
    """Keep the product's log to itself: trouble is what seeds are made of.

    What a kill dropped comes to its `finally` once a seed is over, and can do nothing there any more; the
    complaints of Python about that are of no use either.
    """
    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _: None
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)

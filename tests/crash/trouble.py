"""Make trouble by plan: signals to any process, and a `state.db` that is lost, damaged or older."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import signal
from pathlib import Path

from shipmate.workspace.layout import Layout
from tests.crash.record import Record
from tests.support.fork_server import ForkServer, Started

SIGNALS = {signal.SIGKILL: 6, signal.SIGTERM: 2, signal.SIGSTOP: 2}
# How long a halted process stays halted at most.
HALT_SECONDS = 1.0
SPOIL_CHANCE = 0.25


class Trouble:
    """What happens to the processes of one workspace."""

    def __init__(self, layout: Layout, forks: ForkServer, record: Record, chance: random.Random) -> None:
        self._layout = layout
        self._forks = forks
        self._record = record
        self._chance = chance
        self._copies = forks_folder(layout)
        self._halted: list[asyncio.Task[None]] = []

    async def make(self, count: int) -> None:
        """Send so many signals, each a moment after the last; spoil the index now and then."""
        while sum(self._record.counts[number.name] for number in SIGNALS) < count:
            await asyncio.sleep(self._chance.uniform(0.02, 0.7))
            if (victim := self._victim()) is None:
                continue
            number = self._chance.choices(list(SIGNALS), list(SIGNALS.values()))[0]
            self._record.counts[number.name] += 1
            self._record.counts["at the keeper"] += victim.pid == self.keeper()
            victim.signal(number)
            if number == signal.SIGSTOP:
                self._halted.append(asyncio.create_task(self._wake(victim)))
            if self._chance.random() < SPOIL_CHANCE:
                self._spoil()
        await asyncio.gather(*self._halted)

    def keeper(self) -> int | None:
        """Return the process that keeps the workspace, as its lock says."""
        try:
            pid = int(self._layout.keeper_lock.read_text())
        except (OSError, ValueError):
            return None
        self._record.keepers.add(pid)
        return pid

    def _victim(self) -> Started | None:
        living = [each for each in self._forks.started if not each.ended.is_set() and not each.is_doomed]
        keeper = self.keeper()
        keeping = [each for each in living if each.pid == keeper]
        if keeping and self._chance.random() < 0.5:
            return keeping[0]
        return self._chance.choice(living) if living else None

    async def _wake(self, victim: Started) -> None:
        await asyncio.sleep(self._chance.uniform(0.02, HALT_SECONDS))
        victim.signal(signal.SIGCONT)

    def _spoil(self) -> None:
        """Lose, damage, keep a copy of, or go back to a copy of `state.db`."""
        database, copy = self._layout.state, self._copies / "state.db"
        way = self._chance.choice(("lost", "overwritten", "replaced by rubbish", "copied", "rolled back"))
        rubbish = self._chance.randbytes(self._chance.choice((0, 10, 5000)))
        with contextlib.suppress(FileNotFoundError):
            match way:
                case "lost":
                    database.unlink()
                case "overwritten":
                    with database.open("r+b") as file:
                        file.write(rubbish)
                case "replaced by rubbish":
                    (self._copies / "rubbish").write_bytes(rubbish)
                    (self._copies / "rubbish").replace(database)
                case "copied":
                    shutil.copyfile(database, copy)
                case _:
                    shutil.copyfile(copy, self._copies / "older")
                    (self._copies / "older").replace(database)
            self._record.counts[f"index {way}"] += 1


def forks_folder(layout: Layout) -> Path:
    """Return a folder beside the workspace, on the same disk."""
    folder = layout.root.with_name("beside")
    folder.mkdir(exist_ok=True)
    return folder

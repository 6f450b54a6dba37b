"""What happens in one seed: people and misfortunes in any order, then quiet."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulation.outside import Said
from tests.simulation.person import People
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

PAUSES = (0.0, 0.0, 0.005, 0.02, 0.1, 0.3, 0.7, 3.0)
# How long, in simulated time, everything may take to come to rest once all is well.
PATIENCE = 200
# Seeds that found something before there were courses in the stories.
BEFORE_COURSES = frozenset(
    int(line.split()[0])
    for line in (Path(__file__).parent / "seeds.txt").read_text().splitlines()
    if line[:1].isdigit() and "(courses)" not in line
)


class Story:
    """A seeded course of events."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = world.chance
        self.people = People(world, self._chance.choice((1, 1, 2, 3)))
        self._length = self._chance.choice((6, 10, 15, 25))
        # A clock that is set back can make a word look later than a question it came before.
        self._says_yes = self._chance.random() < 0.5
        # Chosen aside, so that seeds which found something before there were courses are as they were.
        notes = random.Random(f"notes of {world.seed}").random()
        self._takes_notes = world.seed not in BEFORE_COURSES and notes < 0.5
        # Some seeds have no misfortunes of a kind, others many.
        self._harm = self._chance.choice((0.0, 0.15, 0.3, 0.45))
        self._done = 0

    async def unfold(self) -> None:
        """Let everything happen, then let it come to rest."""
        world = self._world
        world.is_rough = self._harm > 0
        world.is_deadly = world.is_rough and self._chance.random() < 0.05
        world.join()
        for _ in range(self._length):
            await asyncio.sleep(self._chance.choice(PAUSES))
            world.bury()
            if len(world.processes) < 4 and self._chance.random() < 0.05:
                self._ask_once()
            if len(world.processes) < 3 and (not world.processes or self._chance.random() < 0.25):
                world.join()
            if self._chance.random() < self._harm:
                self._harm_something()
            else:
                self._do_something()
        await self._rest()

    def _ask_once(self) -> None:
        """Let a process come, ask one thing, wait for its answer and go."""
        process = self._world.join(is_asking=True)
        process.start(self._ask(process))

    async def _ask(self, process: Process) -> None:
        await process.opened.wait()
        await asyncio.wait({self.people.write(process)})
        await process.leave(finish=True)

    def _do_something(self) -> None:
        ready = self._world.alive
        if not ready:
            return
        people, process = self.people, self._chance.choice(ready)
        deeds: tuple[tuple[Callable[[Process], object], int], ...] = (
            (people.write, 8),
            (people.repeat, 3),
            (people.answer, 6),
            (people.press_all, 1),
            (people.say_yes, 3 * self._says_yes),
            (people.retry, 1),
            (people.withdraw, 1),
            (people.stop, 2),
            (people.watch, 4),
            (people.rename, 1),
            (people.bin, 1),
            *(((people.open_course, 3), (people.pin, 3)) if self._takes_notes else ()),
        )
        doing = self._chance.choices([deed for deed, _ in deeds], [weight for _, weight in deeds])[0]
        doing(process)

    def _harm_something(self) -> None:
        harms = (
            self._kill_soon,
            self._kill_soon,
            self._kill_soon,
            self._kill_now,
            self._kill_now,
            self._leave,
            self._cut_power,
            self._cut_power,
            self._fill_disk,
            self._break_disk,
            self._jump,
            self._lose_index,
            self._halt,
        )
        self._chance.choice(harms)()

    def _kill_soon(self) -> None:
        if self._world.processes:
            process = self._chance.choice(self._world.processes)
            process.kill_at = process.calls + self._chance.choice((1, 3, 10, 30, 100))

    def _kill_now(self) -> None:
        if self._world.processes:
            process = self._chance.choice(self._world.processes)
            self._world.note(f"{process.number} is killed")
            process.kill()

    def _leave(self) -> None:
        if self._world.alive:
            process = self._chance.choice(self._world.alive)
            self._world.note(f"{process.number} leaves")
            process.is_leaving = True
            process.start(process.leave(finish=self._chance.random() < 0.3))

    def _cut_power(self) -> None:
        self._world.cut_at = self._world.calls + self._chance.choice((1, 5, 20, 80))

    def _fill_disk(self) -> None:
        self._world.volume.weather.is_full = True
        self._world.note("the disk is full")
        self._later(self._clear)

    def _break_disk(self) -> None:
        self._world.volume.weather.trouble = self._chance.choice((0.01, 0.05, 0.3))
        self._world.volume.weather.short = self._chance.choice((0.0, 0.3))
        self._world.has_failed = True
        self._world.note("the disk has trouble")
        self._later(self._clear)

    def _clear(self) -> None:
        weather = self._world.volume.weather
        weather.is_full, weather.trouble, weather.short = False, 0.0, 0.0

    def _later(self, do: Callable[[], None]) -> None:
        self._world.loop.call_later(self._chance.choice((0.05, 0.5, 5.0)), do)

    def _jump(self) -> None:
        seconds = self._chance.choice((-7200, -60, -0.5, 0.5, 60, 7200))
        self._world.clock.jump(abs(seconds) if self._says_yes else seconds)

    def _lose_index(self) -> None:
        if self._chance.random() < 0.5:
            self._world.keep_index()
        else:
            self._world.lose_index()

    def _halt(self) -> None:
        """Halt a process for a while, as SIGSTOP does: it holds what it holds."""
        if self._world.processes:
            process = self._chance.choice(self._world.processes)
            self._world.note(f"{process.number} is halted")
            process.is_halted = True
            self._world.loop.call_later(self._chance.choice((0.2, 2.0, 40.0)), self._go_on, process)

    def _go_on(self, process: Process) -> None:
        process.is_halted = False
        self._world.loop.release()

    async def _rest(self) -> None:
        """Make all well, answer what waits, wait until nothing is left to do; then say all of it again."""
        world = self._world
        world.note("all is well from here on")
        self._clear()
        world.is_rough, world.cut_at = False, None
        # Whoever asks the model dies of it, for a while yet.
        world.deaths = 8 if world.is_deadly else 0
        for process in world.processes:
            process.kill_at, process.is_halted = None, False
        world.loop.release()
        said = world.outside.said
        if await self._settle([each for each in said.values() if not each.is_acknowledged]):
            world.note("everything is said again")
            before = len(world.outside.acts)
            known = [each for each in said.values() if each.is_acknowledged and not each.is_withdrawn]
            await self._settle(known)
            if any(act.tool != "look" for act in world.outside.acts[before:]):
                world.outside.troubles.append(f"said again, it acted again: {world.outside.acts[before:]}")

    async def _settle(self, unsure: list[Said]) -> bool:
        """Say what may not have been heard, answer what is asked, and wait until nothing is left to do."""
        world = self._world
        for _ in range(PATIENCE):
            world.bury()
            if not any(not each.is_leaving and not each.is_asking for each in world.processes):
                world.join()
            await asyncio.sleep(1.0)
            if not world.alive:
                continue
            process = self._chance.choice(world.alive)
            while unsure and self._chance.random() < 0.8:
                self.people.hand_over(process, unsure.pop())
            waiting = [each for each in world.approvals() if each.is_open]
            for approval in waiting:
                self.people.press(process, approval, approved=self._chance.random() < 0.7)
            if not waiting and not unsure and await self._is_quiet(process):
                return True
        world.outside.troubles.append("it never came to rest")
        return False

    async def _is_quiet(self, process: Process) -> bool:
        keeper = process.ship.keeper if process.ship else None
        if (
            keeper is None
            or self.people.is_waiting
            or any(keeper.running(each) for each in self.people.threads)
        ):
            return False
        task = process.start(_open_rows(process, self.people.threads))
        return not await task and not self._world.unsent()


async def _open_rows(process: Process, threads: tuple[str, ...]) -> int:
    assert process.ship is not None
    return sum([len(await process.ship.keeper.queue(each)) for each in threads])

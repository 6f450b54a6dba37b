"""The simulated loop: a seed gives one order, time passes without waiting, the dead do nothing."""

from __future__ import annotations

import asyncio
import contextvars
import random
from dataclasses import dataclass

import pytest

from tests.simulation.loop import OWNER, SimLoop, StuckError


@dataclass
class Somebody:
    is_dead: bool = False
    is_halted: bool = False


def run(seed: int) -> list[str]:
    told: list[str] = []

    async def speak(name: str) -> None:
        for number in range(3):
            told.append(f"{name}{number}")
            await asyncio.sleep(0)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        tasks: list[asyncio.Task[None]] = []
        for name in "abc":
            context = contextvars.copy_context()
            context.run(OWNER.set, Somebody())
            tasks.append(loop.create_task(speak(name), context=context))
        await asyncio.gather(*tasks)

    loop = SimLoop(random.Random(seed))
    loop.run_until_complete(main())
    loop.close()
    return told


def test_the_seed_alone_chooses_the_order() -> None:
    orders = {tuple(run(seed)) for seed in range(20)}
    assert len(orders) > 5
    assert run(3) == run(3)


def test_hours_pass_at_once() -> None:
    loop = SimLoop(random.Random(1))
    loop.run_until_complete(asyncio.sleep(3600))
    assert loop.time() >= 3600
    loop.close()


def test_what_runs_in_a_thread_runs_here() -> None:
    loop = SimLoop(random.Random(1))
    assert loop.run_until_complete(asyncio.to_thread(lambda: 7)) == 7
    loop.close()


def test_the_dead_do_nothing_more() -> None:
    loop = SimLoop(random.Random(1))
    somebody, told = Somebody(), list[int]()

    async def speak() -> None:
        for number in range(10):
            told.append(number)
            await asyncio.sleep(1)

    async def main() -> None:
        context = contextvars.copy_context()
        context.run(OWNER.set, somebody)
        task = loop.create_task(speak(), context=context)
        await asyncio.sleep(2.5)
        somebody.is_dead = True
        await asyncio.sleep(5)
        assert not task.done()
        somebody.is_dead = False
        task.cancel()

    loop.run_until_complete(main())
    assert told == [0, 1, 2]
    loop.close()


def test_waiting_for_nothing_is_told() -> None:
    loop = SimLoop(random.Random(1))
    with pytest.raises(StuckError):
        loop.run_until_complete(loop.create_future())
    loop.close()

"""Take the first turn of a process; prints the milliseconds it takes, and those of them that are ours."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from bench.turn import Echo
from shipmate.app import Shipmate
from shipmate.values.event import TextEvent
from shipmate.values.message import new_id, timestamp


async def first_turn(folder: Path) -> tuple[float, float]:
    """Return what opening a workspace and the first turn take: by the clock, and of the processor."""
    began, busy = time.perf_counter(), time.process_time()
    async with Shipmate.open(folder, model=Echo(), environ={}) as ship:
        event = TextEvent(
            platform="cli",
            thread_id=f"cli:dm:{new_id('t')}",
            user_id="ann",
            message_id=new_id("e"),
            timestamp=timestamp(),
            text="ping",
        )
        outcome = await (await ship.receive(event)).outcome()
        assert outcome.status == "replied", outcome
        return (time.perf_counter() - began) * 1000, (time.process_time() - busy) * 1000


if __name__ == "__main__":
    print(*asyncio.run(first_turn(Path(sys.argv[1]))))

"""A thread that lives long: a turn at 100,000 messages, 200 courses; `python -m bench.soak` writes them.

The long proof takes minutes: one process writes 100,000 messages, turn by turn, in courses of 500, and tells
how its memory, its open files and the time of a turn grew.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.turn import Echo, history, open_app, run_turn
from shipmate.app import Shipmate
from shipmate.thread.log import FileLog
from shipmate.values.event import CourseEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import ThreadId

MESSAGES = 100_000
COURSES = 200
TURNS = 60
THREAD = ThreadId("cli", "dm", "ann")
# A process that has worked for a while: what it fills once is filled.
WARM_TURNS = 2_000


def measure() -> list[dict[str, Any]]:
    """Compare a turn in a long thread with one at 100 messages; the current course has 100 in both."""
    short, long = (asyncio.run(_turn_at(size)) for size in (100, MESSAGES))
    name = f"turn at {MESSAGES:,} messages, {COURSES} courses"
    return [
        {"name": "turn at 100 messages, CPU, p50", "value": short, "unit": "ms", "bar": None},
        {"name": f"{name}, CPU, p50", "value": long, "unit": "ms", "bar": None},
        {"name": f"{name}, against 100", "value": long / short, "unit": "x", "bar": "<= 1.25"},
    ]


async def _turn_at(size: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        app = await open_app(Path(folder), Echo())
        rows = history(size)
        closed = size - 100
        for place, row in enumerate(rows):
            course = place * (COURSES - 1) // closed + 1 if place < closed else COURSES
            row["metadata"] = {**row.get("metadata", {}), "course": course if closed else 1}
        await FileLog(app.layout).append(THREAD, rows)
        spent: list[float] = []
        for _ in range(TURNS):
            began = time.process_time()
            await run_turn(app, str(THREAD))
            spent.append((time.process_time() - began) * 1000)
        await app.close()
    return statistics.median(spent[5:])


async def soak(folder: Path, messages: int) -> dict[str, Any]:
    """Write messages turn by turn; tell memory, open files and time of a turn, warm and at the end."""
    app = await open_app(folder, Echo())
    spent: list[float] = []
    warm: tuple[float, int] | None = None
    for turn in range(messages // 2):
        if turn and turn % (messages // COURSES // 2) == 0:
            await _open_course(app)
        began = time.process_time()
        await run_turn(app, str(THREAD))
        spent.append((time.process_time() - began) * 1000)
        if turn == min(WARM_TURNS, messages // 4):
            warm = _look()
        if turn % 5_000 == 4_999:
            print(f"  {turn + 1:,} turns, {_look()}", file=sys.stderr, flush=True)
    assert warm is not None
    memory, files = _look()
    await app.close()
    tenth = len(spent) // 10
    return {
        "messages": messages,
        "memoryGrowthMb": round(memory - warm[0], 1),
        "openFiles": [warm[1], files],
        "turnMs": [
            round(statistics.median(spent[tenth : 2 * tenth]), 2),
            round(statistics.median(spent[-tenth:]), 2),
        ],
    }


async def _open_course(app: Shipmate) -> None:
    event = CourseEvent(
        platform="cli", thread_id=str(THREAD), user_id="ann", message_id=new_id("e"), timestamp=timestamp()
    )
    await (await app.receive(event)).outcome()


def _look() -> tuple[float, int]:
    """Return this process's memory in MB, and how many files it has open."""
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(resident.split()[1]) / 1024, len(list(Path("/proc/self/fd").iterdir()))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(asyncio.run(soak(Path(place), wanted))))

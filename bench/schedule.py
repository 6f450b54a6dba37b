"""What tasks cost a keeper that has nothing to do, and how soon thousands of them are read."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.schedule.overview import list_tasks
from shipmate.schedule.task import write_task
from shipmate.schedule.task_folder import TaskFolder
from shipmate.store.journal.occurrence import JournalOccurrences
from shipmate.workspace.disk.disk import DISK

TASKS = 10_000
IDLE_SECONDS = 12.0
RULES = ("0 9 * * 1-5", "30 3 1 * *", "15 */6 * * *", "0 0 29 2 *", "@manual")


def measure() -> list[dict[str, Any]]:
    """Measure an idle keeper without tasks and with thousands."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text("# Bench\n")
        return asyncio.run(_measure(root))


async def _measure(root: Path) -> list[dict[str, Any]]:
    async with Shipmate.open(root, environ={}) as ship:
        # What begins with a process is over.
        await asyncio.sleep(3)
        bare = await _idle()
        _write(root / ".ship/tasks")
        began, cpu = time.perf_counter(), time.process_time()
        # A task is read once the journal says from when on its times count.
        while any(  # noqa: ASYNC110  (the keeper has nobody to tell)
            not ship.occurrences.record(f"task-{place}").digest for place in (0, TASKS - 1, TASKS // 2)
        ):
            await asyncio.sleep(0.05)
        read, read_cpu = time.perf_counter() - began, time.process_time() - cpu
        await asyncio.sleep(3)
        full = await _idle()
        began = time.perf_counter()
        found = list_tasks(TaskFolder(ship.layout), JournalOccurrences(ship.layout, DISK))
        listed = time.perf_counter() - began
    assert len(found) == TASKS
    return [
        {
            "name": f"{TASKS:,} tasks: CPU of an idle keeper a second",
            "value": max(0.0, full - bare) * 1000,
            "unit": "ms",
            "bar": "<= 1",
        },
        {"name": "the same keeper without a task", "value": bare * 1000, "unit": "ms"},
        {"name": f"{TASKS:,} new tasks are read and planned", "value": read, "unit": "s"},
        {"name": f"{TASKS:,} new tasks are read and planned, CPU", "value": read_cpu, "unit": "s"},
        {"name": f"{TASKS:,} tasks are listed with their next times", "value": listed, "unit": "s"},
    ]


def _write(folder: Path) -> None:
    folder.mkdir(parents=True)
    for place in range(TASKS):
        text = write_task(title=f"Task {place}", when=RULES[place % len(RULES)], prompt="Do it.")
        (folder / f"task-{place}.md").write_text(text)


async def _idle() -> float:
    """Return the CPU seconds that a second of idling takes."""
    cpu = time.process_time()
    await asyncio.sleep(IDLE_SECONDS)
    return (time.process_time() - cpu) / IDLE_SECONDS

"""Rebuild the index of 10,000 threads with 1,000,000 messages in the background, while lists are asked for.

SHIPMATE_BENCH_THREADS=200 makes it small.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.store.file_store import FileStore, open_store
from shipmate.thread.row import encode_row
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

THREADS = int(os.environ.get("SHIPMATE_BENCH_THREADS") or 10_000)
MESSAGES = 100
ASK_EVERY = 0.05
WORDS = ("部署", "服务器", "天气", "会议", "deploy", "server", "weather", "meeting", "report", "approve")


def measure() -> list[dict[str, Any]]:
    """Time the rebuild in a process of its own, so that its memory is told too."""
    with tempfile.TemporaryDirectory() as folder:
        make(Layout(Path(folder)))
        child = subprocess.run(
            [sys.executable, "-m", "bench.index", folder], capture_output=True, text=True, check=True
        )
    found = json.loads(child.stdout)
    size = f"{THREADS:,} threads, {THREADS * MESSAGES:,} messages"
    return [
        {"name": f"rebuild the index, {size}", "value": found["seconds"], "unit": "s"},
        {"name": "time of the processor for it and the lists", "value": found["processor"], "unit": "s"},
        {"name": "messages a second", "value": THREADS * MESSAGES / found["seconds"], "unit": "/s"},
        {"name": "memory at its peak", "value": found["megabytes"], "unit": "MB"},
        {"name": "a list asked for meanwhile, median", "value": found["median"], "unit": "ms"},
        {"name": "a list asked for meanwhile, slowest", "value": found["slowest"], "unit": "ms"},
        {"name": "compare it again, nothing changed", "value": found["again"], "unit": "s"},
        {"name": "the index on disk", "value": found["disk"], "unit": "MB"},
    ]


def make(layout: Layout) -> None:
    """Write the files of a busy workspace."""
    chance = random.Random(7)
    layout.threads.mkdir(parents=True)
    for number in range(THREADS):
        at = f"2026-01-{number % 28 + 1:02d}T00:00:00.000Z"
        rows = (
            user_message(f"m{place}", " ".join(chance.choices(WORDS, k=12)), {"timestamp": at})
            for place in range(MESSAGES)
        )
        layout.thread(ThreadId("web", "room", str(number))).write_bytes(b"".join(map(encode_row, rows)))


async def rebuild(layout: Layout) -> dict[str, float]:
    """Rebuild, asking for a list every now and then."""
    store = open_store(layout)
    began, used = time.perf_counter(), time.process_time()
    task = asyncio.create_task(store.reconcile())
    spent = [await ask(store)]
    while not task.done():
        await asyncio.wait({task}, timeout=ASK_EVERY)
        spent.append(await ask(store))
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    found = task.result()
    assert (found.threads, found.messages) == (THREADS, THREADS * MESSAGES)
    began = time.perf_counter()
    assert (await store.reconcile()).changed == 0
    again = time.perf_counter() - began
    await store.close()
    return {
        "seconds": seconds,
        "processor": processor,
        "again": again,
        "median": statistics.median(spent[1:]) if len(spent) > 1 else spent[0],
        "slowest": max(spent[1:], default=spent[0]),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "disk": layout.state.stat().st_size / 1e6,
    }


async def ask(store: FileStore) -> float:
    """Return how long a list takes, in milliseconds."""
    began = time.perf_counter()
    await store.threads.find("web:room:0")
    await store.threads.list(limit=50)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    print(json.dumps(asyncio.run(rebuild(Layout(Path(sys.argv[1]))))))

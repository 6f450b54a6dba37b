"""Measure load and memory in a process of their own; prints rows as one line of JSON."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.turn import Echo, open_app
from shipmate.app import Shipmate
from shipmate.values.event import TextEvent
from shipmate.values.message import new_id, timestamp

THREADS = 50
TURNS_EACH = 6


async def load(url: str) -> list[dict[str, Any]]:
    """Drive fresh threads one by one, then 50 at once, through a real HTTP model server on loopback."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"provider": "openai-compatible", "model": "fake", "baseUrl": f"{url}/v1", "apiKey": "k"}
        (Path(folder) / "ship.json").write_text(json.dumps({"llm": settings}))
        app = await open_app(Path(folder))
        await _ask(app, "cli:dm:warm")
        spent = [await _timed(app, f"cli:dm:fresh-{number}") for number in range(30)]
        rate = await _rate(app)
        await app.close()
    with tempfile.TemporaryDirectory() as folder:
        app = await open_app(Path(folder), Echo())
        await _ask(app, "cli:dm:warm")
        own = await _rate(app)
        await app.close()
    return [
        {
            "name": "turn, fresh thread, over HTTP to the model, p50",
            "value": statistics.median(spent),
            "unit": "ms",
        },
        {"name": "50 threads at once, model in process", "value": own, "unit": "turns/s"},
        {
            "name": "50 threads at once over HTTP to the model",
            "value": rate,
            "unit": "turns/s",
            "bar": ">= 100",
        },
    ]


async def _rate(app: Shipmate) -> float:
    began = time.perf_counter()
    await asyncio.gather(*(_talk(app, f"cli:dm:{number}") for number in range(THREADS)))
    return THREADS * TURNS_EACH / (time.perf_counter() - began)


async def _timed(app: Shipmate, thread_id: str) -> float:
    began = time.perf_counter()
    await _ask(app, thread_id)
    return (time.perf_counter() - began) * 1000


async def _talk(app: Shipmate, thread_id: str) -> None:
    for _ in range(TURNS_EACH):
        await _ask(app, thread_id)


async def _ask(app: Shipmate, thread_id: str) -> None:
    event = TextEvent(
        platform="cli",
        thread_id=thread_id,
        user_id="a",
        message_id=new_id("e"),
        timestamp=timestamp(),
        text="ping",
    )
    outcome = await (await app.receive(event)).outcome()
    assert outcome.status == "replied", outcome


async def memory() -> list[dict[str, Any]]:
    """Tell memory idle and after 1,000 threads."""
    with tempfile.TemporaryDirectory() as folder:
        app = await open_app(Path(folder), Echo())
        await _ask(app, "cli:dm:warm")
        idle = resident()
        for number in range(1000):
            await _ask(app, f"cli:dm:{number}")
        after = resident()
        await app.close()
    return [
        {"name": "memory after one turn", "value": idle, "unit": "MB", "bar": None},
        {"name": "memory after 1,000 threads", "value": after, "unit": "MB", "bar": "<= 110"},
    ]


def resident() -> float:
    """Give the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


if __name__ == "__main__":
    print(json.dumps(asyncio.run(load(sys.argv[2]) if sys.argv[1] == "load" else memory())))

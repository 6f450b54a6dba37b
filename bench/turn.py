"""The cost of a turn: start-up, overhead, throughput, memory; beside nanobot in the same run."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.peer import measure_nanobot
from shipmate.app import Shipmate
from shipmate.models.port import Finish, Model, ModelEvent, ModelRequest, TextDelta
from shipmate.thread.log import FileLog
from shipmate.values.event import TextEvent
from shipmate.values.message import UIMessage, new_id, text_part, timestamp, user_message
from shipmate.values.thread_id import ThreadId

TURNS = 60
REPOSITORY = Path(__file__).parents[1]
SHIPMATE = Path(sys.executable).with_name("shipmate")


class Echo:
    """Answer at once, so that what is left is our own cost."""

    name = "echo"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        for word in ["ten", "words", "that", "come", "back", "at", "once", "from", "the", "model"]:
            yield TextDelta(word + " ")
        yield Finish("stop")


def measure() -> list[dict[str, Any]]:
    """Measure everything once."""
    rows = [_version(), *_one_shot()]
    rows += asyncio.run(_overheads())
    rows += _in_child("memory")
    with provider() as url:
        return [*rows, *_in_child("load", url), *measure_nanobot(url)]


def _version() -> dict[str, Any]:
    spent = [_cpu([str(SHIPMATE), "--version"]) for _ in range(10)]
    return {
        "name": "shipmate --version, CPU",
        "value": statistics.median(spent),
        "unit": "s",
        "bar": "<= 0.05",
    }


def _one_shot() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Agent.md").write_text("# Captain\n")
        command = [str(SHIPMATE), "-C", folder, "ask", "ping"]
        environ = {"PATH": os.environ["PATH"], "OLLAMA_HOST": "127.0.0.1:9", "HOME": folder}
        spent = [_wall(command, environ) for _ in range(7)]
        busy = [_cpu(command, environ) for _ in range(7)]
    name = "one-shot turn offline, start to exit"
    return [
        {"name": name, "value": statistics.median(spent), "unit": "s", "bar": "<= 0.4"},
        {"name": f"{name}, CPU", "value": statistics.median(busy), "unit": "s", "bar": "<= 0.35"},
    ]


def _cpu(command: list[str], environ: dict[str, str] | None = None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wall(command: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environ)
    return time.perf_counter() - began


def _event(thread_id: str, text: str) -> TextEvent:
    return TextEvent(
        platform="cli",
        thread_id=thread_id,
        user_id="ann",
        message_id=new_id("e"),
        timestamp=timestamp(),
        text=text,
    )


async def _overheads() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    medians: list[float] = []
    for size in (0, 100, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            app = await open_app(Path(folder), Echo())
            thread_id = ThreadId("cli", "dm", "ann")
            await FileLog(app.layout).append(thread_id, history(size))
            spent = [await run_turn(app, str(thread_id)) for _ in range(TURNS)][5:]
            await app.close()
        medians.append(statistics.median(spent))
        bar = "<= 10" if size == 100 else None
        rows.append(
            {"name": f"turn overhead, {size:,} messages, p50", "value": medians[-1], "unit": "ms", "bar": bar}
        )
    ratio = medians[2] / medians[1]
    return [
        *rows,
        {"name": "turn overhead, 10,000 against 100 messages", "value": ratio, "unit": "x", "bar": "<= 2"},
    ]


async def run_turn(app: Shipmate, thread_id: str) -> float:
    """Take one turn; return its milliseconds."""
    began = time.perf_counter()
    receipt = await app.receive(_event(thread_id, "ping"))
    outcome = await receipt.outcome()
    assert outcome.status == "replied", outcome
    return (time.perf_counter() - began) * 1000


async def open_app(
    folder: Path, model: Model | None = None, environ: dict[str, str] | None = None
) -> Shipmate:
    """Open a fresh workspace."""
    (folder / "Agent.md").write_text("# Captain\n\nYou help.\n")
    return await Shipmate.open(folder, model=model, environ=environ or {})


def history(size: int) -> list[UIMessage]:
    """Make a talk of alternating messages."""
    rows: list[UIMessage] = []
    said_at = timestamp()
    for number in range(size):
        if number % 2 == 0:
            metadata = {"course": 1, "timestamp": said_at}
            rows.append(user_message(f"u{number}", f"question {number} about the ship", metadata))
        else:
            metadata = {"course": 1, "outcome": "replied", "timestamp": said_at}
            parts = [{"type": "step-start"}, text_part(f"answer {number}, at some length, about the ship")]
            rows.append({"id": f"a{number}", "role": "assistant", "metadata": metadata, "parts": parts})
    return rows


@contextmanager
def provider() -> Generator[str]:
    """Serve a model on loopback, in a process of its own; give its address."""
    command = [sys.executable, "-m", "tests.support.provider_server"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.terminate()


def _in_child(*what: str) -> list[dict[str, Any]]:
    """Measure in a process of its own, so that memory is that of the product alone."""
    command = [sys.executable, "-m", "bench.turn_child", *what]
    result = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return json.loads(result.stdout.strip().splitlines()[-1])

"""What sharing a workspace costs: attaching, a chunk on its way, and the hand-over after a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel
from shipmate.orchestrator.keeper.attached import AttachedKeeper
from shipmate.orchestrator.keeper.unix_socket import UnixSocket
from shipmate.tools.toolset import Toolset
from shipmate.values.event import TextEvent
from shipmate.values.message import timestamp
from shipmate.workspace.layout import Layout

ATTACHINGS, CHUNKS, KILLS = 50, 200, 10
ROOM = "cli:dm:bench"
REPOSITORY = Path(__file__).parents[1]


def measure() -> list[dict[str, Any]]:
    """Measure with a keeper in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text("# Bench\n")
        return asyncio.run(_measure(root))


async def _measure(root: Path) -> list[dict[str, Any]]:
    keeper = _start(root)
    try:
        attaching = [await _attach(root) for _ in range(ATTACHINGS)]
        delays = await _delays(root)
    finally:
        keeper.kill()
        keeper.wait()
    overs = [await _hand_over(root) for _ in range(KILLS)]
    return [
        {"name": "attach to the keeper, p50", "value": _ms(attaching), "unit": "ms", "bar": "<= 20"},
        {"name": "attach to the keeper, slowest", "value": max(attaching) * 1000, "unit": "ms"},
        {
            "name": "a chunk at an attached process behind the keeper's, p50",
            "value": _ms(delays),
            "unit": "ms",
        },
        {
            "name": "a chunk at an attached process behind the keeper's, p99",
            "value": statistics.quantiles(delays, n=100)[98] * 1000,
            "unit": "ms",
            "bar": "<= 10",
        },
        {"name": "hand-over after kill -9, p50", "value": statistics.median(overs), "unit": "s"},
        {"name": "hand-over after kill -9, slowest", "value": max(overs), "unit": "s", "bar": "<= 1"},
    ]


def _ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


def _start(root: Path) -> subprocess.Popen[str]:
    """Start a keeper; each of its chunks says when it was made."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.keeper_child", str(root)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def _attach(root: Path) -> float:
    """Time an attaching: from nothing to the keeper's welcome."""
    began = time.perf_counter()
    link = await UnixSocket(Layout(root)).connect()
    assert link is not None
    attached = AttachedKeeper(link)
    await attached.greet()
    spent = time.perf_counter() - began
    attached.close()
    return spent


async def _delays(root: Path) -> list[float]:
    """Collect how long after it was made each chunk arrives here."""
    found: list[float] = []
    async with _open(root) as ship, ship.keeper.watch(ROOM) as queue:
        assert not ship.keeper.keeps
        await ship.receive(_said("1"))
        while (event := await queue.get()).outcome is None:
            if event.chunk is not None and event.chunk["type"] == "text-delta":
                found += [time.time() - float(word) for word in str(event.chunk["delta"]).split()]
    return found


async def _hand_over(root: Path) -> float:
    """Time from a kill of the keeper until the attached process has its answer from itself."""
    keeper = _start(root)
    async with _open(root) as ship:
        assert not ship.keeper.keeps
        began = time.perf_counter()
        os.kill(keeper.pid, signal.SIGKILL)
        outcome = await (await ship.receive(_said(f"over-{began}"))).outcome()
        spent = time.perf_counter() - began
        assert outcome.text == "Aye."
        assert ship.keeper.keeps
    keeper.wait()
    return spent


def _open(root: Path) -> Any:
    return Shipmate.open(root, model=ScriptedModel({"": ["Aye."]}), environ={}, toolset=Toolset([]))


def _said(message_id: str) -> TextEvent:
    return TextEvent(
        platform="cli", thread_id=ROOM, user_id="ann", message_id=message_id, timestamp=timestamp(), text="go"
    )

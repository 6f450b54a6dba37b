"""What members cost a keeper: memory of fifty that have answered and wait."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.turn_child import resident
from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel
from shipmate.values.event import TextEvent
from shipmate.values.message import timestamp

MEMBERS = 50


def measure() -> list[dict[str, Any]]:
    """Measure in a process of its own, so that memory is that of the product alone."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.crew"], capture_output=True, text=True, check=True, timeout=300
    )
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


async def _measure(root: Path) -> list[dict[str, Any]]:
    for number in range(MEMBERS):
        own = root / "members" / f"m{number}"
        own.mkdir(parents=True)
        (own / "Agent.md").write_text(f"# Member {number}\n\nYou keep list {number}.\n")
    (root / "Agent.md").write_text("# Captain\n")
    async with Shipmate.open(root, model=ScriptedModel(["ok"] * (MEMBERS + 2)), environ={}) as ship:
        # What is loaded with the first turn and the second member is not a member's.
        for name in ("captain", "m0"):
            await _ask(ship, name)
        before = _settled()
        for number in range(1, MEMBERS):
            await _ask(ship, f"m{number}")
        cost = (_settled() - before) / (MEMBERS - 1)
    return [
        {"name": f"memory of each of {MEMBERS} members, idle", "value": cost, "unit": "MB", "bar": "<= 1"}
    ]


async def _ask(ship: Shipmate, member: str) -> None:
    event = TextEvent(
        platform="cli",
        thread_id=f"cli:dm:{member}",
        user_id="ann",
        message_id=f"to-{member}",
        timestamp=timestamp(),
        text="ping",
        member=member,
    )
    outcome = await (await ship.receive(event)).outcome()
    assert outcome.status == "replied", outcome.error


def _settled() -> float:
    gc.collect()
    return resident()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(_measure(Path(folder)))))

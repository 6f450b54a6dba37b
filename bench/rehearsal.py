"""Measure rehearsals: scripts whose calls and whose member's side are both answered from the script."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.priming.convert import to_records
from shipmate.priming.script.record import Script
from shipmate.priming.script.writer import write_script
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.rehearsal.service import rehearse
from shipmate.values.message import JsonObject, UIMessage
from shipmate.workspace.layout import Layout

SCRIPTS = 100
TURNS = 5
# A reading call and one that asks, in each turn.
CALLS = 2


def measure() -> list[dict[str, Any]]:
    """Return the figures of this module."""
    text = write_script(Script({"title": "bench"}, to_records(make_conversation())))
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        layout.agent.write_text("# Mate\n\nYou help aboard.\n")
        layout.shared_priming.mkdir(parents=True)
        for number in range(SCRIPTS):
            (layout.shared_priming / f"s{number}.md").write_text(text)
        began = time.perf_counter()
        asyncio.run(_rehearse(layout))
        spent = time.perf_counter() - began
    return [
        {
            "name": f"rehearse {SCRIPTS} scripts of {TURNS} turns and {TURNS * CALLS} calls from the script",
            "value": spent,
            "unit": "s",
            "bar": "<= 3",
        }
    ]


async def _rehearse(layout: Layout) -> None:
    for number in range(SCRIPTS):
        report = await rehearse(layout, f"team_shared/s{number}", Setting(model="script"))
        assert report.verdict == "same", report


def make_conversation() -> list[UIMessage]:
    """Make a thread in which each turn reads a file, writes one that was approved, and says so."""
    messages: list[UIMessage] = []
    for number in range(TURNS):
        question = {"type": "text", "text": f"Copy file {number}."}
        parts: list[JsonObject] = [
            {"type": "step-start"},
            _call("read", f"r{number}", {"path": f"{number}.md"}, "Hello.\n"),
            {"type": "step-start"},
            {
                **_call("write", f"w{number}", {"path": f"{number}.txt", "content": "Hello.\n"}, "Created."),
                "approval": {"id": f"apr_{number}", "approved": True},
            },
            {"type": "step-start"},
            {"type": "text", "text": f"Copied ({number}).", "state": "done"},
        ]
        messages.append({"id": f"u{number}", "role": "user", "parts": [question]})
        messages.append({"id": f"a{number}", "role": "assistant", "parts": parts})
    return messages


def _call(name: str, call_id: str, given: JsonObject, output: str) -> JsonObject:
    return {
        "type": f"tool-{name}",
        "toolCallId": call_id,
        "state": "output-available",
        "input": given,
        "output": output,
    }

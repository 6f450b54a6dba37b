"""Measure rehearsals: scripts whose calls and whose member's side are both answered from the script."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from shipmate.priming.convert import to_records
from shipmate.priming.rehearsal.answer_piece import read_pieces
from shipmate.priming.script.parse import parse_script
from shipmate.priming.script.record import Script
from shipmate.priming.script.writer import write_script
from shipmate.rehearsal.perform import perform
from shipmate.values.message import JsonObject, UIMessage
from shipmate.workspace.layout import Layout

SCRIPTS = 100
TURNS = 5
# A reading call and one that asks, in each turn.
CALLS = 2


def measure() -> list[dict[str, Any]]:
    """Give the figures of this module."""
    text = write_script(Script({"title": "bench"}, to_records(make_conversation())))
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        layout.agent.write_text("# Mate\n\nYou help aboard.\n")
        began = time.perf_counter()
        asyncio.run(_rehearse(layout, text))
        spent = time.perf_counter() - began
    return [
        {
            "name": f"rehearse {SCRIPTS} scripts of {TURNS} turns and {TURNS * CALLS} calls from the script",
            "value": spent,
            "unit": "s",
            "bar": "<= 3",
        }
    ]


async def _rehearse(layout: Layout, text: str) -> None:
    for _ in range(SCRIPTS):
        script = parse_script(text)
        performed = await perform(layout, script, model="script", tools="script")
        heard = [message for turn in performed.turns for message in turn.messages]
        kinds = [piece.kind for piece in read_pieces(heard)]
        assert kinds == (["call", "result"] * CALLS + ["words"]) * TURNS, performed


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

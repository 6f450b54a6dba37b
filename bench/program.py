"""The cost of a member that is a program: what it is sent, and what driving it adds to its first byte."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from shipmate.context.trace import Trace
from shipmate.crew.program.program_model import ProgramModel
from shipmate.crew.prompt_build import ContextMessage, PromptInput, build_prompt
from shipmate.models.port import ModelEvent, ModelRequest, ProgramSession, RunOrigin
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.values.message import user_message
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config

BUILDS = 20
STARTS = 15
# Says its first word at once.
PROGRAM = """#!/bin/sh
echo '{"type": "system", "subtype": "init", "session_id": "1"}'
echo '{"type": "result", "is_error": false, "result": "done"}'
"""


def measure() -> list[dict[str, Any]]:
    """Measure a prompt from 10 MB of context, and a program's first byte driven and alone."""
    said = [ContextMessage(sender="ann", content="word " * 20_000) for _ in range(100)]
    given = PromptInput(
        agent_type="openai-codex", message="go", context_messages=said, context_limit=len(said)
    )
    spent: list[float] = []
    for _ in range(BUILDS):
        began = time.perf_counter()
        build_prompt(given)
        spent.append((time.perf_counter() - began) * 1000)
    built = statistics.median(spent)
    added = asyncio.run(_compare())
    return [
        {"name": "build_prompt on 10 MB of context", "value": built, "unit": "ms", "bar": "<= 50"},
        {"name": "driving a program, to its first byte", "value": added, "unit": "ms more", "bar": "<= 10"},
    ]


async def _compare() -> float:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
        root, program = Path(folder), Path(place) / "claude"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        own = root / "members" / "bo"
        own.mkdir(parents=True)
        (root / "Agent.md").write_text("# Captain\n")
        stated = {"kind": "claude-code", "command": str(program), "home": "private"}
        (own / "member.json").write_text(json.dumps(stated))
        layout = Layout(root)
        member = Crew(layout, load_config(layout, {})).find("bo")
        model = ProgramModel(member, Sandbox(layout), Trace(layout, {}, str), str, {})
        origin = RunOrigin(thread_id="cli:dm:ann", run_id="run_1")
        request = ModelRequest(system="", messages=[user_message("1", "go")], origin=origin)
        # In turns, so that both see the same load; the first start tries what confines here.
        spent = [(await _driven(model.stream(request)), await _alone(program)) for _ in range(STARTS)]
        return statistics.median(driven - alone for driven, alone in spent[1:])


async def _driven(stream: AsyncGenerator[ModelEvent]) -> float:
    began, spent = time.perf_counter(), 0.0
    async with aclosing(stream) as events:
        async for event in events:
            if isinstance(event, ProgramSession):
                spent = (time.perf_counter() - began) * 1000
    return spent


async def _alone(program: Path) -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(program, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    spent = (time.perf_counter() - began) * 1000
    await process.wait()
    return spent

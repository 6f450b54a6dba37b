"""A model may call tools as the documents name them; whatever judges and keeps calls sees our own names."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate import ScriptedModel, Shipmate, call
from tests.support.workspace import ROOM, messages_of, talk, tools_of


async def test_m5_an_alias_is_asked_about_audited_and_run_under_the_real_name(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Ada\n")
    script = [[call("write_file", file_path="log.md", content="All is well.\n")], "Written."]
    async with Shipmate.open(tmp_path, model=ScriptedModel(script), environ={}) as ship:
        assert (await talk(ship, "keep a log")).status == "suspended"
        (question,) = await ship.approvals.pending(ROOM)
        assert (question.tool, question.input) == ("write", {"path": "log.md", "content": "All is well.\n"})
        outcome = await talk(ship, "yes")
        assert (outcome.text, (tmp_path / "log.md").read_text()) == ("Written.", "All is well.\n")
        assert [(name, state) for name, state, _ in tools_of((await messages_of(ship))[-1])] == [
            ("write_file", "output-available")
        ]
    logs = [path.read_text() for path in (tmp_path / ".ship/audit").rglob("*.jsonl")]
    lines = [json.loads(line) for text in logs for line in text.splitlines()]
    assert {line["tool"] for line in lines if "tool" in line} == {"write"}


async def test_m5_rules_hold_for_an_alias(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Ada\n")
    (tmp_path / "ship.json").write_text('{"permissions": {"deny": ["read_file(Agent.md)"]}}')
    script = [[call("read_file", path="Agent.md"), call("read", path="./Agent.md")], "No."]
    async with Shipmate.open(tmp_path, model=ScriptedModel(script), environ={}) as ship:
        await talk(ship, "read it")
        found = tools_of((await messages_of(ship))[-1])
    assert [(name, state) for name, state, _ in found] == [
        ("read_file", "output-error"),
        ("read", "output-error"),
    ]
    assert all("not allowed" in text for _, _, text in found)

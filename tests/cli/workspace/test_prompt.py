"""What the program of a member would be sent, and how the programs stand, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate.cli.workspace.doctor import examine
from shipmate.crew.program.installed import check_program
from shipmate.values.saying import tell
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from tests.support.agent_program import write_stand_in
from tests.support.terminal import shipmate


async def test_a_prompt_is_shown_and_doctor_looks_at_the_programs(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    program = write_stand_in(root, "older", roleSummary="You are Bo.")
    shown = shipmate(root, "prompt", "--member", "bo", "look")
    assert (
        shown.stdout
        == "--- system\n[SYSTEM]\nYou are Bo.\n\n# Bo\n\nYou review.\n--- prompt\n[MESSAGE]\nlook\n"
    )
    inline = shipmate(root, "prompt", "--member", "bo", "--as", "openai-codex", "--json", "look")
    assert json.loads(inline.stdout)["prompt"].endswith("You review.\n\n[MESSAGE]\nlook")

    (found,) = [each for each in await examine(Layout(root)) if each.subject == "member bo"]
    assert found.level == "warn"
    assert "版本是 1.0；需要 2.1 或更新" in tell(found.message, "zh")
    layout = Layout(root)
    member = Crew(layout, load_config(layout, {})).find("bo")
    program.with_name("version").write_text("2.1.5 (Claude Code)")
    assert check_program(member)[0].level == "ok"
    program.unlink()
    (found,) = check_program(member)
    assert found.level == "error"
    assert "没有安装 Claude Code" in tell(found.message, "zh")

"""M9: a template that nobody touched says nothing, and is left out as nanobot leaves it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.context.builder import ContextBuilder
from shipmate.workspace.foreign.template import find_template
from tests.support.foreign import FIXTURES, copy_folder

NANOBOT = FIXTURES / "nanobot" / "workspace"
OPENCLAW = FIXTURES / "openclaw" / "workspace"


@pytest.mark.parametrize(
    ("path", "program"),
    [
        (NANOBOT / "AGENTS.md", "nanobot"),
        (NANOBOT / "USER.md", "nanobot"),
        (NANOBOT / "memory" / "MEMORY.md", "nanobot"),
        (NANOBOT / "SOUL.md", ""),
        (OPENCLAW / "AGENTS.md", "OpenClaw"),
        (OPENCLAW / "IDENTITY.md", "OpenClaw"),
        (OPENCLAW / "USER.md", "OpenClaw"),
        (OPENCLAW / "SOUL.md", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.parent.parent.name}/{value.name}",
)
def test_m9_what_the_programs_write_for_everybody_is_known(path: Path, program: str) -> None:
    text = path.read_text()
    assert find_template(path.name, text) == program
    assert find_template(path.name, text.replace("\n", "\r\n") + "\n\n") == program
    assert find_template(path.name, text + "Call me Ada.") == ""
    assert find_template("NOTES.md", text) == ""


def test_m9_untouched_templates_are_left_out_until_somebody_changes_them(tmp_path: Path) -> None:
    root = copy_folder("nanobot", tmp_path / "home") / "workspace"
    builder = ContextBuilder(root)
    assert "Agent Instructions" not in builder.build_system_prompt()
    for name in ("AGENTS.md", "USER.md", "memory/MEMORY.md"):
        with (root / name).open("a") as file:
            file.write(f"\nMy own words in {name}.\n")
    prompt = builder.build_system_prompt()
    for name in ("AGENTS.md", "USER.md", "memory/MEMORY.md"):
        assert f"My own words in {name}." in prompt

"""auto-edit never covers what forms a member here: by ship.json, or because AGENTS.md pulls it in (C12)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from tests.support.workspace import talk

CONFIG: dict[str, Any] = {
    "permissions": {"mode": "auto-edit", "allow": ["write(docs/**)"]},
    "skills": {"paths": ["docs/skills"]},
    "context": {"instructions": ["docs/STYLE.md"]},
    "mcp": {
        "servers": {
            "notes": {"command": "python3", "args": ["tools/notes.py", "--root", "notes"]},
            "more": {"command": "python3", "args": ["-m", "more.server"]},
            "top": {"command": "./top.sh"},
        }
    },
}


async def _written(folder: Path, path: str) -> bool:
    """Tell whether a member writes a file unasked."""
    (folder / "Agent.md").write_text("# Captain\n")
    (folder / "AGENTS.md").write_text("@docs/rules.md\n@docs/coming.md\n")
    for name in ("docs/skills", "tools", "notes", "more", "members/ada"):
        (folder / name).mkdir(parents=True)
    (folder / "members" / "ada" / "AGENTS.md").write_text("@own.md\n@../../docs/ada.md\n")
    (folder / "docs" / "rules.md").write_text("Be kind.\n@deeper.md\n")
    (folder / "docs" / "STYLE.md").write_text("@more.md\n")
    (folder / "docs" / "link").symlink_to("skills")
    (folder / "tools" / "notes.py").write_text("import part\n")
    (folder / "top.sh").write_text("exit\n")
    (folder / "ship.json").write_text(json.dumps(CONFIG))
    model = ScriptedModel({"": [call("write", path=path, content="x\n"), "Done."]})
    app = await Shipmate.open(folder, model=model, environ={"PATH": os.environ["PATH"]})
    await talk(app, "go")
    asked = await app.approvals.pending()
    await app.close()
    assert not asked or "changes what the member is" in asked[0].reason
    return not asked


@pytest.mark.parametrize(
    "path",
    [
        "docs/skills/evil/SKILL.md",
        "docs/link/evil/SKILL.md",
        "docs/../docs/skills/evil/skill.json",
        "docs/rules.md",
        "docs/coming.md",
        "docs/deeper.md",
        "docs/ada.md",
        "tools/notes.py",
        "tools/part.py",
        "tools/new/part.py",
        "more/server.py",
        "more/__init__.py",
        "top.sh",
        "docs/STYLE.md",
        "docs/more.md",
        "src/AGENTS.md",
        "src/deep/CLAUDE.md",
    ],
)
async def test_c12_what_forms_a_member_in_this_workspace_asks(tmp_path: Path, path: str) -> None:
    assert not await _written(tmp_path, path)


@pytest.mark.parametrize("path", ["docs/plain.md", "notes/today.md", "other.md", "docs/skillset.md"])
async def test_what_forms_nothing_passes(tmp_path: Path, path: str) -> None:
    assert await _written(tmp_path, path)

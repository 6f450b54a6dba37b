"""M1: the nearest workspace counts; a stray file above somebody captures nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import WorkspaceError
from shipmate.workspace.layout import Layout


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('{"x": 1}' if name.endswith(".json") else "Words.")
    return root


def test_a_stray_file_in_the_home_folder_captures_nobody(home: Path) -> None:
    put(home, "AGENTS.md", "CLAUDE.md", "SOUL.md", ".claude/skills/", "work/notes/")
    with pytest.raises(WorkspaceError, match="shipmate init"):
        Layout.find(home / "work" / "notes")


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules"])
def test_a_lone_file_above_counts_only_within_its_repository(home: Path, name: str) -> None:
    put(home, f"work/{name}", "work/a/b/", "work/c/.git/", "work/c/d/")
    for start in ("work/a/b", "work/c/d"):
        with pytest.raises(WorkspaceError):
            Layout.find(home / start)
    assert Layout.find(home / "work").root == home / "work"
    put(home, f"work/c/{name}")
    assert Layout.find(home / "work/c/d").root == home / "work/c"


def test_the_settings_of_a_program_in_the_home_folder_say_nothing_of_it(home: Path) -> None:
    put(home, ".claude/skills/", ".claude/projects/", ".claude.json", ".mcp.json", ".codex/auth.json")
    with pytest.raises(WorkspaceError):
        Layout.find(home)


def test_the_nearest_wins(home: Path) -> None:
    put(home, "a/SOUL.md", "a/AGENTS.md", "a/b/Agent.md", "a/b/c/CLAUDE.md", "a/b/c/.git/", "a/b/c/d/")
    assert Layout.find(home / "a/b/c/d").root == home / "a/b/c"
    assert Layout.find(home / "a/b").root == home / "a/b"
    assert Layout.find(home / "a").root == home / "a"


def test_what_lies_in_a_workspace_of_ours_stays_part_of_it(home: Path) -> None:
    put(home, "ship/Agent.md", "ship/members/ux/SOUL.md", "ship/members/ux/AGENTS.md", "ship/src/AGENTS.md")
    put(home, "ship/projects/site/CLAUDE.md", "ship/projects/site/.claude/agents/")
    for start in ("members/ux", "src", "projects/site"):
        assert Layout.find(home / "ship" / start).root == home / "ship"


def test_an_agent_of_another_program_inside_ours_is_a_workspace_of_its_own(home: Path) -> None:
    put(home, "ship/Agent.md", "ship/old/SOUL.md", "ship/old/AGENTS.md", "ship/old/memory/MEMORY.md")
    assert Layout.find(home / "ship/old/memory").root == home / "ship/old"


def test_an_adopted_folder_counts_from_anywhere_below(home: Path) -> None:
    put(home, "work/AGENTS.md", "work/ship.json", "work/a/b/")
    assert Layout.find(home / "work/a/b").root == home / "work"


@pytest.mark.parametrize(
    "sign", [".mcp.json", ".claude/settings.json", ".cursor/rules/a.mdc", ".gemini/settings.json"]
)
def test_a_folder_with_settings_counts_from_below_without_a_repository(home: Path, sign: str) -> None:
    put(home, f"work/{sign}", "work/src/")
    assert Layout.find(home / "work/src").root == home / "work"


def test_a_member_of_zyhive_has_its_files_in_its_own_folder(home: Path) -> None:
    for name in ("a", "b"):
        put(home, f"data/agents/{name}/workspace/SOUL.md")
        (home / f"data/agents/{name}/config.json").write_text(f'{{"id": "{name}", "name": "{name}"}}')
    layout = Layout.find(home / "data/agents")
    assert layout.root == home / "data"
    assert layout.member("captain").root == home / "data/agents/a/workspace"
    assert layout.member("b").root == home / "data/agents/b/workspace"

"""M1: `adopt` shows what was recognised and what has no effect; --write makes it lasting."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.support.foreign import copy_folder, take_picture
from tests.support.terminal import make_workspace, shipmate


def test_m1_adopt_shows_what_is_used_and_everything_that_is_not(tmp_path: Path) -> None:
    folder = copy_folder("claude-code", tmp_path / "folder")
    before = take_picture(folder)
    shown = shipmate(tmp_path, "adopt", str(folder)).stdout
    assert "opens as a folder of Claude Code" in shown
    assert "agent    reviewer (.claude/agents/reviewer.md)" in shown
    for said in (
        ".mcp.json: MCP server files",
        ".mcp.json: MCP server docs",
        "permissions.allow",
        "hooks",
        "release.md",
    ):
        assert said in shown
    assert '"env": {"DEMO_TOKEN": "${DEMO_TOKEN}"}' in shown
    assert "`shipmate adopt --write" in shown
    assert take_picture(folder) == before


def test_m1_write_makes_it_lasting(tmp_path: Path) -> None:
    folder = copy_folder("claude-code", tmp_path / "folder")
    before = take_picture(folder)
    prompt = shipmate(folder, "context", "--show", "agents").stdout
    done = shipmate(folder, "adopt", "--write")
    assert done.returncode == 0
    assert done.stdout.index('"instructions"') < done.stdout.index("Wrote ")
    config = json.loads((folder / "ship.json").read_text())
    assert config["context"] == {"instructions": ["CLAUDE.md"]}
    assert config["permissions"] == {"deny": ["read(secrets/**)"]}
    assert stat.S_IMODE((folder / "ship.json").stat().st_mode) == 0o600
    after = take_picture(folder)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"ship.json"}
    assert shipmate(folder, "context", "--show", "agents").stdout == prompt
    again = shipmate(folder, "adopt", "--write")
    assert "nothing is to be written" in again.stdout
    assert take_picture(folder) == after


def test_m1_what_stands_in_ship_json_is_kept(tmp_path: Path) -> None:
    folder = copy_folder("nanobot", tmp_path / "folder") / "workspace"
    written = '{"name": "Mine", "context": {"budgetTokens": 9000}, "odd": [1]}'
    (folder / "ship.json").write_text(written)
    assert shipmate(folder, "adopt", "--write").returncode == 0
    config = json.loads((folder / "ship.json").read_text())
    assert config == {"name": "Mine", "context": {"budgetTokens": 9000, "profile": "nanobot"}, "odd": [1]}
    kept = [path for path in (folder / ".ship" / "revisions").rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == [written]


@pytest.mark.parametrize("text", ["{", "[]", '{"context": 3}'])
def test_a_broken_ship_json_is_named_and_left(tmp_path: Path, text: str) -> None:
    folder = copy_folder("codex", tmp_path / "folder")
    (folder / "ship.json").write_text(text)
    done = shipmate(folder, "adopt", "--write")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (folder / "ship.json").read_text() == text


def test_a_workspace_of_ours_says_what_of_others_it_does_not_use(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ship")
    (folder / "CLAUDE.md").write_text("# Notes\n\nUse tabs.")
    shown = shipmate(folder, "adopt", "--write")
    assert shown.returncode == 0
    assert "a workspace of Shipmate's own" in shown.stdout
    assert '"context": {"instructions": ["CLAUDE.md"]}' in shown.stdout
    assert not (folder / "ship.json").exists()
    assert "CLAUDE.md: not used" in shipmate(folder, "doctor").stdout
    assert "Use tabs" not in shipmate(folder, "context", "--full").stdout
    (folder / "ship.json").write_text('{"context": {"instructions": ["CLAUDE.md"]}}')
    assert "Use tabs" in shipmate(folder, "context", "--full").stdout


def test_a_folder_of_nobody_is_refused(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "adopt", str(tmp_path))
    assert (done.returncode, "shipmate init" in done.stderr) == (2, True)


def test_m5_a_ship_json_of_shipmyagent_is_read_as_ours(tmp_path: Path) -> None:
    folder = copy_folder("shipmyagent", tmp_path / "folder")
    model = {"LLM_MODEL": "m", "LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_API_KEY": "none-at-all"}
    shown = shipmate(folder, "adopt", **model).stdout
    for said in ("start.host 0.0.0.0", "permissions.write_repo.paths", "permissions.exec_shell"):
        assert said in shown
    found = shipmate(folder, "doctor", **model).stdout
    assert "unknown key" not in found
    asked = shipmate(folder, "ask", "--model", "rehearsal", "run rm -rf src", **model)
    assert "not allowed" in asked.stdout + asked.stderr

"""M1: a folder of each program opens, is asked and inspected through the command line, and is left alone.

How each folder was made stands in tests/fixtures/foreign/README.md. Those of Cursor, ZyHive and ShipMyAgent
are written by hand after public sources: no registry has those programs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.foreign import copy_folder, take_picture
from tests.support.terminal import shipmate

MODEL = {"LLM_MODEL": "m", "LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_API_KEY": "none-at-all"}


class Case(NamedTuple):
    """One folder somebody may stand in."""

    program: str
    # Where in the copy the person stands, and where the workspace is then.
    start: str
    root: str
    profile: str
    name: str
    # What the prompt says, and what it does not.
    says: tuple[str, ...]
    silent: tuple[str, ...] = ()


CASES = [
    Case(
        "nanobot",
        "",
        "workspace",
        "nanobot",
        "nanobot",
        ("I am nanobot",),
        ("(your name)", "Scheduled Reminders"),
    ),
    Case("nanobot", "workspace", "workspace", "nanobot", "nanobot", ("I am nanobot",), ("(Important facts",)),
    Case(
        "openclaw",
        "",
        "workspace",
        "nanobot",
        "OpenClaw",
        ("Be genuinely helpful",),
        ("pick something you like",),
    ),
    Case("openclaw", "workspace", "workspace", "nanobot", "OpenClaw", ("Be genuinely",), ("Birth Sequence",)),
    Case("zyhive", "", "", "zyhive", "小流", ("名称：小流", "先写结论", "网站"), ("这个技能没有启用",)),
    Case(
        "zyhive", "agents/xiaoliu", "agents/xiaoliu/workspace", "zyhive", "小流", ("名称：小流", "先写结论")
    ),
    Case(
        "zyhive", "agents/xiaoliu/workspace", "agents/xiaoliu/workspace", "zyhive", "小流", ("报告每月五日",)
    ),
    Case("claude-code", "", "", "shipmate", "folder", ("npm test", "no default exports", "release-notes")),
    Case("codex", "", "", "shipmate", "folder", ("cargo test",), ("Every route answers JSON",)),
    Case("gemini", "", "", "shipmate", "Orchard", ("make check", "a block is a field", "release-notes")),
    Case(
        "cursor", "", "", "shipmate", "folder", ("clear code", "Write tests beside"), ("migration is never",)
    ),
    Case("shipmyagent", "", "", "shipmate", "harbour", ("helpful project assistant",)),
]


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case.program}-{case.start.count('/') + bool(case.start)}" for case in CASES]
)
def test_m1_a_folder_of_another_program_opens_and_is_left_alone(tmp_path: Path, case: Case) -> None:
    folder = copy_folder(case.program, tmp_path / "folder")
    before = take_picture(folder)
    start = folder / case.start

    shown = shipmate(start, "context", "--full", **MODEL)
    assert shown.returncode == 0, shown.stderr
    assert [text for text in case.says if text not in shown.stdout] == []
    assert [text for text in case.silent if text in shown.stdout] == []
    assert "not-a-real" not in shown.stdout

    account = json.loads(shipmate(start, "context", "--json", **MODEL).stdout)
    assert account["profile"] == case.profile
    asked = shipmate(start, "ask", "--model", "rehearsal", "list the files", **MODEL)
    assert (asked.returncode, bool(asked.stdout.strip())) == (0, True), asked.stderr
    adopted = json.loads(shipmate(start, "adopt", "--json", **MODEL).stdout)
    assert (adopted["name"], Path(adopted["root"])) == (case.name, folder / case.root)
    assert take_picture(folder) == before
    assert (folder / case.root / ".ship" / "threads").is_dir()


@pytest.mark.parametrize(
    "program", ["nanobot", "openclaw", "zyhive", "claude-code", "codex", "gemini", "cursor"]
)
def test_m1_doctor_names_what_it_does_not_use_and_changes_nothing(tmp_path: Path, program: str) -> None:
    folder = copy_folder(program, tmp_path / "folder")
    before = take_picture(folder)
    done = shipmate(folder, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "opens as a folder of" in done.stdout
    assert "not used" in done.stdout
    assert "not-a-real" not in done.stdout
    assert take_picture(folder) == before


def test_m1_nothing_of_another_program_is_run(tmp_path: Path) -> None:
    folder = copy_folder("claude-code", tmp_path / "folder")
    servers = {"mcpServers": {"trap": {"command": "touch", "args": [str(tmp_path / "started")]}}}
    (folder / ".mcp.json").write_text(json.dumps(servers))
    for arguments in (("ask", "read docs/style.md"), ("doctor",), ("adopt",), ("context",)):
        assert shipmate(folder, *arguments).returncode == 0
    assert not (tmp_path / "started").exists()
    assert list(folder.rglob("it-ran")) == list(folder.rglob("hook-ran")) == []


def test_m1_keys_in_the_clear_reach_no_output(tmp_path: Path) -> None:
    folder = copy_folder("claude-code", tmp_path / "folder")
    key = "not-a-real-key-1234567890"
    with (folder / "CLAUDE.md").open("a") as file:
        file.write(f"\nThe server takes {key}.\n\n@.mcp.json\n@.claude/settings.json\n")
    for arguments in (
        ("context", "--full"),
        ("context",),
        ("adopt",),
        ("adopt", "--json"),
        ("doctor",),
        ("ask", "read .mcp.json"),
        ("ask", "--json", "read .claude/settings.json"),
    ):
        done = shipmate(folder, *arguments)
        assert "not-a-real" not in done.stdout + done.stderr, arguments
    stored = b"".join(path.read_bytes() for path in (folder / ".ship").rglob("*") if path.is_file())
    assert b"not-a-real" not in stored


def test_a_claude_md_of_five_megabytes_is_cut_and_said(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("# Big\n\n" + "All work is done with care and tested. " * 135_000)
    shown = shipmate(tmp_path, "context")
    assert shown.returncode == 0
    assert "CUT" in shown.stdout
    assert "CLAUDE.md: 5,265,007 bytes, only both ends are read" in shipmate(tmp_path, "doctor").stdout
    assert shipmate(tmp_path, "ask", "hello").returncode == 0


@pytest.mark.parametrize(
    ("files", "program"),
    [
        ({"SOUL.md": "", "memory/": ""}, "nanobot"),
        ({"config.json": '{"agents": {"defa', "workspace/SOUL.md": "I am Bo."}, "nanobot"),
        ({"openclaw.json": "{", "workspace/IDENTITY.md": "", "workspace/AGENTS.md": "Work."}, "OpenClaw"),
        ({"agents/a/config.json": '{"id": "a", "name": "A"}', "agents/a/workspace/": ""}, "ZyHive"),
        ({"config.json": '{"id": "a", "name": "A"}', "workspace/": ""}, "ZyHive"),
        ({"CLAUDE.md": "\0\1", ".mcp.json": "{", ".claude/skills/x/SKILL.md": "---\n"}, "Claude Code"),
        ({".gemini/settings.json": "[]", "GEMINI.md": ""}, "Gemini CLI"),
        ({".cursor/rules/a.mdc": "---\nalwaysApply: tr"}, "Cursor"),
        ({"AGENTS.md/": "", "CLAUDE.md": "Work."}, "Claude Code"),
    ],
)
def test_a_half_written_folder_opens_with_what_is_there(
    tmp_path: Path, files: dict[str, str], program: str
) -> None:
    folder = tmp_path / "folder"
    for name, text in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    before = take_picture(folder)
    adopted = shipmate(folder, "adopt", "--json")
    assert adopted.returncode == 0, adopted.stderr
    assert json.loads(adopted.stdout)["program"] == program
    assert shipmate(folder, "ask", "hello").returncode == 0
    assert shipmate(folder, "doctor").returncode == 0
    assert take_picture(folder) == before


def test_elsewhere_init_is_named(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "ask", "hello")
    assert (done.returncode, "shipmate init" in done.stderr) == (2, True)


def test_m1_init_defers_to_what_is_there(tmp_path: Path) -> None:
    folder = copy_folder("nanobot", tmp_path / "folder")
    before = take_picture(folder)
    for arguments in (("init",), ("init", "--config"), ("init", "--name", "Ada")):
        done = shipmate(folder, *arguments)
        assert (done.returncode, "shipmate adopt" in done.stdout) == (0, True)
    assert take_picture(folder) == before
    assert not (folder / "workspace" / "Agent.md").exists()


def test_m1_the_other_agents_of_a_folder_are_members(tmp_path: Path) -> None:
    folder = copy_folder("zyhive", tmp_path / "hive")
    shown = shipmate(folder, "context", "--member", "yinyin", "--full")
    assert "先问清楚" in shown.stdout, shown.stderr
    assert "名称：小流" not in shown.stdout
    assert shipmate(folder, "ask", "--member", "引引", "hello").returncode == 0

    folder = copy_folder("claude-code", tmp_path / "code")
    before = take_picture(folder)
    shown = shipmate(folder, "context", "--member", "reviewer", "--full").stdout
    assert "You review changes." in shown
    assert "description: Reviews" not in shown
    tools = next(line for line in shown.splitlines() if line.startswith("Tools: "))
    assert set(tools.removeprefix("Tools: ").rstrip(".").split(", ")) == {"read", "grep", "glob"}
    asked = shipmate(folder, "ask", "--member", "reviewer", "read docs/style.md")
    assert "Names are nouns" in asked.stdout, asked.stderr
    assert "reviewer.md: model sonnet" in shipmate(folder, "doctor").stdout
    assert take_picture(folder) == before

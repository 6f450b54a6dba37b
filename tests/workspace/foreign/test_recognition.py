"""What each program leaves behind is told apart, named, and read without its keys."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from shipmate.workspace.foreign.recognition import recognise, survey
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from tests.support.foreign import FIXTURES, copy_folder


def put(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("program", sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()))
def test_no_key_stands_in_what_is_told_of_a_folder(program: str) -> None:
    found = recognise(FIXTURES / program)
    assert found is not None
    told = msgspec.json.encode([found.unused, found.defaults(), found.name, found.signs])
    assert b"not-a-real" not in told
    assert all(len(each.why) > 10 for each in found.unused)


def test_the_layout_of_document_001_is_nanobots_and_with_an_index_zyhives(tmp_path: Path) -> None:
    files = {f"{name}.md": "x" for name in ("AGENTS", "SOUL", "USER", "TOOLS", "IDENTITY")}
    found = recognise(put(tmp_path / "a", **files, **{"memory/MEMORY.md": "x"}))
    assert found is not None
    assert (found.program, found.profile) == ("nanobot", "nanobot")
    found = recognise(put(tmp_path / "b", **files))
    assert found is not None
    assert (found.program, found.profile) == ("OpenClaw", "nanobot")
    found = recognise(
        put(tmp_path / "c", **{"IDENTITY.md": "- 名称：小流", "SOUL.md": "x", "memory/INDEX.md": "x"})
    )
    assert found is not None
    assert (found.program, found.profile, found.name) == ("ZyHive", "zyhive", "小流")


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"SOUL.md": "# Soul\n\nI am Bo 🐈, an assistant.", "AGENTS.md": "x"}, "Bo"),
        ({"SOUL.md": "You are a helpful assistant.", "AGENTS.md": "x"}, "nanobot"),
        ({"IDENTITY.md": "- **Name:** Clara\n", "AGENTS.md": "x"}, "Clara"),
        ({"IDENTITY.md": "- **Name:**\n  _(pick something)_\n", "AGENTS.md": "x"}, "OpenClaw"),
        ({"CLAUDE.md": "# Acme API\n"}, "Acme API"),
        ({"CLAUDE.md": "# CLAUDE.md\n"}, "place"),
        ({"AGENTS.md": "# Repository Guidelines\n"}, "place"),
        ({"AGENTS.md": "# Guidelines\n", "GEMINI.md": "# Orchard\n"}, "Orchard"),
    ],
)
def test_the_name_comes_from_their_own_files(tmp_path: Path, files: dict[str, str], name: str) -> None:
    found = recognise(put(tmp_path / "place", **files))
    assert found is not None
    assert found.name == name


def test_files_that_say_the_same_are_read_once(tmp_path: Path) -> None:
    put(tmp_path, **{"AGENTS.md": "Be kind.", "GEMINI.md": "Be kind.\n", ".cursorrules": "@AGENTS.md"})
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    found = recognise(tmp_path)
    assert found is not None
    assert found.instructions == ()
    assert [each.what for each in found.unused] == ["CLAUDE.md", "GEMINI.md", ".cursorrules"]


def test_gemini_may_be_told_other_names(tmp_path: Path) -> None:
    settings = '{"context": {"fileName": ["NOTES.md", "../out.md", "/etc/passwd", ".env"]}}'
    put(tmp_path, **{".gemini/settings.json": settings, "NOTES.md": "Words."})
    found = recognise(tmp_path)
    assert found is not None
    assert found.instructions == ("NOTES.md",)


def test_denials_bind_and_allowances_do_not(tmp_path: Path) -> None:
    rules = {
        "allow": ["Bash(ls)", "Edit"],
        "deny": ["Bash(curl:*)", "Read(./secrets/**)", "Read(~/.ssh/**)", "Task"],
    }
    put(
        tmp_path,
        **{".claude/settings.json": msgspec.json.encode({"permissions": rules}).decode(), "CLAUDE.md": "x"},
    )
    loaded = load_config(Layout(tmp_path), {})
    assert loaded.config.permissions.deny == ("exec(curl *)", "read(secrets/**)")
    assert loaded.config.permissions.allow == ()
    assert [each.what.split(": ")[1] for each in survey(tmp_path)] == [
        "permissions.allow (2)",
        "permissions.deny Read(~/.ssh/**)",
        "permissions.deny Task",
    ]


def test_ship_json_wins_over_what_was_recognised(tmp_path: Path) -> None:
    put(
        tmp_path, **{"CLAUDE.md": "# Acme", "ship.json": '{"name": "Mine", "context": {"budgetTokens": 900}}'}
    )
    config = load_config(Layout(tmp_path), {}).config
    assert (config.name, config.context.instructions, config.context.budget_tokens) == (
        "Mine",
        ("CLAUDE.md",),
        900,
    )


def test_m5_integrations_are_adapters_and_rights_only_tighten(tmp_path: Path) -> None:
    folder = copy_folder("shipmyagent", tmp_path / "folder")
    environ = {"LLM_MODEL": "m", "LLM_BASE_URL": "http://127.0.0.1:1", "LLM_API_KEY": "k"}
    loaded = load_config(Layout(folder), environ)
    config = loaded.config
    assert config.adapters["telegram"]["enabled"] is True
    assert (config.server.host, config.server.port) == ("127.0.0.1", 3000)
    assert (config.llm.provider, config.llm.model) == ("openai-compatible", "m")
    assert (config.permissions.deny, config.permissions.allow) == (("exec(rm)", "exec(rm *)"), ())
    assert [finding for finding in loaded.findings if "unknown" in finding.message] == []


@pytest.mark.parametrize(
    ("rights", "denied"),
    [
        ({"read_repo": False}, ("read", "grep", "glob")),
        ({"write_repo": False, "exec_shell": False}, ("write", "edit", "exec")),
        ({"write_repo": True, "exec_shell": {"allow": ["ls"]}}, ()),
        ({"exec_shell": {"deny": "rm"}, "deny": ["write"]}, ("write",)),
    ],
)
def test_their_rights_as_ours(tmp_path: Path, rights: dict[str, object], denied: tuple[str, ...]) -> None:
    raw = {"permissions": rights, "start": {}}
    put(tmp_path, **{"Agent.md": "# A", "ship.json": msgspec.json.encode(raw).decode()})
    config = load_config(Layout(tmp_path), {}).config
    assert (config.permissions.deny, config.permissions.allow, config.permissions.mode) == (denied, (), "ask")


def test_a_member_whose_model_is_missing_is_named(tmp_path: Path) -> None:
    found = recognise(copy_folder("zyhive", tmp_path / "folder"))
    assert found is not None
    missing = [each.what for each in found.unused if "has no such model" in each.why]
    assert missing == ["agents/yinyin/config.json: model deepseek-r2"]


def test_nothing_of_nobody_is_recognised(tmp_path: Path) -> None:
    put(tmp_path, **{"README.md": "x", "config.json": '{"name": "x"}', "agents/a.py": "", "memory/x.md": "y"})
    (tmp_path / "workspace").mkdir()
    assert recognise(tmp_path) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_may_not_be_looked_at_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, **{"CLAUDE.md": "# Acme", ".claude/settings.json": "{}", "memory/MEMORY.md": "x"})
    closed = [tmp_path / ".claude", tmp_path / "memory"]
    try:
        for folder in closed:
            folder.chmod(0)
        found = recognise(tmp_path)
        assert found is not None
        assert found.signs == ("CLAUDE.md",)
    finally:
        for folder in closed:
            folder.chmod(0o700)


@pytest.mark.parametrize("name", ["config.json", "openclaw.json"])
def test_m1_broken_settings_around_a_workspace_are_named_from_both_folders(tmp_path: Path, name: str) -> None:
    (tmp_path / "workspace/memory").mkdir(parents=True)
    for file in ("SOUL.md", "AGENTS.md", "memory/MEMORY.md"):
        (tmp_path / "workspace" / file).write_text("words\n")
    (tmp_path / name).write_text('{"providers": {"apiKey": "half')
    for start in (tmp_path, tmp_path / "workspace"):
        root = Layout.find(start).root
        assert [each.what for each in survey(root)].count(f"../{name}") == 1


RULE = "---\ndescription: Tests\nglobs: *.test.ts\n---\nWrite them first.\n"


def test_a_rule_for_some_files_is_found_in_projects_and_beside_an_agent(tmp_path: Path) -> None:
    rules = {".cursor/rules/a.mdc": ("*.test.ts",)}
    put(tmp_path / "project", **{".cursor/rules/a.mdc": RULE})
    project = recognise(tmp_path / "project")
    put(tmp_path / "agent", **{".cursor/rules/a.mdc": RULE, "SOUL.md": "You are Ada.", "AGENTS.md": "x"})
    agent = recognise(tmp_path / "agent")
    assert project is not None
    assert agent is not None
    assert (project.kind, agent.kind) == ("project", "agent")
    assert (project.rules, agent.rules, project.instructions, project.unused) == (rules, rules, (), ())


def test_a_rule_in_a_folder_below_is_found_and_a_link_out_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "project", **{".cursor/rules/web/tests/a.mdc": RULE, ".cursor/rules/web/notes.md": "x"})
    put(tmp_path / "elsewhere", **{"b.mdc": RULE})
    (tmp_path / "project/.cursor/rules/out").symlink_to(tmp_path / "elsewhere")
    project = recognise(tmp_path / "project")
    assert project is not None
    assert project.rules == {".cursor/rules/web/tests/a.mdc": ("*.test.ts",)}


def test_a_rule_for_some_files_beside_our_own_agent_is_named(tmp_path: Path) -> None:
    put(tmp_path, **{"Agent.md": "# Ada", ".cursor/rules/a.mdc": RULE})
    (found,) = survey(tmp_path)
    assert (found.what, found.lines) == (
        ".cursor/rules/a.mdc",
        {"context": {"instructions": [".cursor/rules/a.mdc"]}},
    )


def test_an_agent_whose_id_is_the_captains_is_named(tmp_path: Path) -> None:
    put(tmp_path, **{"CLAUDE.md": "# Ada", ".claude/agents/captain.md": "x", ".claude/agents/bo.md": "x"})
    found = recognise(tmp_path)
    assert found is not None
    assert [each.what for each in found.unused] == [".claude/agents/captain.md"]
    assert [name for name, _ in Layout.find(tmp_path).homes] == ["bo"]

"""A turn runs whatever the files of a workspace hold, and says what is wrong with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipmate.context.builder import ContextBuilder
from shipmate.context.request import ContextRequest
from tests.support.prompt import write_files
from tests.support.search import PATIENCE, examples

FILES = (
    "Agent.md",
    "AGENTS.md",
    "SOUL.md",
    "RELATIONS.md",
    "memory/INDEX.md",
    "skills/x/SKILL.md",
    "skills/x/skill.json",
    "projects/p/meta.json",
    ".ship/memory/project.md",
)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "data", [b"", b"\0\1\2", b"caf\xe9", b"\xff\xfeh\0i\0", b"x" * 3_000_000, "中".encode() * 900_000]
)
def test_no_file_stops_a_turn(tmp_path: Path, name: str, data: bytes) -> None:
    write_files(tmp_path, Agent="# Ada", skills__x__SKILL="fine")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(data)
    builder = ContextBuilder(tmp_path)
    for profile in ("shipmate", "nanobot", "zyhive"):
        context = builder.build(ContextRequest(profile=profile))
        assert len(context.system.encode()) < 120_000
    assert builder.findings()


def test_folders_pipes_loops_and_links_stop_nothing(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    write_files(root, Agent="# Ada")
    (tmp_path / "secret").write_text("swordfish")
    (root / "SOUL.md").symlink_to(tmp_path / "secret")
    (root / "USER.md").symlink_to("USER.md")
    (root / "TOOLS.md").mkdir()
    (root / "skills").symlink_to(root)
    (root / "memory").write_text("not a folder")
    os.mkfifo(root / "IDENTITY.md")
    builder = ContextBuilder(root)
    assert "swordfish" not in builder.build_system_prompt()
    problems = {finding.subject: finding.message for finding in builder.findings()}
    assert "outside the workspace" in problems["SOUL.md"]
    assert "leads nowhere" in problems["USER.md"]
    assert {"TOOLS.md", "IDENTITY.md"} <= set(problems)


@settings(max_examples=examples(60), suppress_health_check=[*PATIENCE, HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FILES), st.binary(max_size=300))
def test_any_bytes_in_any_file_give_a_prompt(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(data)
    context = ContextBuilder(tmp_path).build(ContextRequest(last_text="x", profile="shipmate"))
    assert context.system.encode().decode() == context.system
    assert context.sections[0].included

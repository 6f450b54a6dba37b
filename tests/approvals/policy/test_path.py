"""What forms a member is always asked about, and projects are written by their editors alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shipmate.approvals.policy.policy import Policy
from shipmate.approvals.value import Verdict
from shipmate.workspace.config import Permissions
from tests.support.approval import make_call, make_grant

FORMING = (
    "Agent.md",
    "agent.md",
    "SOUL.md",
    "AGENTS.md",
    "CLAUDE.md",
    "skills/x/SKILL.md",
    ".minds/priming/x.md",
    "memory/INDEX.md",
    "members/new/Agent.md",
    ".vscode/tasks.json",
    ".husky/pre-commit",
    "sub/.github/workflows/x.yml",
    ".mcp.json",
    ".pre-commit-config.yaml",
    "projects/x/meta.json",
    "MEMORY.md",
    ".claude/settings.json",
    "docs/../Agent.md",
)


def write(root: Path, path: str, member: str = "captain", **permissions: Any) -> Verdict:
    policy = Policy(Permissions(**permissions), sandbox_works=lambda: True)
    return policy.judge(make_call(root, "write", {"path": path, "content": "x"}, member=member), ())


@pytest.mark.parametrize("path", FORMING)
def test_c12_what_forms_a_member_is_asked_about_and_says_so(tmp_path: Path, path: str) -> None:
    for mode, allow in (("auto-edit", ()), ("ask", ("write",)), ("auto-edit", ("write(**)",))):
        verdict = write(tmp_path, path, mode=mode, allow=allow)
        assert (verdict.action, verdict.why.key) == ("ask", "forms-member")


def test_c12_a_link_to_what_forms_a_member_is_no_way_round(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("x")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "note.md").symlink_to("../Agent.md")
    for allow in (("write(docs/**)",), ("write(docs/note.md)",), ()):
        assert write(tmp_path, "docs/note.md", mode="auto-edit", allow=allow).why.key == "forms-member"


def test_c12_only_a_rule_or_grant_that_names_the_very_path_covers_it(tmp_path: Path) -> None:
    assert write(tmp_path, "Agent.md", allow=("write(Agent.md)",)).action == "allow"
    assert write(tmp_path, "Agent.md", allow=("write(*.md)",)).action == "ask"
    assert write(tmp_path, "Agent.md", mode="yolo").action == "allow"
    assert write(tmp_path, "Agent.md", mode="yolo", ask=("write(Agent.md)",)).action == "ask"
    policy = Policy(Permissions(), sandbox_works=lambda: True)
    call = make_call(tmp_path, "write", {"path": "Agent.md", "content": "x"})
    assert policy.judge(call, (make_grant("write", "Agent.md"),)).action == "allow"


def test_other_files_stay_as_they_were(tmp_path: Path) -> None:
    for path in ("docs/Agent.md", "src/main.py", "docs/members.md", "projects/x/notes.md"):
        assert write(tmp_path, path, mode="auto-edit").action == "allow"
    assert write(tmp_path, ".ship/scratch/x").action == "allow"


@pytest.mark.parametrize("text", ['{"editors": ["bosun"]}', '{"editors": ["__none__"]}', "not json"])
def test_c18_a_closed_project_is_denied_in_every_mode(tmp_path: Path, text: str) -> None:
    meta = tmp_path / "projects" / "moon" / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(text)
    for path in ("projects/moon/x", "projects/moon/a/b.md", "Projects/MOON/x", "docs/../projects/moon/x"):
        for mode in ("ask", "auto-edit", "yolo"):
            verdict = write(tmp_path, path, mode=mode, allow=("write", "write(projects/moon/x)"))
            assert (verdict.action, verdict.why.key, verdict.why.what) == ("deny", "project", "moon")
    may = "allow" if "bosun" in text else "deny"
    assert write(tmp_path, "projects/moon/x", member="bosun", mode="auto-edit").action == may


def test_c18_a_closed_project_is_denied_whatever_letters_its_folder_has(tmp_path: Path) -> None:
    meta = tmp_path / "projects" / "Moon" / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"editors": ["bosun"]}')
    for path in ("projects/Moon/x", "projects/moon/x"):
        assert write(tmp_path, path, mode="auto-edit").action == "deny"


def test_c18_rights_are_read_anew_when_they_change(tmp_path: Path) -> None:
    meta = tmp_path / "projects" / "moon" / "meta.json"
    meta.parent.mkdir(parents=True)
    policy = Policy(Permissions(mode="auto-edit"), sandbox_works=lambda: True)
    call = make_call(tmp_path, "write", {"path": "projects/moon/x", "content": "x"})
    assert policy.judge(call, ()).action == "allow"
    meta.write_text('{"editors": ["bosun"]}')
    assert policy.judge(call, ()).action == "deny"


def test_the_rule_that_decided_is_named(tmp_path: Path) -> None:
    assert write(tmp_path, "docs/a", allow=("write(docs/**)",)).rule == "write(docs/**)"
    assert write(tmp_path, "docs/a", ask=("write(docs/**)",)).rule == "write(docs/**)"
    assert write(tmp_path, "docs/a", deny=("write(docs/**)",)).rule == "write(docs/**)"
    assert write(tmp_path, "docs/a").rule is None


def test_c12_a_link_out_of_scratch_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    for name in ("docs", ".ship/scratch"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".ship/scratch/link").symlink_to("../../docs")
    assert write(tmp_path, ".ship/scratch/plain.md").why.key == "scratch"
    verdict = write(tmp_path, ".ship/scratch/link/plan.md")
    assert (verdict.action, verdict.why.key) == ("ask", "no-rule")

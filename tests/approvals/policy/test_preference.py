"""What Agent.md says about approvals: it can only tighten, and what cannot be read denies."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shipmate.approvals.policy.preference import findings, read_preferences, tighten
from shipmate.approvals.question import describe
from shipmate.approvals.service import ApprovalService
from shipmate.store.file_store import FileStore, open_store
from shipmate.workspace.config import Permissions
from shipmate.workspace.file import FileText
from shipmate.workspace.layout import Layout
from tests.support.approval import make_call


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[FileStore]:
    made = open_store(Layout(tmp_path))
    yield made
    await made.close()


def write_agent(root: Path, approvals: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / "Agent.md").write_text(f"---\napprovals:\n{approvals}---\n\n# Captain\n", encoding="utf-8")


async def judge(
    root: Path, store: FileStore, command: str, member: str = "captain", **permissions: object
) -> str:
    service = ApprovalService(
        Layout(root),
        Permissions(**permissions),  # pyright: ignore[reportArgumentType]
        store,
        sandbox_works=lambda: True,
    )
    return (await service.judge(make_call(root, "exec", {"command": command}, member=member))).action


async def test_ask_and_deny_are_added_for_the_member_alone(tmp_path: Path, store: FileStore) -> None:
    write_agent(tmp_path, "  ask: [exec(git log)]\n  deny:\n    - exec(git push *)\n")
    write_agent(tmp_path / "members/nina", "  deny: exec(git log)\n")
    allow = ("exec(git log)", "exec(git status)", "exec(git push *)")
    found = {
        (member, command): await judge(tmp_path, store, command, member, allow=allow)
        for member in ("captain", "nina", "olaf")
        for command in ("git log", "git status", "git push origin")
    }
    assert found["captain", "git log"] == "ask"
    assert found["captain", "git push origin"] == "deny"
    assert found["nina", "git log"] == "deny"
    assert (
        found["olaf", "git log"] == found["captain", "git status"] == found["nina", "git status"] == "allow"
    )


async def test_nothing_in_it_allows_anything(tmp_path: Path, store: FileStore) -> None:
    assert await judge(tmp_path, store, "git status") == "ask"
    write_agent(tmp_path, "  allow: [exec(git status)]\n  tone: plain\n")
    assert await judge(tmp_path, store, "git status") == "ask"
    assert await judge(tmp_path, store, "git status", mode="read-only") == "deny"
    (found,) = findings(Layout(tmp_path))
    assert (found.level, "only tighten" in found.message) == ("warn", True)


@pytest.mark.parametrize(
    "approvals",
    [
        "  deny: [exec(git | cat)]\n",
        "  ask: [exec(]\n",
        "  denny: [exec(git status)]\n",
        "  deny: [1]\n",
        "  deny: {a: b}\n",
        "  deny: [exec(git status)\n",
        "  - exec(git status)\n",
    ],
)
async def test_what_cannot_be_read_denies_whatever_acts(
    tmp_path: Path, store: FileStore, approvals: str
) -> None:
    write_agent(tmp_path, approvals)
    assert await judge(tmp_path, store, "git status", allow=("exec(git status)",)) == "deny"
    assert await judge(tmp_path, store, "git status", mode="yolo") == "deny"
    service = ApprovalService(Layout(tmp_path), Permissions(), store)
    reading = make_call(tmp_path, "read", {"path": "a.md"})
    assert (await service.judge(reading)).action == "allow"
    found = findings(Layout(tmp_path))
    assert [each.level for each in found] == ["error"]
    assert "everything that acts is denied" in found[0].message


async def test_a_change_of_the_file_counts_at_once(tmp_path: Path, store: FileStore) -> None:
    service = ApprovalService(
        Layout(tmp_path), Permissions(allow=("exec(git status)",)), store, sandbox_works=lambda: True
    )
    call = make_call(tmp_path, "exec", {"command": "git status"})
    (tmp_path / "Agent.md").write_text("# Captain\n")
    assert (await service.judge(call)).action == "allow"
    write_agent(tmp_path, "  deny: [exec(git status)]\n")
    assert (await service.judge(call)).action == "deny"


async def test_front_matter_of_another_kind_changes_nothing(tmp_path: Path, store: FileStore) -> None:
    for text in (
        "---\nname: Ada\n---\n# Ada\n",
        "---\n: : :\n---\n# Ada\n",
        "# Ada\n\n---\napprovals: 1\n---\n",
    ):
        (tmp_path / "Agent.md").write_text(text)
        assert await judge(tmp_path, store, "git status", allow=("exec(git status)",)) == "allow"
        assert findings(Layout(tmp_path)) == []


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_tone_chooses_among_wordings_that_show_the_same(
    tmp_path: Path, store: FileStore, language: str
) -> None:
    asked: set[str] = set()
    for number, tone in enumerate(("plain", "brief", "warm", "rude")):
        write_agent(tmp_path, f"  tone: {tone}\n")
        service = ApprovalService(Layout(tmp_path), Permissions(), store, language)
        call = make_call(
            tmp_path, "exec", {"command": "git push"}, call_id=f"c{number}", thread_id=f"web:room:{number}"
        )
        approval = await service.request(call, await service.judge(call))
        words = describe(approval, language)
        assert "```\ngit push\n```" in words
        asked.add(words)
    assert len(asked) == 3
    (found,) = findings(Layout(tmp_path))
    assert (found.level, "rude" in found.message) == ("warn", True)


def test_tightening_keeps_everything_else() -> None:
    permissions = Permissions(
        mode="auto-edit", allow=("exec(ls)",), ask=("a",), deny=("b",), admins=("root",)
    )
    file = FileText("Agent.md", "---\napprovals:\n  ask: [c]\n  deny: [d]\n---\n")
    tightened = tighten(permissions, read_preferences(file))
    assert (tightened.ask, tightened.deny) == (("a", "c"), ("b", "d"))
    assert (tightened.mode, tightened.allow, tightened.admins) == ("auto-edit", ("exec(ls)",), ("root",))


def test_an_agent_file_that_cannot_be_read_may_have_meant_to_tighten() -> None:
    assert read_preferences(FileText("Agent.md", problem="it is too large")).broken == ("it is too large",)

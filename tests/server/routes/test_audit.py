"""The audit over HTTP: each call once, whoever or whatever let it pass (C17)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.routes.consent.test_approval import ask
from tests.support.script import TalkingModel
from tests.support.server import Served, make_site, make_workspace, opener_for, serving
from tests.support.wire import chat, user


async def read(served: Served, query: str = "") -> dict[str, Any]:
    await served.idle()
    return (await served.client.get(f"/api/audit{query}")).json()


@asynccontextmanager
async def permitting(root: Path, permissions: dict[str, Any]) -> AsyncGenerator[Served]:
    """Serve a workspace with these permissions."""
    folder = make_workspace(root)
    (folder / "ship.json").write_text(json.dumps({"permissions": permissions}))
    async with serving(make_site(folder, opener_for(TalkingModel()))) as served:
        yield served


async def test_a_call_stands_once_with_question_decision_and_outcome(served: Served) -> None:
    approval = await ask(served)
    (waiting,) = (await read(served))["entries"]
    assert (waiting["outcome"], waiting["tool"], waiting["what"]) == ("requested", "write", "c.md")
    await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True})
    answer = await read(served)
    (entry,) = answer["entries"]
    assert (entry["by"], entry["who"], entry["outcome"]) == ("person", "web:owner", "ok")
    assert [event["event"] for event in entry["events"]] == ["asked", "decided", "allowed", "ran"]
    assert {event["approvalId"] for event in entry["events"][:3]} == {approval["id"]}
    assert len({event["shown"] for event in entry["events"][:3]}) == 1
    assert len(entry["digest"]) == 64
    assert answer["verified"] == {"holds": True, "entries": 4, "breaks": [], "torn": 0}
    assert answer["next"] is None


async def test_a_denial_stands_once_and_did_not_run(served: Served) -> None:
    approval = await ask(served)
    await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": False, "reason": "no"})
    (entry,) = (await read(served))["entries"]
    assert (entry["outcome"], entry["who"]) == ("denied", "web:owner")
    assert [event["event"] for event in entry["events"]] == ["asked", "decided"]


@pytest.mark.parametrize(
    ("permissions", "by", "basis"),
    [
        ({"mode": "yolo"}, "mode", "yolo"),
        ({"mode": "auto-edit"}, "mode", "auto-edit"),
        ({"allow": ["write(*.md)"]}, "rule", "write(*.md)"),
    ],
)
async def test_c17_calls_that_ran_unasked_are_in_the_audit(
    tmp_path: Path, permissions: dict[str, Any], by: str, basis: str
) -> None:
    async with permitting(tmp_path, permissions) as served:
        await chat(served.client, "room", user("u1", "write one file"))
        (entry,) = (await read(served))["entries"]
        assert (entry["by"], entry["basis"], entry["outcome"]) == (by, basis, "ok")
        assert [event["event"] for event in entry["events"]] == ["allowed", "ran"]


async def test_c17_what_a_grant_let_pass_names_the_grant(served: Served) -> None:
    approval = await ask(served)
    await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True, "scope": "thread"})
    await served.idle()
    (served.site.layout.root / "c.md").unlink()
    await chat(served.client, "room", user("u2", "write one file"))
    (grant,) = (await served.client.get("/api/grants")).json()["grants"]
    entry = (await read(served))["entries"][0]
    assert (entry["by"], entry["basis"], entry["outcome"]) == ("grant", grant["id"], "ok")


async def test_c17_what_a_rule_refused_names_the_rule(tmp_path: Path) -> None:
    async with permitting(tmp_path, {"mode": "yolo", "deny": ["write(*.md)"]}) as served:
        await chat(served.client, "room", user("u1", "write one file"))
        (entry,) = (await read(served))["entries"]
        assert (entry["by"], entry["basis"], entry["outcome"]) == ("rule", "write(*.md)", "refused")


async def test_pages_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    async with permitting(tmp_path, {"mode": "yolo"}) as served:
        for number in range(5):
            await chat(served.client, f"room{number}", user(f"u{number}", "write one file"))
        whole = (await read(served))["entries"]
        assert len(whole) == 5
        seen, before = [], ""
        while True:
            page = await read(served, f"?limit=2{before}")
            seen += page["entries"]
            if page["next"] is None:
                break
            before = f"&before={page['next']}"
        assert seen == whole
        of_one = (await read(served, "?threadId=web:room:room3"))["entries"]
        assert [entry["threadId"] for entry in of_one] == ["web:room:room3"]


async def test_a_changed_log_is_told_with_its_place(served: Served) -> None:
    await ask(served)
    assert (await read(served))["verified"]["holds"]
    (path,) = served.site.layout.audit.glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"c.md", b"d.md"))
    verified = (await read(served))["verified"]
    assert not verified["holds"]
    assert (verified["breaks"][0]["file"], verified["breaks"][0]["line"]) == (path.name, 1)


async def test_c16_no_hidden_character_reaches_the_page_in_a_question(served: Served) -> None:
    approval = await ask(served)
    path = served.site.layout.approval(approval["id"])
    path.write_text(
        path.read_text().replace("+gamma", "+gam\u200bma\u202e").replace("no rule", "no\u00ad rule")
    )
    shown = (await served.client.get(f"/api/approvals/{approval['id']}")).json()
    for field in ("preview", "wording", "reason"):
        assert not set(shown[field]) & {"\u200b", "\u202e", "\u00ad"}, field
    assert "+gam\\u{200b}ma\\u{202e}" in shown["preview"]

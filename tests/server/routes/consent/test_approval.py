"""Approvals and grants over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.server import Served
from tests.support.wire import chat, messages, user


async def ask(served: Served, thread: str = "room", message_id: str = "u1") -> dict[str, Any]:
    """Have the member ask for something; give the approval."""
    await chat(served.client, thread, user(message_id, "write one file"))
    waiting = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    return waiting[0]


async def test_an_approval_shows_the_whole_call_and_goes_on_when_approved(served: Served) -> None:
    approval = await ask(served)
    assert approval["tool"] == "write"
    assert approval["input"] == {"path": "c.md", "content": "gamma\n"}
    assert "+gamma" in approval["preview"]
    assert str(served.site.layout.root) not in approval["wording"]
    thread = (await served.client.get("/api/threads/room")).json()
    assert thread["pendingApprovals"] == 1
    decided = await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True})
    assert (decided.status_code, decided.json()["approval"]["status"]) == (200, "approved")
    await served.idle()
    assert (served.site.layout.root / "c.md").read_text() == "gamma\n"
    assert (await served.client.get("/api/threads/room")).json()["pendingApprovals"] == 0
    shown = (await served.client.get(f"/api/approvals/{approval['id']}")).json()
    assert (shown["status"], shown["decidedBy"]) == ("approved", "web:owner")


async def test_a_denial_keeps_its_reason_and_nothing_runs(served: Served) -> None:
    approval = await ask(served)
    answer = {"approved": False, "reason": "wrong folder"}
    decided = await served.client.post(f"/api/approvals/{approval['id']}", json=answer)
    assert decided.json()["approval"]["status"] == "denied"
    await served.idle()
    part = next(part for part in (await messages(served.client, "room"))[-1]["parts"] if "toolCallId" in part)
    assert (part["state"], part["approval"]["reason"]) == ("output-denied", "wrong folder")
    assert not (served.site.layout.root / "c.md").exists()


async def test_of_two_decisions_at_once_one_holds(served: Served) -> None:
    approval = await ask(served)
    address = f"/api/approvals/{approval['id']}"
    answers = await asyncio.gather(
        *(served.client.post(address, json={"approved": approved}) for approved in (True, False, True, False))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    await served.idle()
    winner = next(answer for answer in answers if answer.status_code == 200).json()["approval"]["status"]
    assert (served.site.layout.root / "c.md").exists() == (winner == "approved")
    assert (await served.client.post(address, json={"approved": True})).status_code == 409


async def test_a_grant_covers_later_calls_until_it_is_revoked(served: Served) -> None:
    approval = await ask(served)
    answer = {"approved": True, "scope": "thread"}
    assert (await served.client.post(f"/api/approvals/{approval['id']}", json=answer)).status_code == 200
    await served.idle()
    grants = (await served.client.get("/api/grants")).json()["grants"]
    assert [(grant["tool"], grant["scope"], grant["threadId"]) for grant in grants] == [
        ("write", "thread", "web:room:room")
    ]
    (served.site.layout.root / "c.md").unlink()
    await chat(served.client, "room", user("u2", "write one file"))
    assert (served.site.layout.root / "c.md").exists()
    assert (await served.client.delete(f"/api/grants/{grants[0]['id']}")).status_code == 204
    assert (await served.client.delete(f"/api/grants/{grants[0]['id']}")).status_code == 404
    (served.site.layout.root / "c.md").unlink()
    await chat(served.client, "room", user("u3", "write one file"))
    assert not (served.site.layout.root / "c.md").exists()


async def test_wrong_answers_are_refused_and_leave_the_question_open(served: Served) -> None:
    approval = await ask(served)
    address = f"/api/approvals/{approval['id']}"
    for body in ({}, {"approved": "true"}, {"approved": 1}, {"approved": True, "scope": "forever"}, []):
        response = await served.client.post(address, json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid"), body
    assert (await served.client.post("/api/approvals/none", json={"approved": True})).status_code == 404
    assert (await served.client.get("/api/approvals/..%2F..%2Ftoken")).status_code == 404
    assert (await served.client.get(address)).json()["status"] == "requested"


async def test_u6_an_approval_tells_its_folder_its_length_and_what_each_scope_covers(served: Served) -> None:
    approval = await ask(served)
    root = served.site.layout.root
    assert approval["folder"] == root.name
    shown = approval["preview"]
    assert approval["length"] == {"lines": len(shown.splitlines()), "characters": len(shown)}
    assert [each["scope"] for each in approval["scopes"]] == ["10m", "thread", "always"]
    assert all("write(c.md)" in each["covers"] for each in approval["scopes"])
    assert str(root) not in str(approval["scopes"])


async def test_u6_several_are_decided_in_one_step_or_not_at_all(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write both files"))
    waiting = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    ids = [each["id"] for each in waiting]
    await chat(served.client, "other", user("u2", "write one file"))
    every = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    for foreign, status in (([*ids, "apr_nope"], 404), ([each["id"] for each in every], 400)):
        refused = await served.client.post("/api/approvals", json={"ids": foreign, "approved": True})
        assert refused.status_code == status
    decided = await served.client.post("/api/approvals", json={"ids": ids, "approved": True})
    assert decided.status_code == 200
    assert {each["status"] for each in decided.json()["approvals"]} == {"approved"}
    await served.idle()
    assert all((served.site.layout.root / name).exists() for name in ("c.md", "d.md"))
    again = await served.client.post("/api/approvals", json={"ids": ids, "approved": False})
    assert again.status_code == 409


async def test_u6_of_several_with_one_decided_already_none_is_decided(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write both files"))
    waiting = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    ids = [each["id"] for each in waiting]
    await served.client.post(f"/api/approvals/{ids[0]}", json={"approved": False})
    refused = await served.client.post("/api/approvals", json={"ids": ids, "approved": True})
    assert refused.status_code == 409
    left = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    assert [each["id"] for each in left] == ids[1:]

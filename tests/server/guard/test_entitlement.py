"""What people of a team may reach: every route of the description, asked by those whom it is not for."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from shipmate.models.scripted import ScriptedModel, call
from shipmate.server.guard.entitlement import ENTITLED
from shipmate.store.port import StepUsage
from shipmate.values.message import timestamp
from tests.support.script import TalkingModel
from tests.support.server import Served, make_site, make_workspace, opener_for, serving
from tests.support.team import join
from tests.support.wire import chat, user

SECRET = "marzipan"
BENS = "bens-own-thread-0001"
NOBODYS = "nobodys-thread-00001"
# What an address may name that is somebody's; each is asked for as it is and as one that never was.
NAMED = ("thread_id", "approval_id", "file_id", "run_id")
# Open to all, or for those who were given its address.
OPEN = ("/readyz", "/healthz", "/api/login", "/api/oidc/start", "/api/oidc/callback", "/shared/{ticket}")
OTHERS = {"message_id": "u1", "number": "1", "turn": "1"}
BODIES: dict[str, Any] = {
    "POST /api/chat": {"id": BENS, "messages": [user("x1", "hello")]},
    "PATCH /api/threads/{thread_id}": {"title": "mine now"},
    "PUT /api/threads/{thread_id}/sharing": {"users": ["anna"]},
    "POST /api/threads/{thread_id}/branch": {"messageId": "u1"},
    "POST /api/threads/{thread_id}/steer": {"text": "yes"},
    "POST /api/threads/{thread_id}/queue": {"text": "yes"},
    "POST /api/threads/{thread_id}/pins": {"text": "x"},
    "POST /api/approvals/{approval_id}": {"approved": True},
    "POST /v1/chat/completions": {"messages": [{"role": "user", "content": "hello"}]},
    "POST /api/account/password": {"current": "x", "password": "y"},
}


USED = StepUsage(
    at=timestamp(),
    thread_id=f"web:room:{BENS}",
    member="captain",
    run_id="run_1",
    step=1,
    model="m",
    input_tokens=5,
    output_tokens=5,
    cache_read_tokens=0,
    cache_write_tokens=0,
    cost=None,
    estimated_tokens=0,
    milliseconds=1,
)


class Prey:
    """What Ben has, in the words of addresses, and what stands there where nobody has anything."""

    def __init__(self, thread: str, approval: str, file: str, run: str) -> None:
        self.real = {"thread_id": thread, "approval_id": approval, "file_id": file, "run_id": run, **OTHERS}
        never = {each: self.real[each][:-4] + "ffff" for each in NAMED[1:]}
        self.never = {"thread_id": NOBODYS, **never, **OTHERS}


async def lay_out(served: Served, ben: httpx2.AsyncClient) -> Prey:
    """Let Ben talk, attach a file, and be asked about a call that changed something before."""
    sent = await ben.post("/api/uploads", files={"file": ("plan.txt", SECRET.encode())})
    first = user("u1", "write one file")
    first["parts"] += [{"type": "file", "mediaType": "text/plain", "url": sent.json()["url"]}]
    first["parts"][0]["text"] = "write one file"
    await chat(ben, BENS, first)
    asked = (await ben.get("/api/approvals")).json()["approvals"]
    done = await ben.post(f"/api/approvals/{asked[0]['id']}", json={"approved": True})
    assert done.json()["approval"]["decidedBy"] == "web:user:ben"
    await served.idle()
    run = (await ben.get(f"/api/threads/{BENS}/messages")).json()["messages"][-1]["metadata"]["runId"]
    assert (await ben.get(f"/api/runs/{run}/changes")).status_code == 200
    await chat(ben, BENS, user("u2", SECRET))
    await chat(ben, BENS, user("u3", "write one file"))
    waiting = (await ben.get("/api/approvals?status=requested")).json()["approvals"]
    await ben.patch(f"/api/threads/{BENS}", json={"title": SECRET})
    return Prey(BENS, waiting[0]["id"], sent.json()["url"].rpartition("/")[2], run)


async def ask(who: httpx2.AsyncClient, method: str, path: str, names: dict[str, str]) -> httpx2.Response:
    address = path.format_map(_Any(names))
    body = BODIES.get(f"{method} {path}", {})
    if path == "/api/uploads":
        return await who.request(method, address, files={"file": ("a.txt", b"a")})
    if path == "/api/chat":
        body = {**body, "id": names["thread_id"]}
    return await who.request(method, address, json=None if method in ("GET", "DELETE") else body)


async def until_told(stream: httpx2.Response) -> AsyncGenerator[str]:
    """Return the lines of a stream up to the first that says something."""
    async for line in stream.aiter_lines():
        yield line
        if line.startswith("data: "):
            return


class _Any(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "x"


async def test_no_route_gives_a_person_of_the_team_what_is_not_theirs(served: Served) -> None:
    ben, anna, gil = (
        await join(served, "ben"),
        await join(served, "anna"),
        await join(served, "gil", "guest"),
    )
    async with ben, anna, gil:
        prey = await lay_out(served, ben)
        before = (await ben.get(f"/api/threads/{BENS}/messages")).text
        schema = (await anna.get("/openapi.json")).json()
        operations = [
            (method.upper(), path)
            for path, item in schema["paths"].items()
            for method in item
            if path not in OPEN
        ]
        assert {f"{method} {path}" for method, path in operations} >= set(ENTITLED) - {
            "GET /openapi.json",
            "GET /docs",
        }
        for who, role in ((anna, "member"), (gil, "guest")):
            for method, path in operations:
                if path == "/api/events" or (method, path) == ("POST", "/api/logout"):
                    continue
                least = ENTITLED.get(f"{method} {path}")
                got = await ask(who, method, path, prey.real)
                place = f"{role}: {method} {path}: {got.status_code} {got.text[:200]}"
                if least is None or (least == "member" and role == "guest"):
                    assert (got.status_code, got.json()["error"]["code"]) == (403, "forbidden"), place
                elif any(f"{{{name}}}" in path for name in NAMED):
                    never = await ask(who, method, path, prey.never)
                    assert (got.status_code, got.content) == (never.status_code, never.content), place
                    assert got.status_code == 404, place
                elif path == "/api/chat":
                    assert got.status_code == 404, place
                else:
                    assert got.status_code < 500, place
                    assert SECRET not in got.text, place
                    assert prey.real["approval_id"] not in got.text, place
                    assert BENS not in got.text.replace('"id":"bens', ""), place
        assert (await ben.get(f"/api/threads/{BENS}/messages")).text == before
        found = (await ben.get("/api/search", params={"query": SECRET})).json()["hits"]
        assert {hit["messageId"] for hit in found} == {"u2"}
        for who in (anna, gil):
            assert (await who.get("/api/search", params={"query": SECRET})).json()["hits"] == []


async def test_files_programs_and_streams_tell_others_nothing(served: Served) -> None:
    ben, anna = await join(served, "ben"), await join(served, "anna")
    async with ben, anna:
        prey = await lay_out(served, ben)
        # A file that is attached to one's own words would be read by the member, and shown in the thread.
        stolen = user("s1", "hello")
        stolen["parts"] += [
            {"type": "file", "mediaType": "text/plain", "url": f"/api/files/{prey.real['file_id']}"}
        ]
        taken = await anna.post("/api/chat", json={"id": "annas-own-thread-0001", "messages": [stolen]})
        assert taken.status_code == 404
        assert (await anna.get("/api/threads")).json()["threads"] == []
        # The same key, the same `user`, the id of a thread: none of them leads a program to another's thread.
        asked = {"messages": [{"role": "user", "content": "hello"}], "user": "same"}
        threads: list[str] = []
        for who in (ben, anna):
            answered = await who.post("/v1/chat/completions", json=asked, headers={"idempotency-key": "k"})
            assert answered.status_code == 200, answered.text
            threads.append(answered.headers["x-shipmate-thread"])
        assert threads[0] != threads[1]
        replies = [
            await anna.post("/v1/chat/completions", json=asked, headers={"x-shipmate-thread": name})
            for name in (f"web:room:{BENS}", threads[0], "web:room:none", "web:studio:captain")
        ]
        assert {each.status_code for each in replies} == {404}
        assert len({each.content for each in replies}) == 1
        # Nobody can take a name that could be guessed, nor a thread of another kind.
        for name in ("room", "web:studio:captain", "telegram:dm:1", f"web:room:{BENS}"):
            told = await anna.post("/api/chat", json={"id": name, "messages": [user("g1", "hello")]})
            assert told.status_code == 404, name
        async with anna.stream("GET", "/api/events") as stream:
            told = [line async for line in until_told(stream)]
            change = json.loads(told[-1].removeprefix("data: "))
        assert change["waiting"] == 0
        assert set(change["changed"]) <= {"threads", "approvals", "runs"}
        assert (await ben.get("/api/usage")).json()["total"]["requests"] > 0


async def test_a_thread_is_shared_by_its_owner_alone_and_a_guest_never_decides(served: Served) -> None:
    ben, anna, gil = (
        await join(served, "ben"),
        await join(served, "anna"),
        await join(served, "gil", "guest"),
    )
    async with ben, anna, gil:
        prey = await lay_out(served, ben)
        shared = await ben.put(f"/api/threads/{BENS}/sharing", json={"users": ["gil", "anna"]})
        assert shared.json() == {"owner": "ben", "users": ["gil", "anna"]}
        assert [each["title"] for each in (await gil.get("/api/threads")).json()["threads"]] == [SECRET]
        assert (await gil.get(f"/api/files/{prey.real['file_id']}")).text == SECRET
        widened = await anna.put(f"/api/threads/{BENS}/sharing", json={"users": ["anna"]})
        assert widened.status_code == 403
        # By a button, by words, by agreeing to a plan, in what a client sends along: nothing decides.
        approval = prey.real["approval_id"]
        assert (await gil.post(f"/api/approvals/{approval}", json={"approved": True})).status_code == 403
        assert (
            await gil.post("/api/approvals", json={"ids": [approval], "approved": True})
        ).status_code == 403
        assert (await gil.patch(f"/api/threads/{BENS}", json={"plan": "go"})).status_code == 403
        last = (await gil.get(f"/api/threads/{BENS}/messages")).json()["messages"][-1]
        for part in last["parts"]:
            if part.get("state") == "approval-requested":
                part |= {"state": "approval-responded", "approval": {"id": approval, "approved": True}}
        await gil.post("/api/chat", json={"id": BENS, "messages": [last], "messageId": last["id"]})
        await chat(gil, BENS, user("g1", "yes"))
        await served.idle()
        assert (await ben.get(f"/api/approvals/{approval}")).json()["status"] == "requested"
        # A member with whom it is shared does decide.
        decided = await anna.post(f"/api/approvals/{approval}", json={"approved": True})
        assert decided.json()["approval"]["decidedBy"] == "web:user:anna"
        await served.idle()
        # A branch belongs to whoever made it, and names no parent to those who do not see it.
        branch = (await anna.post(f"/api/threads/{BENS}/branch", json={"messageId": "u2"})).json()["threadId"]
        assert (await ben.get(f"/api/threads/{branch}")).status_code == 404
        await ben.put(f"/api/threads/{BENS}/sharing", json={"users": []})
        assert (await anna.get(f"/api/threads/{branch}")).json()["branchOf"] is None
        assert (await anna.get(f"/api/threads/{BENS}")).status_code == 404
        # An admin and the owner see all; who is called Ben later has nothing of his.
        await served.site.team.remove("ben")
        again = await join(served, "ben")
        async with again, await join(served, "ada", "admin") as ada:
            assert (await again.get(f"/api/threads/{BENS}")).status_code == 404
            assert (await ada.get(f"/api/threads/{BENS}")).status_code == 200
            assert (await served.client.get(f"/api/threads/{BENS}")).status_code == 200


async def test_limits_hold_for_whoever_talks_and_whoever_owns_the_thread(tmp_path: Path) -> None:
    limits = {"guest": {"perMinute": 2}, "ben": {"tokensPerDay": 1}}
    (make_workspace(tmp_path) / "ship.json").write_bytes(msgspec.json.encode({"team": {"limits": limits}}))
    async with serving(make_site(tmp_path, opener_for(TalkingModel()))) as served:
        await talk_beyond_limits(served)


async def talk_beyond_limits(served: Served) -> None:
    async with await join(served, "ben") as ben, await join(served, "gil", "guest") as gil:
        made = await ben.post("/api/threads", json={})
        own = made.json()["threadId"]
        await (await served.ship()).store.ledger.add_usage(msgspec.structs.replace(USED, thread_id=own))
        spent = await ben.post("/api/chat", json={"id": own, "messages": [user("u2", "hello")]})
        assert (spent.status_code, spent.json()["error"]["code"]) == (429, "budget"), spent.text
        assert (await served.client.put(f"/api/threads/{own}/sharing", json={"users": ["gil"]})).is_success
        assert (await gil.post(f"/api/threads/{own}/queue", json={"text": "hello"})).status_code == 429
        sent = [
            await gil.post(
                "/api/chat", json={"id": f"gils-thread-000000{i}", "messages": [user(f"g{i}", "hello")]}
            )
            for i in range(3)
        ]
        assert [each.status_code for each in sent] == [200, 200, 429]


async def test_what_a_colleague_asks_is_for_those_who_see_where_it_began(tmp_path: Path) -> None:
    table = (
        "| 成员ID | 成员名称 | 类型 | 关系类型 | 关系程度 | 说明 |\n| --- | --- | --- | --- | --- | --- |\n"
    )
    (make_workspace(tmp_path) / "RELATIONS.md").write_text(
        f"{table}| nina | Nina | agent | 下级 | 核心 | |\n"
    )
    (tmp_path / "members/nina").mkdir(parents=True)
    (tmp_path / "members/nina/Agent.md").write_text("# Nina\n")
    (tmp_path / "members/nina/RELATIONS.md").write_text(f"{table}| captain | Mate | agent | 上级 | | |\n")
    script = {
        "plan": [call("ask_member", member="Nina", message="measure it"), "Measured."],
        "measure": [call("write", path="c.md", content="4 m\n"), "4 m."],
    }
    async with (
        serving(make_site(tmp_path, opener_for(ScriptedModel(script)))) as served,
        await join(served, "ben") as ben,
        await join(served, "anna") as anna,
        ben.stream("POST", "/api/chat", json={"id": BENS, "messages": [user("u1", "plan it")]}),
    ):
        # Nothing of it is told in the stream of the thread it began in.
        while not (found := (await ben.get("/api/approvals?status=requested")).json()["approvals"]):
            await served.idle()
        assert found[0]["threadId"].startswith("crew:")
        assert (await anna.get("/api/approvals")).json()["approvals"] == []
        decide = f"/api/approvals/{found[0]['id']}"
        assert (await anna.post(decide, json={"approved": True})).status_code == 404
        assert (await ben.post(decide, json={"approved": True})).status_code == 200
        await served.idle()
        assert (tmp_path / "members/nina/c.md").exists() or (tmp_path / "c.md").exists()

"""Courses and pins over HTTP: opened once, whatever runs, and refused in words."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shipmate.values.thread_id import ThreadId
from tests.support.page import reserve_port
from tests.support.script import TalkingModel
from tests.support.server import Served, make_workspace
from tests.support.wait import LONG
from tests.support.wire import answer, chat, messages, said, user

ROOT = Path(__file__).parents[3]


async def test_m6_a_course_is_opened_once_for_a_key(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    headers = {"Idempotency-Key": "k1"}
    opened = await served.client.post("/api/threads/room/courses", headers=headers)
    again = await served.client.post("/api/threads/room/courses", headers=headers)
    assert (opened.status_code, opened.json()) == (202, again.json())
    assert (opened.json()["course"], opened.json()["waits"]) == (2, False)
    assert opened.json()["say"].startswith("Course 2 is open.")
    rows = await messages(served.client, "room")
    assert [row["metadata"]["course"] for row in rows] == [1, 1, 2]
    assert "Hello there." in said(await chat(served.client, "room", *rows, user("u2", "hello")))
    context = (await served.client.get("/api/threads/room/context")).json()
    assert context["now"]["history"]["count"] == 2


async def test_a_thread_is_summed_up_or_stays_as_it_was(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    rows = await messages(served.client, "room")
    refused = await served.client.post("/api/threads/room/compact", json={"focus": "the mast"})
    assert refused.status_code == 409
    assert "it stays as it was" in refused.text
    assert await messages(served.client, "room") == rows
    assert (await served.client.post("/api/threads/room/compact", json={"focus": 1})).status_code == 400


async def test_a_course_asked_for_during_a_run_opens_when_it_ends(
    served: Served, model: TalkingModel
) -> None:
    model.pause()
    running = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    ship = await served.ship()
    async with ship.keeper.watch("web:room:room") as queue:
        while (await queue.get()).chunk is None:
            pass
    opened = await served.client.post("/api/threads/room/courses")
    pinned = await served.client.post("/api/threads/room/pins", json={"text": "The port is 8022."})
    assert (opened.json()["waits"], opened.json()["course"], pinned.json()["pin"]) == (True, None, None)
    pins = (await served.client.get("/api/threads/room/pins")).json()
    assert pins == {"pins": [], "waiting": ["The port is 8022."]}
    # What waits is answered by no run, so nobody is told that one is about to begin after this.
    model.go_on()
    await running
    await served.idle()
    assert [row["role"] for row in await messages(served.client, "room")][-2:] == ["system", "system"]
    page = (await served.client.get("/api/threads/room/messages")).json()
    assert page["running"] is False
    (pin,) = (await served.client.get("/api/threads/room/pins")).json()["pins"]
    assert (pin["number"], pin["text"], pin["by"]) == (1, "The port is 8022.", "owner")


@pytest.mark.parametrize("way", ["button", "stream"])
async def test_an_approval_is_answered_after_a_new_course(served: Served, way: str) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    await served.client.post("/api/threads/room/courses")
    rows = await messages(served.client, "room")
    if way == "button":
        (approval,) = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
        decided = await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True})
        assert decided.status_code == 200, decided.text
    else:
        # A client sends what it holds; what opened the course stands last in it.
        await chat(served.client, "room", rows[0], answer(rows[1], True), rows[2])
    await served.idle()
    rows = await messages(served.client, "room")
    assert (served.site.layout.root / "c.md").read_text() == "gamma\n"
    assert [part["state"] for part in rows[1]["parts"] if "toolCallId" in part] == ["output-available"]
    assert rows[-1]["role"] == "assistant"
    assert rows[-1]["metadata"]["course"] == 2


async def test_m6_pins_are_made_listed_and_taken_off(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    (_, reply) = await messages(served.client, "room")
    first = await served.client.post("/api/threads/room/pins", json={"text": "The port is 8022."})
    second = await served.client.post("/api/threads/room/pins", json={"messageId": reply["id"]})
    assert [each.status_code for each in (first, second)] == [202, 202]
    assert second.json()["pin"]["source"] == reply["id"]
    pins = (await served.client.get("/api/threads/room/pins")).json()["pins"]
    assert [(pin["number"], pin["text"]) for pin in pins] == [(1, "The port is 8022."), (2, "Hello there.")]
    assert (await served.client.delete("/api/threads/room/pins/1")).status_code == 202
    gone = await served.client.delete("/api/threads/room/pins/1")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not-found")
    (left,) = (await served.client.get("/api/threads/room/pins")).json()["pins"]
    assert left["number"] == 2


async def test_a_retry_finds_the_answer_before_a_pin(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    await served.client.post("/api/threads/room/pins", json={"text": "A fact."})
    rows = await messages(served.client, "room")
    retry: dict[str, Any] = {"trigger": "regenerate-message", "messageId": rows[1]["id"], "key": "k"}
    assert said(await chat(served.client, "room", rows[0], **retry)) == "Hello there."
    await served.client.post("/api/threads/room/courses")
    late = await served.client.post(
        "/api/chat", json={"id": "room", "messages": [rows[0]], **retry, "key": "l"}
    )
    assert late.status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"text": ""}, 400),
        ({"text": "   "}, 400),
        ({"text": "x" * 4001}, 400),
        ({"messageId": "nobody"}, 404),
        ({"text": 7}, 400),
    ],
)
async def test_what_cannot_be_pinned_is_refused(served: Served, body: dict[str, Any], status: int) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    refused = await served.client.post("/api/threads/room/pins", json=body)
    assert refused.status_code == status, refused.text
    assert refused.json()["error"]["message"]
    assert (await served.client.get("/api/threads/room/pins")).json()["pins"] == []


async def test_threads_that_are_not_there_or_in_the_bin_are_refused(served: Served) -> None:
    for way in ("courses", "pins"):
        missing = await served.client.post(f"/api/threads/nowhere/{way}", json={"text": "x"})
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not-found")
    assert not await (await served.ship()).threads.exists(ThreadId.parse("web:room:nowhere"))
    await chat(served.client, "room", user("u1", "hello"))
    await served.client.delete("/api/threads/room")
    for way in ("courses", "pins"):
        binned = await served.client.post(f"/api/threads/room/{way}", json={"text": "x"})
        assert (binned.status_code, binned.json()["error"]["next"]) == (409, "Restore it first.")
    assert (await served.client.get("/api/threads?bin=true")).json()["threads"][0]["id"] == "web:room:room"


async def test_a_thread_without_a_message_has_nothing_to_close(served: Served) -> None:
    made = (await served.client.post("/api/threads", json={"title": "mine"})).json()["threadId"]
    refused = await served.client.post(f"/api/threads/{made}/courses")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert "no message yet" in refused.json()["error"]["message"]
    assert (
        await served.client.post(f"/api/threads/{made}/pins", json={"text": "A fact."})
    ).status_code == 202
    assert len((await served.client.get(f"/api/threads/{made}/pins")).json()["pins"]) == 1


async def test_strangers_open_and_pin_nothing(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    async with served.stranger() as stranger:
        assert (await stranger.post("/api/threads/room/courses")).status_code == 401
        assert (await stranger.post("/api/threads/room/pins", json={"text": "x"})).status_code == 401
        assert (await stranger.get("/api/threads/room/pins")).status_code == 401


@pytest.mark.crash
async def test_a_course_that_waits_behind_a_run_survives_a_kill_and_opens_once(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    with reserve_port() as reserved:
        port: int = reserved.getsockname()[1]
        first = await start(tmp_path, port)
        token = (tmp_path / ".ship" / "token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False)
        second: asyncio.subprocess.Process | None = None
        try:
            async with client, asyncio.timeout(LONG):
                await client.post("/api/chat", json={"id": "room", "messages": [user("u1", "hello")]})
                await client.post("/api/threads/room/queue", json={"text": "count slowly"})
                asked = {"Idempotency-Key": "once"}
                opened = await client.post("/api/threads/room/courses", headers=asked)
                await client.post("/api/threads/room/queue", json={"text": "hello"})
                first.kill()
                await first.wait()
                second = await start(tmp_path, port)
                again = await client.post("/api/threads/room/courses", headers=asked)
                while (await client.get("/api/threads/room/messages")).json()["running"]:
                    await client.get("/api/chat/room/stream")
                rows = await messages(client, "room")
        finally:
            for process in (first, second):
                if process is not None and process.returncode is None:
                    process.kill()
                    await process.wait()
    assert (opened.json()["waits"], again.status_code) == (True, 202)
    courses = [(row["role"], row["metadata"]["course"]) for row in rows]
    assert courses == [
        *[("user", 1), ("assistant", 1)] * 2,
        *[("system", 2), ("user", 2), ("assistant", 2)],
    ]


async def start(folder: Path, port: int) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.talking_server", str(folder), str(port)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process

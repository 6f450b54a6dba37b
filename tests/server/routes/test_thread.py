"""Threads over HTTP: listing, changing, paging, branching, searching, the bin, the queue."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId
from tests.support.priming_script import words
from tests.support.script import COUNTED, TalkingModel
from tests.support.server import Served
from tests.support.wire import answer, chat, messages, queued, running, said, user

ROOM = "/api/threads/room"


async def test_threads_are_listed_newest_first_and_by_page(served: Served) -> None:
    for number in range(5):
        await chat(served.client, f"r{number}", user(f"u{number}", f"hello {number}"))
    page = (await served.client.get("/api/threads?limit=3")).json()
    assert [thread["title"] for thread in page["threads"]] == ["hello 4", "hello 3", "hello 2"]
    rest = (await served.client.get("/api/threads", params={"before": page["next"]})).json()
    assert [thread["title"] for thread in rest["threads"]] == ["hello 1", "hello 0"]
    assert rest["next"] is None
    found = (await served.client.get("/api/threads?query=hello 3")).json()["threads"]
    assert [thread["id"] for thread in found] == ["web:room:r3"]


async def test_a_thread_is_renamed_archived_and_read(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    assert (await served.client.get(ROOM)).json()["unread"]
    changed = await served.client.patch(ROOM, json={"title": "Greetings", "archived": True, "read": True})
    assert changed.status_code == 200
    assert {"title": "Greetings", "archived": True, "unread": False}.items() <= changed.json().items()
    assert (await served.client.get("/api/threads")).json()["threads"] == []
    assert len((await served.client.get("/api/threads?archived=true")).json()["threads"]) == 1
    assert (await served.client.patch(ROOM, json={"read": False})).json()["unread"]
    turned = await served.client.patch(ROOM, json={"title": "gpj.\u202eexe"})
    assert turned.json()["title"] == r"gpj.\u{202e}exe"


async def test_the_bin_keeps_a_thread_until_it_is_restored(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello sailor"))
    assert (await served.client.delete(ROOM)).status_code == 204
    assert (await served.client.delete(ROOM)).status_code == 404
    assert (await served.client.get(f"{ROOM}/messages")).status_code == 404
    assert (await served.client.get("/api/search?query=sailor")).json()["hits"] == []
    assert [t["id"] for t in (await served.client.get("/api/threads?bin=true")).json()["threads"]] == [
        "web:room:room"
    ]
    assert (await served.client.post(f"{ROOM}/restore")).json()["binned"] is False
    assert len(await messages(served.client, "room")) == 2
    assert len((await served.client.get("/api/search?query=sailor")).json()["hits"]) == 1
    assert (await served.client.post(f"{ROOM}/restore")).status_code == 404


async def test_a_thread_that_is_being_answered_is_not_binned(served: Served, model: TalkingModel) -> None:
    model.pause()
    counting = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    await running(served, "room")
    assert (await served.client.delete(ROOM)).status_code == 409
    await served.client.post(f"{ROOM}/stop")
    await counting
    assert (await served.client.delete(ROOM)).status_code == 204


async def test_messages_come_by_page_from_the_end(served: Served) -> None:
    ship = await served.ship()
    rows: list[Any] = [
        {"id": f"m{n}", "role": "user", "parts": [{"type": "text", "text": str(n)}]} for n in range(120)
    ]
    await ship.threads.create(ThreadId.parse("web:room:room"), rows)
    page = (await served.client.get(f"{ROOM}/messages")).json()
    assert [page["messages"][0]["id"], page["messages"][-1]["id"], page["hasMore"]] == ["m70", "m119", True]
    page = (await served.client.get(f"{ROOM}/messages?before=m70&limit=100")).json()
    assert [page["messages"][0]["id"], page["messages"][-1]["id"], page["hasMore"]] == ["m0", "m69", False]
    assert (await served.client.get(f"{ROOM}/messages?before=nothing")).status_code == 404


async def test_unreadable_lines_are_reported_and_the_rest_is_shown(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    path = served.site.layout.thread(ThreadId.parse("web:room:room"))
    path.write_bytes(path.read_bytes() + b"not json\n")
    page = (await served.client.get(f"{ROOM}/messages")).json()
    assert len(page["messages"]) == 2
    assert len(page["problems"]) == 1
    assert str(served.site.layout.root) not in page["problems"][0]


async def test_a_new_thread_is_empty_and_belongs_to_its_member(served: Served) -> None:
    made = await served.client.post("/api/threads", json={"title": "Plans", "member": "captain"})
    assert made.status_code == 201
    thread_id = made.json()["threadId"]
    assert ThreadId.parse(thread_id).platform == "web"
    page = (await served.client.get(f"/api/threads/{thread_id}/messages")).json()
    assert (page["messages"], page["running"]) == ([], False)
    assert (await served.client.get(f"/api/threads/{thread_id}")).json()["title"] == "Plans"
    assert said(await chat(served.client, thread_id, user("u1", "hello"))) == "Hello there."
    assert (await served.client.post("/api/threads", json={"member": "nobody"})).status_code == 404


async def test_a_branch_holds_what_came_before_and_nothing_waits_in_it(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    await chat(served.client, "room", user("u2", "write one file"))
    await chat(served.client, "room", user("u3", "again"))
    made = await served.client.post(f"{ROOM}/branch", json={"messageId": "u3", "text": "think"})
    assert (made.status_code, made.json()["text"]) == (201, "think")
    branch = made.json()["threadId"]
    stored = await messages(served.client, branch)
    assert [message["id"] for message in stored][::2] == ["u1", "u2"]
    parts = [part for message in stored for part in message["parts"] if "toolCallId" in part]
    assert [part["state"] for part in parts] == ["output-error"]
    assert all(message["metadata"]["threadId"] == branch for message in stored)
    assert said(await chat(served.client, branch, user("b1", "think"))) == "I thought about it."
    assert len(await messages(served.client, "room")) == 6
    empty = await served.client.post(f"{ROOM}/branch", json={"messageId": "u1"})
    assert (empty.json()["text"], await messages(served.client, empty.json()["threadId"])) == ("hello", [])
    assert (await served.client.post(f"{ROOM}/branch", json={"messageId": "x"})).status_code == 404


async def test_the_queue_is_seen_and_taken_back(served: Served, model: TalkingModel) -> None:
    model.pause()
    counting = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    await running(served, "room")
    waiting = asyncio.create_task(chat(served.client, "room", user("u2", "hello")))
    added = await served.client.post(f"{ROOM}/queue", json={"text": "again", "messageId": "u3"})
    assert (added.status_code, added.json()) == (202, {"messageId": "u3"})
    queue = await queued(served, "room", 2)
    assert sorted((item["messageId"], item["text"]) for item in queue) == [("u2", "hello"), ("u3", "again")]
    assert (await served.client.delete(f"{ROOM}/queue/u2")).status_code == 204
    # Whoever did not hear that it was taken back may say so again.
    assert (await served.client.delete(f"{ROOM}/queue/u2")).status_code == 204
    assert (await served.client.delete(f"{ROOM}/queue/u1")).status_code == 404
    assert said(await waiting) == ""
    model.go_on()
    assert said(await counting) == COUNTED
    await served.idle()
    ids = [message["id"] for message in await messages(served.client, "room")]
    assert "u3" in ids
    assert "u2" not in ids


async def test_steering_reaches_the_thread(served: Served, model: TalkingModel) -> None:
    model.pause()
    counting = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    await running(served, "room")
    steered = await served.client.post(f"{ROOM}/steer", json={"text": "hello"})
    assert steered.status_code == 202
    model.go_on()
    await counting
    await served.idle()
    assert said_last(await messages(served.client, "room")) == "Hello there."


async def test_search_finds_words_in_both_languages(served: Served) -> None:
    await chat(served.client, "room", user("u1", "明天下午开会讨论预算"))
    hits = (await served.client.get("/api/search", params={"query": "下午"})).json()["hits"]
    assert [(hit["threadId"], hit["messageId"], hit["role"]) for hit in hits] == [
        ("web:room:room", "u1", "user")
    ]
    assert "下午" in hits[0]["snippet"]
    assert (await served.client.get("/api/search?query=")).json()["hits"] == []


async def test_unknown_threads_are_not_found_anywhere(served: Served) -> None:
    for method, tail in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/messages"),
        ("POST", "/restore"),
        ("POST", "/steer"),
        ("POST", "/queue"),
        ("POST", "/branch"),
        ("GET", "/context"),
        ("GET", "/context/diff?from=1"),
        ("GET", "/context/turns/1"),
        ("DELETE", "/queue/x"),
    ):
        body = {"text": "x", "messageId": "x"} if method in ("POST", "PATCH") else None
        response = await served.client.request(method, f"/api/threads/nowhere{tail}", json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "not-found"), (method, tail)


async def test_a_thread_of_another_platform_can_be_answered_here(served: Served) -> None:
    thread = "telegram:dm:42"
    await chat(served.client, thread, user("u1", "write one file"))
    done = await chat(served.client, thread, answer((await messages(served.client, thread))[-1], True))
    assert said(done) == "Done with it."
    assert (await served.client.get(f"/api/threads/{thread}")).json()["platform"] == "telegram"


async def test_an_id_may_hold_any_sign(served: Served) -> None:
    for number, scope in enumerate(("a/b", "50%", "x?y#z", "名字", "a b")):
        await chat(served.client, f"web:room:{scope}", user(f"u{number}", "hello"))
        address = f"/api/threads/{quote(f'web:room:{scope}', safe='')}"
        assert (await served.client.get(address)).json()["id"] == f"web:room:{scope}"
        assert len((await served.client.get(f"{address}/messages")).json()["messages"]) == 2
        assert (await served.client.get(f"/api/chat/{quote(scope, safe='')}/stream")).status_code == 204


def said_last(stored: list[dict[str, Any]]) -> str:
    return "".join(part["text"] for part in stored[-1]["parts"] if part["type"] == "text")


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"priming": {}}, "scriptRefs"),
        ({"priming": {"showInUi": True}}, "scriptRefs"),
        ({"priming": {"scriptRef": "team_shared/a"}}, "Write scriptRefs"),
        ({"priming": {"scriptRef": ["team_shared/a"], "showInUi": True}}, "Write scriptRefs"),
        ({"priming": {"scriptrefs": ["team_shared/a"]}}, "Write scriptRefs"),
        ({"priming": {"scriptRefs": ["team_shared/a"], "showInUI": True}}, "Write showInUi"),
        ({"priming": {"scriptRefs": ["team_shared/a"], "showInUi": "yes"}}, "boolean"),
        ({"priming": {"scriptRefs": ["team_shared/a"], "showInUi": 1}}, "boolean"),
        ({"priming": {"scriptRefs": ["team_shared/a"], "showInUi": None}}, "boolean"),
        ({"priming": {"scriptRefs": "team_shared/a", "showInUi": True}}, "scriptRefs"),
        ({"priming": {"scriptRefs": [5], "showInUi": True}}, "string"),
        ({"priming": {"scriptRefs": ["team_shared/a"], "else": 1}}, "Write scriptRefs, showInUi"),
        ({"priming": ["team_shared/a"]}, "priming"),
        ({"priming": "team_shared/a"}, "priming"),
        ({"primimg": {"scriptRefs": ["team_shared/a"]}}, "Write priming"),
        ({"scriptRefs": ["team_shared/a"]}, "Write member, title, priming"),
    ],
)
async def test_p7_a_request_that_would_leave_a_thread_unprimed_is_refused(
    served: Served, body: JsonObject, hint: str
) -> None:
    path = served.site.layout.shared_priming / "a.md"
    path.parent.mkdir(parents=True)
    path.write_text(words("hello", "hi"), encoding="utf-8")
    response = await served.client.post("/api/threads", json=body)
    assert (response.status_code, hint in response.text) == (400, True), response.text
    assert (await served.client.get("/api/threads")).json()["threads"] == []


async def test_p7_damaged_recents_are_said_when_a_dialog_is_made(served: Served) -> None:
    layout = served.site.layout
    layout.shared_priming.mkdir(parents=True)
    (layout.shared_priming / "a.md").write_text(words("hello", "hi"), encoding="utf-8")
    recent = layout.recent_priming("captain")
    recent.parent.mkdir(parents=True)
    recent.write_bytes(b"{")
    priming = {"scriptRefs": ["team_shared/a"], "showInUi": True}
    made = await served.client.post("/api/threads", json={"priming": priming})
    assert made.status_code == 201
    (problem,) = made.json()["problems"]
    assert ("set aside" in problem, str(layout.root) in problem) == (True, False)

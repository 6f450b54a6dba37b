"""The chat route: what is taken from a client, what is not, and streams under bad conditions."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import msgspec
import pytest

from tests.support.script import COUNTED, TalkingModel
from tests.support.server import Served
from tests.support.wire import answer, chat, kinds, messages, queued, read_chunks, running, said, user


async def test_an_answer_is_streamed_and_stored(served: Served) -> None:
    chunks = await chat(served.client, "room", user("u1", "hello"))
    assert said(chunks) == "Hello there."
    assert [kinds(chunks)[0], kinds(chunks)[-1]] == ["start", "finish"]
    stored = await messages(served.client, "room")
    assert [message["id"] for message in stored] == ["u1", chunks[0]["messageId"]]


async def test_a_thread_is_listed_from_its_first_word_on(served: Served, model: TalkingModel) -> None:
    model.pause()
    async with served.client.stream(
        "POST", "/api/chat", json=body("room", user("u1", "count slowly"))
    ) as answering:
        await first_chunk(answering)
        listed = (await served.client.get("/api/threads")).json()["threads"]
        assert [(thread["title"], thread["running"]) for thread in listed] == [("count slowly", True)]
        model.go_on()


async def test_only_the_last_message_is_believed(served: Served) -> None:
    forged: dict[str, Any] = {
        "id": "m0",
        "role": "assistant",
        "parts": [{"type": "text", "text": "I promise."}],
    }
    await chat(served.client, "room", user("u0", "never said"), forged, user("u1", "hello"))
    stored = await messages(served.client, "room")
    assert [message["role"] for message in stored] == ["user", "assistant"]
    assert stored[0]["id"] == "u1"


async def test_unknown_fields_are_tolerated_everywhere(served: Served) -> None:
    message = user("u1", "hello")
    message |= {"metadata": {"a": 1}, "novelty": [1], "annotations": None}
    message["parts"] = [
        {"type": "step-start"},
        {"type": "text", "text": "hello", "state": "done", "citations": [], "providerMetadata": {"x": {}}},
        {"type": "data-thing", "data": 1},
        {"type": "custom", "kind": "x"},
    ]
    chunks = await chat(
        served.client, "room", message, novelty=True, trigger="submit-message", messageId=None
    )
    assert said(chunks) == "Hello there."


async def test_a_repeated_message_starts_nothing_and_gets_the_same_answer(served: Served) -> None:
    first = await chat(served.client, "room", user("u1", "hello"))
    again = await chat(served.client, "room", user("u1", "hello"))
    assert (said(again), again[0]["messageId"]) == (said(first), first[0]["messageId"])
    assert len(await messages(served.client, "room")) == 2


async def test_a_repeat_while_running_joins_the_run(served: Served) -> None:
    one, two = await asyncio.gather(
        chat(served.client, "room", user("u1", "count slowly")),
        chat(served.client, "room", user("u1", "count slowly")),
    )
    assert said(one) == said(two) == COUNTED
    assert len(await messages(served.client, "room")) == 2


async def test_a_message_id_of_another_thread_is_a_message_of_its_own(served: Served) -> None:
    first = await chat(served.client, "room", user("u1", "hello"))
    other = await chat(served.client, "other", user("u1", "think"))
    assert (said(first), said(other)) == ("Hello there.", "I thought about it.")
    assert (await messages(served.client, "other"))[0]["id"] == "u1"


async def test_an_approval_goes_on_with_the_same_message(served: Served) -> None:
    asked = await chat(served.client, "room", user("u1", "write one file"))
    assert "tool-approval-request" in kinds(asked)
    waiting = (await messages(served.client, "room"))[-1]
    done = await chat(served.client, "room", answer(waiting, True))
    assert done[0]["messageId"] == asked[0]["messageId"]
    assert said(done) == "Done with it."
    assert (served.site.layout.root / "c.md").read_text() == "gamma\n"


async def test_the_stored_call_runs_whatever_the_client_shows(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    waiting = answer((await messages(served.client, "room"))[-1], True)
    for part in waiting["parts"]:
        if "input" in part:
            part["input"] = {"path": "evil.md", "content": "evil"}
    await chat(served.client, "room", waiting)
    assert not (served.site.layout.root / "evil.md").exists()
    assert (served.site.layout.root / "c.md").read_text() == "gamma\n"


@pytest.mark.parametrize("approved", ["true", 1, "yes", None, [], {}])
async def test_only_a_real_boolean_approves(served: Served, approved: Any) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    waiting = (await messages(served.client, "room"))[-1]
    response = await served.client.post("/api/chat", json=body("room", answer(waiting, approved)))
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
    assert not (served.site.layout.root / "c.md").exists()


async def test_two_tabs_answering_at_once_run_the_call_once(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    waiting = (await messages(served.client, "room"))[-1]
    both = await asyncio.gather(
        chat(served.client, "room", answer(waiting, True)),
        chat(served.client, "room", answer(waiting, False, "no")),
    )
    stored = await messages(served.client, "room")
    states = [part["state"] for part in stored[-1]["parts"] if "toolCallId" in part]
    assert states in (["output-available"], ["output-denied"])
    assert (served.site.layout.root / "c.md").exists() == (states == ["output-available"])
    assert sum(said(chunks) == "Done with it." for chunks in both) >= 1
    decided = (await served.client.get("/api/approvals")).json()["approvals"]
    assert [approval["status"] for approval in decided] in (["approved"], ["denied"])


async def test_an_answer_that_was_taken_before_shows_what_came_of_it(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    waiting = (await messages(served.client, "room"))[-1]
    await chat(served.client, "room", answer(waiting, True))
    again = await chat(served.client, "room", answer(waiting, False))
    assert "tool-output-available" in kinds(again)
    assert "tool-input-available" not in kinds(again)
    assert said(again) == "Done with it."
    assert (served.site.layout.root / "c.md").exists()


async def test_a_second_message_waits_for_its_turn(served: Served, model: TalkingModel) -> None:
    model.pause()
    first = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    await running(served, "room")
    waiting = asyncio.create_task(chat(served.client, "room", user("u2", "hello")))
    await queued(served, "room", 1)
    model.go_on()
    second = await waiting
    assert second[0]["type"] == "data-queue"
    assert second[0]["data"] == {"messageId": "u2", "position": 1}
    assert said(second) == "Hello there."
    assert said(await first) == COUNTED
    assert [message["id"] for message in await messages(served.client, "room")][::2] == ["u1", "u2"]


async def test_a_client_that_leaves_does_not_stop_the_run_and_can_come_back(
    served: Served, model: TalkingModel
) -> None:
    model.pause()
    async with served.client.stream(
        "POST", "/api/chat", json=body("room", user("u1", "count slowly"))
    ) as answering:
        await first_chunk(answering)
    page = (await served.client.get("/api/threads/room/messages")).json()
    assert page["running"]
    assert [message["id"] for message in page["messages"]] == ["u1"]
    async with served.client.stream("GET", "/api/chat/room/stream") as resumed:
        model.go_on()
        text = (await resumed.aread()).decode()
    assert said(read_chunks(text)) == COUNTED
    assert said_in(await messages(served.client, "room")) == COUNTED


async def test_there_is_nothing_to_resume_when_nothing_runs(served: Served) -> None:
    assert (await served.client.get("/api/chat/nowhere/stream")).status_code == 204
    await chat(served.client, "room", user("u1", "hello"))
    assert (await served.client.get("/api/chat/room/stream")).status_code == 204


async def test_a_half_closed_connection_leaves_the_server_well(served: Served) -> None:
    host, _, port = served.address.removeprefix("http://").rpartition(":")
    for number in range(5):
        reader, writer = await asyncio.open_connection(host, int(port))
        request = msgspec.json.encode(body("room", user(f"u{number}", "count slowly")))
        head = [
            "POST /api/chat HTTP/1.1",
            f"Host: {host}:{port}",
            f"Authorization: {served.bearer['authorization']}",
            f"Content-Length: {len(request)}",
        ]
        writer.write("\r\n".join([*head, "", ""]).encode() + request)
        await writer.drain()
        assert b"200" in await reader.readline()
        writer.transport.abort()
    assert (await served.client.get("/healthz")).status_code == 200
    assert (await served.client.post("/api/threads/room/stop")).status_code == 200


async def test_stopping_keeps_what_was_said(served: Served, model: TalkingModel) -> None:
    model.pause()
    counting = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    await running(served, "room")
    assert (await served.client.post("/api/threads/room/stop")).json() == {"stopped": True}
    chunks = await counting
    assert chunks[-1]["type"] == "abort"
    assert COUNTED.startswith(said(chunks))
    assert said(chunks) != COUNTED
    assert said_in(await messages(served.client, "room")) == said(chunks)
    assert (await served.client.post("/api/threads/room/stop")).json() == {"stopped": False}


async def test_trouble_at_the_model_is_told_without_our_insides(served: Served) -> None:
    chunks = await chat(served.client, "room", user("u1", "fail"))
    assert "error" in kinds(chunks)
    told = next(chunk for chunk in chunks if chunk["type"] == "error")["errorText"]
    assert told == "the provider cannot be reached"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"id": 1, "messages": []}',
        b'{"id": "a"}',
        b'{"id": "a", "messages": {}}',
        b'{"id": "a", "messages": []}',
        b'{"id": "a", "messages": [null]}',
        b'{"id": "a", "messages": ["x"]}',
        b'{"id": "a", "messages": [{"role": "system", "id": "s", "parts": []}]}',
        b'{"id": "a", "messages": [{"role": "user", "id": "u"}]}',
        b'{"id": "a", "messages": [{"role": "user", "id": "u", "parts": []}]}',
        b'{"id": "a", "messages": [{"role": "user", "id": "u", "parts": [{"type": "text", "text": 5}]}]}',
        b'{"id": "a", "messages": [{"role": "user", "id": 7, "parts": [{"type": "text", "text": "x"}]}]}',
        b'{"id": "a", "messages": [{"role": "user", "id": "u", "parts": [{"type": "file", "url": 1}]}]}',
        b'{"id": "a", "messages": [{"role": "user", "id": "u", "parts":'
        b' [{"type": "file", "mediaType": "image/png", "url": "http://169.254.169.254/"}]}]}',
        b'{"id": "", "messages": [{"role": "user", "id": "u", "parts": [{"type": "text", "text": "x"}]}]}',
        b'{"id": "\\u0000", "messages": [{"role":"user","id":"u","parts":[{"type":"text","text":"x"}]}]}',
        b'{"id": "a", "messages": [{"role": "assistant", "id": "m", "parts": []}]}',
        b'{"id": "a", "messages": [{"role": "assistant", "id": "m", "parts":'
        b' [{"state": "approval-responded", "approval": true}]}]}',
    ],
)
async def test_what_cannot_be_understood_is_refused_in_words(served: Served, sent: bytes) -> None:
    response = await served.client.post("/api/chat", content=sent)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")


async def test_answers_in_an_unknown_thread_are_refused(served: Served) -> None:
    part = {"toolCallId": "c", "state": "approval-responded", "approval": {"id": "a", "approved": True}}
    message = {"id": "m", "role": "assistant", "parts": [part]}
    response = await served.client.post("/api/chat", json=body("nowhere", message))
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not-found")


def body(thread: str, *sent: dict[str, Any]) -> dict[str, Any]:
    return {"id": thread, "messages": list(sent)}


async def first_chunk(response: httpx2.Response) -> None:
    async for line in response.aiter_lines():
        if "text-delta" in line:
            return


def said_in(stored: list[dict[str, Any]]) -> str:
    return "".join(part["text"] for part in stored[-1]["parts"] if part["type"] == "text")

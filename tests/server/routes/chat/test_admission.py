"""Retry, edit, decide: what a chat request starts, what it joins, and what is refused in words."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from shipmate.speech.speech import Speech
from shipmate.workspace.upload import keep_upload
from tests.support.script import COUNTED, TalkingModel
from tests.support.server import Served
from tests.support.wire import answer, chat, kinds, messages, queued, read_chunks, running, said, user

RETRY = "regenerate-message"


async def test_d2_a_retry_replaces_the_last_answer_and_keeps_it(served: Served) -> None:
    first = await chat(served.client, "room", user("u1", "hello"))
    again = await chat(served.client, "room", user("u1", "hello"), trigger=RETRY)
    assert said(again) == "Hello there."
    stored = await messages(served.client, "room")
    assert stored[1]["metadata"]["replacedBy"] == again[0]["messageId"] != first[0]["messageId"]


async def test_d2_a_retry_of_an_older_answer_is_refused_and_runs_nothing(served: Served) -> None:
    first = await chat(served.client, "room", user("u1", "hello"))
    await chat(served.client, "room", user("u2", "think"))
    before = await messages(served.client, "room")
    for named in (first[0]["messageId"], "u1"):
        refused = await post(served, "room", user("u1", "hello"), trigger=RETRY, messageId=named)
        assert_conflict(refused, "no longer the last")
    assert_conflict(await post(served, "room", user("u1", "hello"), trigger=RETRY), "no longer the last")
    assert await messages(served.client, "room") == before


async def test_d2_a_retry_sent_twice_runs_once(served: Served) -> None:
    first = await chat(served.client, "room", user("u1", "hello"))
    asked = {"trigger": RETRY, "messageId": first[0]["messageId"]}
    one = await chat(served.client, "room", user("u1", "hello"), **asked)
    two = await chat(served.client, "room", user("u1", "hello"), **asked)
    assert (two[0]["messageId"], said(two)) == (one[0]["messageId"], said(one))
    assert len(await messages(served.client, "room")) == 3
    three = await chat(
        served.client, "room", user("u1", "hello"), trigger=RETRY, messageId=one[0]["messageId"]
    )
    assert three[0]["messageId"] != one[0]["messageId"]
    assert len(await messages(served.client, "room")) == 4


@pytest.mark.parametrize("place", ["body", "header"])
async def test_d2_a_key_makes_a_retry_one(served: Served, place: str) -> None:
    first = await chat(served.client, "room", user("u1", "hello"))
    asked: dict[str, Any] = {"trigger": RETRY, "messageId": first[0]["messageId"]}
    keyed = {"key": "k1"} if place == "body" else {}
    headers = {"idempotency-key": "k1"} if place == "header" else {}
    one = await post(served, "room", user("u1", "hello"), headers=headers, **asked, **keyed)
    two = await post(served, "room", user("u1", "hello"), headers=headers, **asked, **keyed)
    assert read_chunks(one.text)[0]["messageId"] == read_chunks(two.text)[0]["messageId"]
    other = await post(served, "room", user("u1", "hello"), key="k2", **asked)
    assert_conflict(other, "no longer the last")
    assert len(await messages(served.client, "room")) == 3


async def test_d2_a_retry_whose_connection_was_lost_is_joined(served: Served, model: TalkingModel) -> None:
    await chat(served.client, "room", user("u1", "count slowly"))
    model.pause()
    asked = {"id": "room", "messages": [user("u1", "count slowly")], "trigger": RETRY, "key": "k"}
    lost = asyncio.create_task(served.client.post("/api/chat", json=asked))
    await running(served, "room")
    lost.cancel()
    joined = asyncio.create_task(served.client.post("/api/chat", json=asked))
    # Without a key it is the answer being written that a retry means.
    plain = {key: value for key, value in asked.items() if key != "key"}
    also = asyncio.create_task(served.client.post("/api/chat", json=plain))
    model.go_on()
    told = [read_chunks((await each).text) for each in (joined, also)]
    assert [said(each) for each in told] == [COUNTED, COUNTED]
    assert len(await messages(served.client, "room")) == 3


async def test_d2_another_retry_of_what_is_being_written_is_refused(
    served: Served, model: TalkingModel
) -> None:
    await chat(served.client, "room", user("u1", "count slowly"))
    model.pause()
    counting = user("u1", "count slowly")
    going = asyncio.create_task(post(served, "room", counting, trigger=RETRY, key="k"))
    await running(served, "room")
    other = await post(served, "room", user("u1", "count slowly"), trigger=RETRY, key="other")
    assert_conflict(other, "being written")
    model.go_on()
    assert (await going).status_code == 200


async def test_d2_a_retry_of_the_very_answer_that_is_being_written_is_refused(
    served: Served, model: TalkingModel
) -> None:
    model.pause()
    going = asyncio.create_task(post(served, "room", user("u1", "count slowly")))
    await running(served, "room")
    run = (await served.ship()).keeper.running("web:room:room")
    assert run is not None
    refused = await post(served, "room", user("u1", "x"), trigger=RETRY, messageId=run.message_id)
    assert_conflict(refused, "being written")
    model.go_on()
    assert (await going).status_code == 200


async def test_d16_a_retry_in_an_unknown_thread_makes_none(served: Served) -> None:
    refused = await post(served, "nowhere", user("u1", "hello"), trigger=RETRY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not-found")
    assert (await served.client.get("/api/threads")).json()["threads"] == []


@pytest.mark.parametrize("trigger", ["submit-message", RETRY])
async def test_m4_an_unknown_member_is_said_before_anything_is_stored(served: Served, trigger: str) -> None:
    refused = await post(served, "room", user("u1", "hello"), trigger=trigger, member="ghost")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (404, "not-found")
    assert "there is no member 'ghost'. There are: captain" in error["message"]
    assert (await served.client.get("/api/threads")).json()["threads"] == []
    assert await (await served.ship()).store.threads.find("web:room:room") is None
    await chat(served.client, "room", user("u1", "hello"))
    assert (await post(served, "room", user("u2", "x"), trigger=trigger, member="../up")).status_code == 404
    assert len(await messages(served.client, "room")) == 2
    made = await served.client.post("/api/threads", json={"member": "ghost"})
    assert made.status_code == 404


async def test_d16_a_retry_of_an_unknown_message_is_refused(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    refused = await post(served, "room", user("u1", "hello"), trigger=RETRY, messageId="nobody")
    assert refused.status_code == 404
    assert len(await messages(served.client, "room")) == 2


async def test_d16_a_repeat_in_a_binned_thread_says_where_its_answer_is(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    assert (await served.client.delete("/api/threads/room")).status_code == 204
    assert_conflict(await post(served, "room", user("u1", "hello")), "bin")
    fresh = await chat(served.client, "room", user("u2", "think"))
    assert said(fresh) == "I thought about it."
    assert [each["id"] for each in await messages(served.client, "room")][::2] == ["u1", "u2"]


async def test_w2_other_words_under_a_stored_id_are_refused(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    refused = await post(served, "room", user("u1", "think"), messageId="u1")
    assert_conflict(refused, "other words")
    assert "branch" in refused.json()["error"]["next"]
    same = await chat(served.client, "room", user("u1", "hello"), messageId="u1")
    assert said(same) == "Hello there."
    assert len(await messages(served.client, "room")) == 2


async def test_w2_another_file_under_a_stored_id_is_refused(served: Served) -> None:
    await chat(served.client, "room", user("u1", "hello"))
    sent = await served.client.post("/api/uploads", files={"file": ("notes.txt", b"words", "text/plain")})
    with_file = user("u1", "hello")
    with_file["parts"].append({"type": "file", "url": sent.json()["url"], "mediaType": "text/plain"})
    assert_conflict(await post(served, "room", with_file, messageId="u1"), "other words")
    assert len(await messages(served.client, "room")) == 2


async def test_w2_other_words_under_a_waiting_id_are_refused(served: Served, model: TalkingModel) -> None:
    model.pause()
    first = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
    await running(served, "room")
    second = asyncio.create_task(chat(served.client, "room", user("u2", "hello")))
    await queued(served, "room", 1)
    assert_conflict(await post(served, "room", user("u2", "think")), "other words")
    model.go_on()
    assert said(await second) == "Hello there."
    await first


async def test_w7_a_decision_in_an_earlier_message_is_taken_with_new_words(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write both files"))
    asked = (await messages(served.client, "room"))[-1]
    denied = deny_first(asked)
    told = await chat(served.client, "room", user("u1", "write both files"), denied, user("u2", "hello"))
    assert said(told) == "Hello there."
    stored = await messages(served.client, "room")
    states = [part["state"] for part in stored[1]["parts"] if "toolCallId" in part]
    assert states == ["output-denied", "approval-requested"]
    # The message that changed is told whole, beside the one that is streamed.
    (beside,) = [chunk["data"] for chunk in told if chunk["type"] == "data-message"][-1:]
    assert beside == stored[1]


async def test_w7_a_decision_far_back_is_taken_alone(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    asked = (await messages(served.client, "room"))[-1]
    await chat(served.client, "room", user("u2", "hello"))
    last = (await messages(served.client, "room"))[-1]
    sent = [user("u1", "write one file"), answer(asked, True), user("u2", "hello"), last]
    told = await chat(served.client, "room", *sent, messageId=asked["id"])
    assert told[0] | {"messageMetadata": None} == {
        "type": "start",
        "messageId": asked["id"],
        "messageMetadata": None,
    }
    assert "tool-output-available" in kinds(told)
    assert (served.site.layout.root / "c.md").read_text() == "gamma\n"


async def test_w8_identical_calls_are_separate_questions(served: Served) -> None:
    await chat(served.client, "room", user("u1", "log it three times"))
    asked = (await messages(served.client, "room"))[-1]
    states = [part["state"] for part in asked["parts"] if "toolCallId" in part]
    assert states == ["approval-requested"] * 3
    assert len({part["approval"]["id"] for part in asked["parts"] if "approval" in part}) == 3
    await chat(served.client, "room", answer(asked, True))
    stored = (await messages(served.client, "room"))[-1]
    assert [part["state"] for part in stored["parts"] if "toolCallId" in part] == ["output-available"] * 3


async def test_d10_a_call_that_was_decided_late_is_shown(served: Served) -> None:
    await chat(served.client, "room", user("u1", "write one file"))
    (approval,) = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
    await chat(served.client, "room", user("u2", "hello"))
    ship = await served.ship()
    async with ship.keeper.watch("web:room:room") as queue:
        decided = await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True})
        assert decided.status_code == 200
        seen: list[tuple[str, str]] = []
        while (event := await queue.get()).outcome is None:
            if event.chunk is not None:
                seen.append((event.message_id, event.chunk["type"]))
    stored = await messages(served.client, "room")
    assert (stored[1]["id"], "tool-output-available") in seen


def deny_first(message: dict[str, Any]) -> dict[str, Any]:
    parts = [dict(part) for part in message["parts"]]
    first = next(part for part in parts if part.get("state") == "approval-requested")
    first |= {"state": "approval-responded", "approval": {"id": first["approval"]["id"], "approved": False}}
    return {**message, "parts": parts}


async def test_m8_a_recording_that_is_sent_again_is_the_message_it_was(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hear(_speech: Speech, _data: bytes, media_type: str) -> str:
        assert media_type == "audio/wav"
        return "hello"

    monkeypatch.setattr(Speech, "transcribe", hear)
    kept = keep_upload((await served.ship()).uploads, b"RIFF\0\0\0\0WAVEfmt ", "voice.wav")
    file = {"type": "file", "url": kept.url, "mediaType": kept.media_type, "filename": kept.filename}
    spoken = {"id": "u1", "role": "user", "parts": [file]}
    first, again = await chat(served.client, "room", spoken), await chat(served.client, "room", spoken)
    assert (again[0]["messageId"], said(again)) == (first[0]["messageId"], "Hello there.")
    stored = await messages(served.client, "room")
    assert (stored[0]["metadata"]["spoken"], stored[0]["parts"]) == (
        True,
        [file, {"type": "text", "text": "hello"}],
    )
    assert_conflict(await post(served, "room", user("u1", "something else")), "other words")


async def post(
    served: Served, thread: str, *sent: dict[str, Any], headers: dict[str, str] | None = None, **extra: Any
) -> httpx2.Response:
    return await served.client.post(
        "/api/chat", json={"id": thread, "messages": list(sent), **extra}, headers=headers
    )


def assert_conflict(response: httpx2.Response, words: str) -> None:
    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict"), response.text
    assert words in response.json()["error"]["message"]

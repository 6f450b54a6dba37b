"""Each request begins with the one before it, through the whole product, over HTTP, on all four wires."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.app import Shipmate
from shipmate.context.kept.account import list_turns
from shipmate.context.kept.kept_file import read_kept
from shipmate.orchestrator.feed import FeedEvent
from shipmate.server.port import Ship
from shipmate.values.event import CourseEvent, Outcome, RetryEvent, TextEvent
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from tests.support.provider_case import KEY, PROTOCOLS
from tests.support.provider_server import ProviderServer, Recorded
from tests.support.provider_wire import Call, Reply, refuse, say
from tests.support.server import make_site, serving

TURNS = 20
ROOM = ThreadId("web", "room", "1")
MODELS = {
    "anthropic": "claude-sonnet-4-6",
    "chat": "gpt-5.5",
    "responses": "gpt-5.5",
    "google": "gemini-3-pro",
}
STAND_LAST = {"anthropic": "messages", "chat": "messages", "responses": "input", "google": "contents"}


def settings(protocol: str, url: str, reasoning: str | None) -> dict[str, Any]:
    provider, _, path = PROTOCOLS[protocol]
    found = {"provider": provider, "model": MODELS[protocol], "baseUrl": url + path, "apiKey": KEY}
    return found if reasoning is None else {**found, "reasoning": reasoning}


def words(number: int) -> TextEvent:
    return TextEvent(
        platform="web",
        thread_id=str(ROOM),
        user_id="lin",
        message_id=f"m{number}",
        timestamp=timestamp(),
        text=f"Look at it, time {number}: 第{number}次",
        extra_context=f"Said in group {number // 3}.",
    )


def replies(number: int, *, thinks: bool) -> list[Reply]:
    thinking = f"Thought {number}." if thinks else ""
    calls = tuple(
        Call("read", '{"path": "Agent.md"}', f"call_{number}_{place}") for place in range(1 + number % 3)
    )
    return [Reply(calls=calls, thinking=thinking), say(f"Answer {number}.", thinking=thinking)]


def prefix(request: Recorded) -> bytes:
    """Write what a provider caches, in its order, as the wire wrote it; only the closing brackets are cut."""
    last = STAND_LAST[request.protocol]
    assert list(request.body)[-1] == last
    first = [request.body.get(key) for key in ("tools", "system", "instructions", "systemInstruction")]
    text = json.dumps([first, request.body[last]], ensure_ascii=False)
    return text[:-2].encode()


async def talk(ship: Shipmate, server: ProviderServer, *, thinks: bool) -> None:
    for number in range(TURNS):
        server.script(*replies(number, thinks=thinks))
        outcome = await (await ship.receive(words(number))).outcome()
        assert (outcome.status, outcome.error) == ("replied", None)


@pytest.mark.parametrize("thinks", [True, False], ids=["thinking", "plain"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_w3_requests_only_grow_over_twenty_turns_with_calls(
    tmp_path: Path, protocol: str, *, thinks: bool
) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n\nBe kind to files.\n")
    async with ProviderServer() as server:
        llm = settings(protocol, server.url, "high" if thinks else None)
        config = {"llm": llm, "permissions": {"allow": ["read(**)"]}}
        (tmp_path / "ship.json").write_text(json.dumps(config))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            await talk(ship, server, thinks=thinks)
    assert len(server.requests) == 2 * TURNS
    sent = [prefix(request) for request in server.requests]
    for number, (before, after) in enumerate(pairwise(sent)):
        assert after.startswith(before), f"request {number + 2} does not begin with request {number + 1}"
    turns = list_turns(read_kept(ship.layout, ROOM))
    assert [turn.broken_by for turn in turns] == [None, *[""] * (TURNS - 1)]
    if thinks and protocol != "chat":
        # What was signed goes back for good, not only while its turn is open.
        mark = b"thoughtSignature" if protocol == "google" else b"c2lnbmF0dXJl"
        assert sent[-1].count(mark) >= TURNS


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_w3_a_changed_file_is_named_as_what_broke_the_prefix(tmp_path: Path, protocol: str) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    async with ProviderServer() as server:
        (tmp_path / "ship.json").write_text(json.dumps({"llm": settings(protocol, server.url, None)}))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            for number in range(3):
                if number == 2:
                    (tmp_path / "SOUL.md").write_text("Calm.\n")
                await (await ship.receive(words(number))).outcome()
    assert [turn.broken_by for turn in list_turns(read_kept(ship.layout, ROOM))] == [None, "", "section soul"]


@pytest.mark.parametrize("protocol", ["chat", "responses"])
async def test_requests_of_a_thread_have_a_cache_key_that_names_nobody(tmp_path: Path, protocol: str) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    async with ProviderServer() as server:
        (tmp_path / "ship.json").write_text(json.dumps({"llm": settings(protocol, server.url, None)}))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            for number in range(2):
                await (await ship.receive(words(number))).outcome()
    keys = [request.body["prompt_cache_key"] for request in server.requests]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert all(part not in keys[0] for part in ("web", "room"))


async def test_w3_the_persons_words_come_last(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    async with ProviderServer() as server:
        (tmp_path / "ship.json").write_text(json.dumps({"llm": settings("chat", server.url, None)}))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            await (await ship.receive(words(1))).outcome()
    said = server.requests[0].body["messages"][-1]
    assert said["role"] == "user"
    assert said["content"][-1]["text"].endswith("第1次")
    assert "Said in group 0." in said["content"][0]["text"]


def make_ship(tmp_path: Path, llm: dict[str, Any]) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n\nBe kind to files.\n")
    config = {"llm": llm, "permissions": {"allow": ["read(**)"]}}
    (tmp_path / "ship.json").write_text(json.dumps(config))


async def wait_for(queue: asyncio.Queue[FeedEvent], kind: str) -> None:
    while True:
        told = await asyncio.wait_for(queue.get(), 20)
        if told.chunk is not None and told.chunk["type"] == kind:
            return


def check_growth(requests: list[Recorded]) -> None:
    for number, (before, after) in enumerate(pairwise(map(prefix, requests))):
        assert after.startswith(before), f"request {number + 2} does not begin with request {number + 1}"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_requests_only_grow_when_a_person_steers(tmp_path: Path, protocol: str) -> None:
    async with ProviderServer() as server:
        make_ship(tmp_path, settings(protocol, server.url, "high"))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            for number in range(0, 8, 2):
                first, last = replies(number, thinks=True)
                server.script(dataclasses.replace(first, pace=0.05), last)
                async with ship.keeper.watch(str(ROOM)) as queue:
                    begun = await ship.receive(words(number))
                    await wait_for(queue, "start-step")
                    steered = await ship.receive(msgspec.structs.replace(words(number + 1), steer=True))
                    assert (await begun.outcome()).status == "steered"
                    assert (await steered.outcome()).status == "replied"
    assert len(server.requests) == 8
    check_growth(server.requests)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_new_course_keeps_what_stands_before_the_conversation(tmp_path: Path, protocol: str) -> None:
    async with ProviderServer() as server:
        make_ship(tmp_path, settings(protocol, server.url, None))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            for number in range(6):
                if number == 3:
                    event = CourseEvent(
                        platform="web",
                        thread_id=str(ROOM),
                        user_id="lin",
                        message_id="new",
                        timestamp=timestamp(),
                    )
                    assert (await (await ship.receive(event)).outcome()).status == "replied"
                await (await ship.receive(words(number))).outcome()
    old, new = server.requests[:3], server.requests[3:]
    check_growth(old)
    check_growth(new)
    for key in ("tools", "system", "instructions", "systemInstruction"):
        assert old[-1].body.get(key) == new[0].body.get(key)
    if protocol == "chat":
        assert old[0].body["messages"][0] == new[0].body["messages"][0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_answer_asked_for_again_changes_nothing_before_it(tmp_path: Path, protocol: str) -> None:
    async with ProviderServer() as server:
        make_ship(tmp_path, settings(protocol, server.url, "high"))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            outcomes: list[Outcome] = []
            for number in range(3):
                server.script(*replies(number, thinks=True))
                outcomes.append(await (await ship.receive(words(number))).outcome())
            server.script(say("Better.", thinking="Again."))
            again = RetryEvent(
                platform="web",
                thread_id=str(ROOM),
                user_id="lin",
                message_id="again",
                timestamp=timestamp(),
                replaces=outcomes[-1].message_id or "",
            )
            assert (await (await ship.receive(again)).outcome()).text == "Better."
            server.script(say("On.", thinking="On."))
            await (await ship.receive(words(4))).outcome()
    check_growth(server.requests[:6])
    # The replaced answer is gone, and what led to it is sent as it was.
    asked = [each for place, each in enumerate(server.requests) if place != 5]
    assert prefix(asked[5]) == prefix(asked[4])
    check_growth(asked)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_requests_only_grow_over_another_models_answers(tmp_path: Path, protocol: str) -> None:
    """One that is over its limit now and then: what goes to each begins with what went to it before."""
    async with ProviderServer() as server:
        llm = settings(protocol, server.url, "high")
        spare = {**llm, "model": f"{llm['model']}-spare"}
        make_ship(tmp_path, {**llm, "maxRetries": 0, "fallback": [spare]})
        async with Shipmate.open(tmp_path, environ={}) as ship:
            for number in range(9):
                first, last = replies(number, thinks=True)
                away = refuse(429, "slow down", kind="rate_limit_error")
                script = [[first, last], [away, first, last], [first, away, last]][number % 3]
                server.script(*script)
                outcome = await (await ship.receive(words(number))).outcome()
                assert (outcome.status, outcome.error) == ("replied", None)
    for model in (llm["model"], spare["model"]):
        # What was refused reached the provider as well.
        check_growth([each for each in server.requests if each.model == model])


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_edited_message_changes_nothing_before_it(tmp_path: Path, protocol: str) -> None:
    """To edit is to branch: the new thread takes along what a provider has cached up to the edit."""
    async with ProviderServer() as server:
        make_ship(tmp_path, settings(protocol, server.url, "high"))

        async def open_here(root: Path) -> Ship:
            return await stack.enter_async_context(Shipmate.open(root, environ={}))

        async with AsyncExitStack() as stack, serving(make_site(tmp_path, open_here)) as served:
            ship = await served.ship()
            assert isinstance(ship, Shipmate)
            for number in range(4):
                server.script(*replies(number, thinks=True))
                await (await ship.receive(words(number))).outcome()
            rows = (await ship.threads.read(ROOM)).messages
            edited = [row["id"] for row in rows if row["role"] == "user"][2]
            made = await served.client.post(f"/api/threads/{ROOM}/branch", json={"messageId": edited})
            assert made.status_code == 201, made.text
            server.script(*replies(9, thinks=True))
            event = msgspec.structs.replace(words(9), thread_id=made.json()["threadId"])
            assert (await (await ship.receive(event)).outcome()).status == "replied"
    # The last request before the edited message was sent, and all from the edit on.
    check_growth([*server.requests[:4], *server.requests[8:]])

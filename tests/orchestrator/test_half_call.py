"""An answer that ends in the midst of a call: nothing of it runs, the row stays valid, the person is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.orchestrator.feed import FeedEvent
from shipmate.values.event import Outcome, RunOptions, TextEvent
from shipmate.values.message import UIMessage, timestamp, tool_parts
from shipmate.values.thread_id import ThreadId
from tests.support.provider_case import KEY, PROTOCOLS
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, say

ROOM = ThreadId("web", "room", "1")
WRITE = '{"path": "note.md", "content": "one"}'
# Gemini sends calls whole.
PIECEMEAL = [each for each in PROTOCOLS if each != "google"]
LANGUAGES = {"en": "did not run", "zh": "没有运行"}


def prepare(folder: Path, server: ProviderServer, protocol: str, language: str = "en") -> None:
    (folder / "Agent.md").write_text("# Captain\n")
    provider, model, path = PROTOCOLS[protocol]
    llm = {"provider": provider, "model": model, "baseUrl": server.url + path, "apiKey": KEY, "maxRetries": 0}
    config = {"llm": llm, "language": language, "permissions": {"allow": ["write(**)"]}}
    (folder / "ship.json").write_text(json.dumps(config))


def words(number: int = 1, **more: Any) -> TextEvent:
    event: dict[str, Any] = {"platform": "web", "thread_id": str(ROOM), "user_id": "lin", "text": "Go."}
    return TextEvent(**event, message_id=f"m{number}", timestamp=timestamp(), **more)


async def last(ship: Shipmate) -> UIMessage:
    return (await ship.threads.read(ROOM)).messages[-1]


def notices(message: UIMessage) -> list[str]:
    return [part["data"]["text"] for part in message["parts"] if part["type"] == "data-notice"]


def check_row(message: UIMessage) -> None:
    """Every call of a stored row has come to an end."""
    assert all(part["state"] in ("output-error", "output-available") for part in tool_parts(message)), message


def drain(queue: asyncio.Queue[FeedEvent]) -> list[FeedEvent]:
    """Return all that was told and not yet read."""
    return [queue.get_nowait() for _ in range(queue.qsize())]


async def go_on(ship: Shipmate, server: ProviderServer) -> Outcome:
    """Say one thing more: the strict server refuses a request with half a call in it."""
    server.script(say("Fine."))
    return await (await ship.receive(words(9))).outcome()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("arguments", ["", '{"path": "note.md", "content": "on'], ids=["none", "half"])
@pytest.mark.parametrize("protocol", PIECEMEAL)
async def test_a_call_that_the_limit_cut_does_not_run(
    tmp_path: Path, protocol: str, arguments: str, language: str
) -> None:
    async with ProviderServer() as server:
        prepare(tmp_path, server, protocol, language)
        server.script(
            Reply(text="I write.", calls=(Call("write", arguments),), ending="length"), say("Done.")
        )
        async with Shipmate.open(tmp_path, environ={}) as ship:
            outcome = await (await ship.receive(words())).outcome()
            message = await last(ship)
            after = await go_on(ship, server)
    assert (outcome.status, outcome.text) == ("replied", "I write.\n\nDone.")
    assert not (tmp_path / "note.md").exists()
    check_row(message)
    (told,) = notices(message)
    assert LANGUAGES[language] in told
    assert "maxTokens" in told
    assert after.status == "replied"


@pytest.mark.parametrize("protocol", PIECEMEAL)
async def test_a_model_that_reaches_its_limit_in_every_call_is_not_asked_for_ever(
    tmp_path: Path, protocol: str
) -> None:
    async with ProviderServer() as server:
        prepare(tmp_path, server, protocol)
        cut = [Reply(calls=(Call("write", '{"path": "n', f"c{n}"),), ending="length") for n in range(30)]
        server.script(*cut)
        async with Shipmate.open(tmp_path, environ={}) as ship:
            outcome = await (await ship.receive(words())).outcome()
            check_row(await last(ship))
    assert (outcome.status, outcome.ending) == ("replied", "length")
    assert len(server.requests) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_calls_before_the_limit_run(tmp_path: Path, protocol: str) -> None:
    async with ProviderServer() as server:
        prepare(tmp_path, server, protocol)
        server.script(Reply(calls=(Call("write", WRITE),), ending="length"), say("Done."))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            outcome = await (await ship.receive(words())).outcome()
            message = await last(ship)
    assert (outcome.status, outcome.ending) == ("replied", None)
    assert (tmp_path / "note.md").read_text() == "one"
    assert notices(message) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_nothing_of_an_answer_that_was_withheld_runs(tmp_path: Path, protocol: str) -> None:
    async with ProviderServer() as server:
        prepare(tmp_path, server, protocol)
        server.script(Reply(text="I write.", calls=(Call("write", WRITE),), ending="content-filter"))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            outcome = await (await ship.receive(words())).outcome()
            message = await last(ship)
            asked = len(server.requests)
            after = await go_on(ship, server)
    assert (outcome.status, outcome.ending, asked) == ("replied", "content-filter", 1)
    assert not (tmp_path / "note.md").exists()
    check_row(message)
    assert any("filter" in told for told in notices(message))
    assert after.status == "replied"


@pytest.mark.parametrize("protocol", PIECEMEAL)
async def test_a_call_cut_at_a_word_to_stop_at_does_not_run(tmp_path: Path, protocol: str) -> None:
    """Text after the first half of a call holds the word; what was begun before it is closed."""
    reply = Reply(text="I write. END", calls=(Call("write", WRITE),))
    async with ProviderServer() as server:
        prepare(tmp_path, server, protocol)
        server.script(reply)
        async with Shipmate.open(tmp_path, environ={}) as ship:
            event = words(options=RunOptions(sampling={"stop": ["END"]}))
            outcome = await (await ship.receive(event)).outcome()
            check_row(await last(ship))
            after = await go_on(ship, server)
    assert (outcome.status, outcome.text) == ("replied", "I write. ")
    assert not (tmp_path / "note.md").exists()
    assert after.status == "replied"


@pytest.mark.parametrize("protocol", PIECEMEAL)
async def test_a_persons_stop_in_the_midst_of_a_call(tmp_path: Path, protocol: str) -> None:
    async with ProviderServer() as server:
        prepare(tmp_path, server, protocol)
        server.script(Reply(text="I write.", calls=(Call("write", WRITE),), pace=0.3, deltas=1))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            async with ship.keeper.watch(str(ROOM)) as queue:
                receipt = await ship.receive(words())
                while True:
                    told = await asyncio.wait_for(queue.get(), 20)
                    if told.chunk is not None and told.chunk["type"] == "tool-input-delta":
                        break
                assert await ship.keeper.stop(str(ROOM))
                outcome = await receipt.outcome()
                after_stop = [each.chunk for each in drain(queue) if each.chunk is not None]
            message = await last(ship)
            after = await go_on(ship, server)
    assert outcome.status == "stopped"
    assert not (tmp_path / "note.md").exists()
    check_row(message)
    # Who watched holds the call: they are told what became of it, and it is stored like that.
    (call,) = tool_parts(message)
    ends = [
        (each["toolCallId"], each["errorText"]) for each in after_stop if each["type"] == "tool-input-error"
    ]
    assert ends == [(call["toolCallId"], call["errorText"])]
    assert "did not run" in call["errorText"]
    assert notices(message)[-1] == "stopped"
    assert after.status == "replied"

"""Tools of the program that asks: offered, their calls returned, their results taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.server.routes.v1 import call_thread
from shipmate.values.message import tool_parts
from shipmate.values.thread_id import ThreadId
from tests.server.routes.v1.conftest import SCRIPT
from tests.support.openai_program import WEATHER, ask, events, problem, said, words
from tests.support.server import Served, make_site, make_workspace, opener_for, serving


def calls_of(response: httpx2.Response) -> dict[str, Any]:
    """Return the message of an answer that asks for calls."""
    assert response.status_code == 200, response.text
    choice = response.json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    return choice["message"]


def results(message: dict[str, Any], *texts: str) -> list[dict[str, Any]]:
    calls = message["tool_calls"]
    return [
        {"role": "tool", "tool_call_id": each["id"], "content": text}
        for each, text in zip(calls, texts, strict=True)
    ]


async def test_w5_calls_go_to_the_program_and_their_results_come_back(
    openai: AsyncOpenAI, script: ScriptedModel
) -> None:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, said("weather")]
    tools: list[Any] = [WEATHER]
    first = await openai.chat.completions.create(model="captain", messages=messages, tools=tools)
    assert "get_weather" in [spec.name for spec in script.requests[-1].tools]
    assert "read" in [spec.name for spec in script.requests[-1].tools]
    message = first.choices[0].message
    assert (first.choices[0].finish_reason, message.content) == ("tool_calls", "Let me ask.")
    assert message.tool_calls is not None
    (asked,) = message.tool_calls
    assert asked.type == "function"
    assert (asked.function.name, asked.function.arguments) == ("get_weather", '{"city":"Paris"}')
    messages += [
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": asked.id, "content": "22 degrees"},
    ]
    second = await openai.chat.completions.create(model="captain", messages=messages, tools=tools)
    assert (second.choices[0].finish_reason, second.choices[0].message.content) == ("stop", "It is sunny.")
    assert len(script.requests) == 2
    (part,) = tool_parts(script.requests[-1].messages[-1])
    assert (part["state"], part["output"]) == ("output-available", "22 degrees")
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.total_tokens == second.usage.total_tokens == 15


async def test_w5_a_stream_returns_calls_and_goes_on_with_what_is_new(openai: AsyncOpenAI) -> None:
    messages: list[Any] = [said("weather")]
    tools: list[Any] = [WEATHER]
    async with openai.chat.completions.stream(model="captain", messages=messages, tools=tools) as stream:
        first = await stream.get_final_completion()
    (asked,) = first.choices[0].message.tool_calls or []
    assert (first.choices[0].finish_reason, asked.function.name) == ("tool_calls", "get_weather")
    messages += [
        {
            "role": "assistant",
            "content": first.choices[0].message.content,
            "tool_calls": [
                asked.model_dump(include={"id": True, "type": True, "function": {"name", "arguments"}})
            ],
        },
        {"role": "tool", "tool_call_id": asked.id, "content": "22 degrees"},
    ]
    async with openai.chat.completions.stream(model="captain", messages=messages, tools=tools) as stream:
        second = await stream.get_final_completion()
    assert second.choices[0].message.content == "It is sunny."
    assert second.choices[0].finish_reason == "stop"


async def test_w5_what_own_tools_brought_meanwhile_is_not_lost(served: Served, script: ScriptedModel) -> None:
    message = calls_of(await ask(served, said("both kinds"), tools=[WEATHER]))
    assert [each["function"]["name"] for each in message["tool_calls"]] == ["get_weather"]
    again = await ask(served, said("both kinds"), message, *results(message, "sun"), tools=[WEATHER])
    assert words(again) == "Alpha, and sun."
    outputs = [str(part["output"]) for part in tool_parts(script.requests[-1].messages[-1])]
    assert "alpha" in outputs[0]
    assert outputs[1] == "sun"


async def test_w5_several_calls_at_once(served: Served) -> None:
    message = calls_of(await ask(served, said("two towns"), tools=[WEATHER]))
    ids = [each["id"] for each in message["tool_calls"]]
    assert len(set(ids)) == 2
    backwards = list(reversed(results(message, "rain", "sun")))
    assert words(await ask(served, said("two towns"), message, *backwards, tools=[WEATHER])) == "Sun in both."
    missing = await ask(served, said("two towns"), message, backwards[0], tools=[WEATHER])
    assert (missing.status_code, problem(missing)["param"]) == (400, "messages[1].tool_calls")


async def test_w5_results_in_a_talk_that_began_otherwise_go_on_in_one_of_their_own(
    served: Served, script: ScriptedModel
) -> None:
    """Whoever knows the id of a call does not speak in the thread that made it."""
    first = await ask(served, said("weather"), tools=[WEATHER])
    message = calls_of(first)
    other = await ask(served, said("weather of Oslo"), message, *results(message, "snow"), tools=[WEATHER])
    assert other.status_code == 200
    assert other.headers["x-shipmate-thread"] != first.headers["x-shipmate-thread"]
    assert "weather of Oslo" in str(script.requests[-1].messages)
    same = await ask(served, said("weather"), message, *results(message, "22 degrees"), tools=[WEATHER])
    assert same.headers["x-shipmate-thread"] == first.headers["x-shipmate-thread"]


async def test_w5_results_of_a_talk_that_is_not_known_here_go_on_as_well(
    served: Served, script: ScriptedModel
) -> None:
    """Another server made the calls, or the history was changed: that of the request is what counts."""
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":'}}
        ],
    }
    result = {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "snow"}]}
    earlier = [said("two towns"), message, result]
    assert words(await ask(served, *earlier, said("hello"))) == "Hello there."
    assert words(await ask(served, said("weather"), message, result)) == "It is sunny."
    (part,) = tool_parts(script.requests[-1].messages[-1])
    assert (part["output"], part["input"]) == ("snow", '{"city":')
    ship = await served.ship()
    assert isinstance(ship, Shipmate)
    known = calls_of(await ask(served, said("weather"), tools=[WEATHER]))
    changed = await ask(served, said("weather, please"), known, *results(known, "fog"), tools=[WEATHER])
    assert words(changed) == "It is sunny."
    assert "weather, please" in str(script.requests[-1].messages)


async def test_w5_what_a_program_brings_is_not_trusted(served: Served) -> None:
    shadow = {"type": "function", "function": {"name": "read"}}
    asked = await ask(served, said("shadow"), tools=[shadow], user="pim")
    message = calls_of(asked)
    ship = await served.ship()
    assert isinstance(ship, Shipmate)
    thread = await ship.threads.read(ThreadId.parse("api:user:pim"))
    assert not ship.orchestrator.is_tainted(thread)
    ended = await ask(served, said("shadow"), message, *results(message, "x"), tools=[shadow], user="pim")
    assert words(ended) == "I was told."
    thread = await ship.threads.read(ThreadId.parse("api:user:pim"))
    assert ship.orchestrator.is_tainted(thread)


async def test_w5_in_a_named_thread_results_go_to_the_calls_that_wait(served: Served) -> None:
    message = calls_of(await ask(served, said("weather"), tools=[WEATHER], user="pim"))
    wrong = [{**results(message, "x")[0], "tool_call_id": "other"}]
    other = {**message, "tool_calls": [{**message["tool_calls"][0], "id": "other"}]}
    refused = await ask(served, said("weather"), other, *wrong, user="pim")
    assert (refused.status_code, problem(refused)["param"]) == (400, "messages")
    assert words(await ask(served, message, *results(message, "sun"), user="pim")) == "It is sunny."
    # Sent once more they find no call that waits, and nothing runs again.
    assert (await ask(served, message, *results(message, "sun"), user="pim")).status_code == 400
    # Whoever goes on without the results may; the call is told to have none.
    calls_of(await ask(served, said("weather"), tools=[WEATHER], user="bob"))
    assert words(await ask(served, said("hello"), user="bob")) == "Hello there."


async def test_w5_results_have_keys_too(tmp_path: Path) -> None:
    script = ScriptedModel(SCRIPT)
    site = make_site(make_workspace(tmp_path), opener_for(script))
    async with serving(site) as served:
        first = await ask(served, said("weather"), tools=[WEATHER], key="one")
        message = calls_of(first)
        talk = [said("weather"), message, *results(message, "sun")]
        second = await ask(served, *talk, tools=[WEATHER], key="two")
        assert words(second) == "It is sunny."
    site = make_site(tmp_path, opener_for(script))
    async with serving(site) as served:
        # The first request is answered as it was, though its run has gone on since.
        assert (await ask(served, said("weather"), tools=[WEATHER], key="one")).json() == first.json()
        assert (await ask(served, *talk, tools=[WEATHER], key="two")).json() == second.json()
        streamed = events(await ask(served, said("hello"), key="three", stream=True))
        assert streamed[-1] == "[DONE]"
    assert len(script.requests) == 3


async def test_w5_a_call_that_waits_survives_a_restart(tmp_path: Path) -> None:
    script = ScriptedModel(SCRIPT)
    site = make_site(make_workspace(tmp_path), opener_for(script))
    async with serving(site) as served:
        message = calls_of(await ask(served, said("weather"), tools=[WEATHER]))
    site = make_site(tmp_path, opener_for(script))
    async with serving(site) as served:
        ended = await ask(served, said("weather"), message, *results(message, "sun"), tools=[WEATHER])
        assert words(ended) == "It is sunny."


async def test_w5_an_acting_call_waits_behind_the_programs_own(tmp_path: Path) -> None:
    path = ".ship/scratch/x"
    steps = [[call("get_weather", city="Paris"), call("write", path=path, content="x")], "Written."]
    site = make_site(make_workspace(tmp_path), opener_for(ScriptedModel({"first": steps})))
    async with serving(site) as served:
        message = calls_of(await ask(served, said("first"), tools=[WEATHER]))
        assert not (tmp_path / path).exists()
        assert words(await ask(served, said("first"), message, *results(message, "sun"))) == "Written."
        assert (tmp_path / path).read_text() == "x"


@pytest.mark.parametrize("choice", ["auto", "none", None])
async def test_w5_no_tool_is_offered_when_none_is_wanted(
    served: Served, script: ScriptedModel, choice: str | None
) -> None:
    answer = await ask(served, said("hello"), tools=[WEATHER], tool_choice=choice)
    assert words(answer) == "Hello there."
    assert bool(script.requests[-1].tools) is (choice != "none")


async def test_w5_a_model_that_calls_all_the_same_runs_nothing(tmp_path: Path) -> None:
    steps = [[say("I try."), call("read", path="a.md")], "I cannot."]
    script = ScriptedModel({"try": steps})
    site = make_site(make_workspace(tmp_path), opener_for(script))
    async with serving(site) as served:
        answer = await ask(served, said("try"), tool_choice="none")
        assert words(answer) == "I try.\n\nI cannot."
        (part,) = tool_parts(script.requests[-1].messages[-1])
        assert part["state"] == "output-error"


def test_the_words_are_there_in_both_languages() -> None:
    for name in ("instructions", "waiting", "waiting-unlisted"):
        told = {call_thread.say(language, name, text="x", what="y", thread="z") for language in ("en", "zh")}
        assert len(told) == 2

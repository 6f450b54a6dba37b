from __future__ import annotations

import asyncio

import pytest

from shipmate.errors import ModelBusyError, ModelRequestError
from shipmate.models.port import (
    Finish,
    Model,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.models.scripted import ScriptedModel, call, call_raw, cut, fail, hold, say, think
from shipmate.values.message import UIMessage, user_message


def ask(text: str, *, after: list[UIMessage] | None = None, message_id: str = "u1") -> ModelRequest:
    return ModelRequest(system="", messages=[user_message(message_id, text), *(after or [])])


def step_done(*call_ids: str) -> UIMessage:
    parts = [
        {"type": "tool-read", "toolCallId": call_id, "state": "output-available", "input": {}, "output": "x"}
        for call_id in call_ids
    ]
    return {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, *parts]}


async def play(model: Model, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def test_steps_are_played_in_order_and_requests_are_kept() -> None:
    model = ScriptedModel([[think("look first"), call("read", path="a.md")], "It says hello."])
    first, second = ask("one"), ask("two")

    events = await play(model, first)
    assert events[:2] == [ReasoningDelta("look first"), ReasoningEnd()]
    assert isinstance(events[2], ToolCallDelta)
    assert isinstance(events[3], ToolCall)
    assert (events[3].name, events[3].arguments) == ("read", '{"path":"a.md"}')
    assert isinstance(events[4], Finish)
    assert events[4].reason == "tool-calls"

    assert await play(model, second) == [
        TextDelta("It says hello."),
        Finish("stop", Usage(input_tokens=10, output_tokens=5, cost=0.0), "scripted"),
    ]
    assert model.requests == [first, second]


async def test_call_ids_are_the_same_for_the_same_request_and_differ_otherwise() -> None:
    def ids(events: list[ModelEvent]) -> list[str]:
        return [event.call_id for event in events if isinstance(event, ToolCall)]

    model = ScriptedModel([[call("a"), call("b")]] * 4)
    first = ids(await play(model, ask("x")))
    again = ids(await play(model, ask("x")))
    other = ids(await play(model, ask("x", message_id="u2")))
    later = ids(await play(model, ask("x", after=[step_done(*first)])))
    assert first == again
    assert len({*first, *other, *later}) == 6


async def test_a_keyed_script_follows_the_words_and_the_steps_taken() -> None:
    model = ScriptedModel({"read": ["short"], "read it": [call("read"), "Done."], "": ["one trick"]})
    calls = [event for event in await play(model, ask("please read it")) if isinstance(event, ToolCall)]
    assert calls[0].name == "read"
    done = await play(model, ask("please read it", after=[step_done(calls[0].call_id)]))
    assert done[0] == TextDelta("Done.")
    assert (await play(model, ask("anything")))[0] == TextDelta("one trick")


async def test_a_script_that_has_no_answer_says_so() -> None:
    with pytest.raises(ModelRequestError, match="1 steps and was asked for number 2"):
        await play(ScriptedModel({"x": ["one"]}), ask("x", after=[step_done("c1")]))
    with pytest.raises(ModelRequestError, match="no answer to 'hello'"):
        await play(ScriptedModel({"x": ["one"]}), ask("hello"))
    with pytest.raises(ModelRequestError, match="0 steps"):
        await play(ScriptedModel([]), ask("hello"))


async def test_trouble_comes_where_the_script_puts_it() -> None:
    stream = ScriptedModel([[say("half"), fail(ModelBusyError())]]).stream(ask("x"))
    assert await anext(stream) == TextDelta("half")
    with pytest.raises(ModelBusyError):
        await anext(stream)
    assert await play(ScriptedModel([[say("half"), cut(), say("never")]]), ask("x")) == [TextDelta("half")]


async def test_an_answer_holds_until_it_is_let_go() -> None:
    gate = asyncio.Event()
    stream = ScriptedModel([["before", hold(gate), "after"]]).stream(ask("x"))
    assert await anext(stream) == TextDelta("before")
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    assert await waiting == TextDelta("after")


async def test_a_function_answers_from_the_request() -> None:
    async def later(request: ModelRequest) -> str:
        return f"{len(request.messages)} so far"

    model = ScriptedModel([lambda request: [call_raw("exec", request.system, call_id="c9")], later])
    events = await play(model, ModelRequest(system="{not json", messages=[]))
    assert events[1] == ToolCall("c9", "exec", "{not json")
    assert (await play(model, ask("x")))[0] == TextDelta("1 so far")


async def test_a_finish_in_the_script_closes_the_step() -> None:
    finish = Finish("length", Usage(output_tokens=7), "other")
    assert await play(ScriptedModel([["cut short", finish, "never"]]), ask("x")) == [
        TextDelta("cut short"),
        finish,
    ]

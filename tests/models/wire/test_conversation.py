"""Whole conversations over both wires that sign their reasoning, against the strict loopback server."""

from __future__ import annotations

import pytest

from shipmate.errors import ModelBusyError, ModelError, ModelStreamError
from shipmate.models.port import Finish, ModelEvent, ReasoningEnd, ToolCall
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.registry import find_wire
from shipmate.models.wire.wire import WireSettings
from shipmate.values.message import JsonObject, UIMessage, user_message
from shipmate.values.sidecar import Sidecar
from tests.support.provider_case import READ, ask, collect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, ask_tools, refuse, say
from tests.support.wire_course import sum_up

CASES = {
    "anthropic": ("anthropic", "claude-sonnet-5-5", ""),
    "responses": ("openai-responses", "gpt-5.5", "/v1"),
}
both = pytest.mark.parametrize("protocol", CASES)


def connect(protocol: str, server: ProviderServer, model: str = "") -> WireModel:
    provider, usual, path = CASES[protocol]
    settings = WireSettings(provider=provider, model=model or usual)
    name = "anthropic" if protocol == "anthropic" else "responses"
    return WireModel(find_wire(name), settings, Endpoint(base_url=server.url + path, key="sk-secret"))


def answer_row(events: list[ModelEvent], output: str) -> tuple[UIMessage, Sidecar]:
    """Make the row and the sidecar that an answer with one call leaves."""
    told = sum_up(events)
    thoughts = [part for kind, part in told.parts if kind == "thought"]
    parts: list[JsonObject] = [{"type": "reasoning", "text": text} for text, _ in thoughts]
    parts.append({"type": "text", "text": told.words})
    (call,) = told.calls
    done: JsonObject = {"state": "output-available", "input": {"path": "a.md"}, "output": output}
    parts.append({"type": f"tool-{call.name}", "toolCallId": call.call_id, **done})
    signed = [{**signature, "step": 0, "stretch": place} for place, (_, signature) in enumerate(thoughts)]
    row: UIMessage = {"id": "a1", "role": "assistant", "parts": parts}
    return row, Sidecar(signatures=tuple(signed))


@both
async def test_reasoning_goes_back_with_the_result_it_led_to(protocol: str) -> None:
    async with ProviderServer() as server:
        call = Call("read", '{"path": "a.md"}')
        server.script(Reply(text="I look.", thinking="Where?", calls=(call,)), say("Found."))
        model = connect(protocol, server)
        hello = user_message("u1", "Hello.")
        first = await collect(model, ask(hello))
        row, sidecar = answer_row(first, "words")
        second = await collect(model, ask(hello, row, sidecars={"a1": sidecar}))
        await model.close()
    assert sum_up(second).words == "Found."
    assert [
        event.signature["by"] for event in first if isinstance(event, ReasoningEnd) and event.signature
    ] == [model.name]
    sent = server.requests[1].body
    if protocol == "anthropic":
        thinking = {"type": "thinking", "thinking": "Where?", "signature": "c2lnbmF0dXJl"}
        assert sent["messages"][1]["content"][0] == thinking
        assert sent["messages"][0] == server.requests[0].body["messages"][0]
    else:
        summary = [{"type": "summary_text", "text": "Where?"}]
        item = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2lnbmF0dXJl"}
        assert sent["input"][1] == item
        assert sent["input"][0] == server.requests[0].body["input"][0]


@both
async def test_another_models_reasoning_stays_away(protocol: str) -> None:
    async with ProviderServer() as server:
        server.script(Reply(thinking="Where?", calls=(Call("read"),)), say("Found."))
        model = connect(protocol, server)
        hello = user_message("u1", "Hello.")
        row, sidecar = answer_row(await collect(model, ask(hello)), "words")
        await model.close()
        other = connect(protocol, server, model="other")
        await collect(other, ask(hello, row, sidecars={"a1": sidecar}))
        await other.close()
    assert "c2lnbmF0dXJl" not in str(server.requests[1].body)


@both
async def test_counts_what_was_cached(protocol: str) -> None:
    async with ProviderServer() as server:
        server.script(say("Hi.", input_tokens=100, cached_tokens=80, output_tokens=7))
        model = connect(protocol, server)
        events = await collect(model, ask(cache_key="t1"))
        await model.close()
    finish = events[-1]
    assert isinstance(finish, Finish)
    # Anthropic counts what it did not find in its cache, OpenAI all.
    total = 180 if protocol == "anthropic" else 100
    assert (finish.usage.input_tokens, finish.usage.cache_read_tokens) == (total, 80)
    assert finish.usage.output_tokens == 7
    assert finish.model == model.name


@both
async def test_gives_all_calls_of_an_answer(protocol: str) -> None:
    async with ProviderServer() as server:
        calls = (Call("read", '{"path": "a"}', "c1"), Call("read", '{"path": "b"}', "c1"))
        server.script(ask_tools(*calls))
        model = connect(protocol, server)
        events = await collect(model)
        await model.close()
    found = [event for event in events if isinstance(event, ToolCall)]
    assert [(call.call_id, call.arguments) for call in found] == [
        ("c1", '{"path": "a"}'),
        ("c1_", '{"path": "b"}'),
    ]
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "tool-calls"


@both
@pytest.mark.parametrize("place", [1, 2, 4, 6])
async def test_an_answer_that_breaks_off_is_told(protocol: str, place: int) -> None:
    async with ProviderServer() as server:
        server.script(say("one two three four", end_after=place), say("one two three four", cut_after=place))
        model = connect(protocol, server)
        for _ in range(2):
            with pytest.raises(ModelError) as raised:
                await collect(model)
            assert isinstance(raised.value, ModelStreamError)
        await model.close()


@both
async def test_a_busy_provider_is_told_before_and_inside_an_answer(protocol: str) -> None:
    error = {
        "anthropic": b'data: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
        "responses": b'data: {"type":"error","code":"rate_limit_exceeded","message":"x"}\n\n',
    }[protocol]
    async with ProviderServer() as server:
        server.script(refuse(529, "Overloaded", kind="overloaded_error"), Reply(rubbish=error))
        model = connect(protocol, server)
        for _ in range(2):
            with pytest.raises(ModelBusyError):
                await collect(model)
        await model.close()


@both
async def test_the_server_refuses_what_the_provider_would(protocol: str) -> None:
    """The strict server is no use unless it is."""
    async with ProviderServer() as server:
        model = connect(protocol, server)
        broken = ask(tools=(READ, READ))
        with pytest.raises(ModelError, match="unique"):
            await collect(model, broken)
        await model.close()

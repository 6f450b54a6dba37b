from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.errors import (
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
    ModelStreamError,
)
from shipmate.models.port import (
    Finish,
    Model,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from shipmate.models.provider.provider import ProviderModel
from shipmate.models.provider.recipe import Recipe
from shipmate.values.message import JsonObject, UIMessage, user_message
from shipmate.values.sidecar import Sidecar
from tests.support.provider_case import KEY, PROTOCOLS, ask, collect, connect, recipe
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, ask_tools, refuse, say
from tests.support.thread_strategy import PIXEL

GOLDEN = Path(__file__).parent / "golden"
every_protocol = pytest.mark.parametrize("protocol", list(PROTOCOLS))


@pytest.fixture
async def server() -> AsyncIterator[ProviderServer]:
    async with ProviderServer() as server:
        yield server


def text_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def beside(message_id: str, signatures: list[JsonObject | None]) -> dict[str, Sidecar]:
    signed = ({"step": 1, "stretch": place, **each} for place, each in enumerate(signatures) if each)
    return {message_id: Sidecar(signatures=tuple(signed))}


async def collect_into(events: list[ModelEvent], model: Model) -> None:
    async for event in model.stream(ask()):
        events.append(event)


@every_protocol
async def test_streams_words_and_counts_them(protocol: str, server: ProviderServer) -> None:
    server.script(say("Ahoy, and well met.", input_tokens=1000, output_tokens=500))
    async with connect(protocol, server) as model:
        events = await collect(model)
    assert text_in(events) == "Ahoy, and well met."
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert finish.reason == "stop"
    assert (finish.usage.input_tokens, finish.usage.output_tokens) == (1000, 500)
    assert finish.usage.cost is not None
    assert 0 < finish.usage.cost < 1
    assert finish.model == model.name == f"{PROTOCOLS[protocol][0]}:{PROTOCOLS[protocol][1]}"


@every_protocol
async def test_gives_parallel_calls_whole_and_in_order(protocol: str, server: ProviderServer) -> None:
    calls = Call("read", '{"path": "a.md"}', "call_a"), Call("read", '{"path": "b.md"}', "call_b")
    server.script(ask_tools(*calls, text="Looking."))
    async with connect(protocol, server) as model:
        events = await collect(model)
    made = [event for event in events if isinstance(event, ToolCall)]
    assert [event.call_id for event in made] == ["call_a", "call_b"]
    assert [json.loads(event.arguments)["path"] for event in made] == ["a.md", "b.md"]
    deltas = [event for event in events if isinstance(event, ToolCallDelta) and event.call_id == "call_b"]
    assert json.loads("".join(event.arguments for event in deltas)) == {"path": "b.md"}
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert finish.reason == "tool-calls"


async def test_makes_repeated_call_ids_unique_and_keeps_arguments_as_written(server: ProviderServer) -> None:
    server.script(ask_tools(Call("read", '{"path": ', "same"), Call("read", "{}", "same")))
    async with connect("anthropic", server) as model:
        events = await collect(model)
    made = [event for event in events if isinstance(event, ToolCall)]
    assert [(event.call_id, event.arguments) for event in made] == [("same", '{"path": '), ("same_", "{}")]


@every_protocol
async def test_carries_a_tool_round_trip(protocol: str, server: ProviderServer) -> None:
    part = {
        "type": "tool-read",
        "toolCallId": "call_a",
        "state": "output-available",
        "input": {"path": "a.md"},
        "output": "The rum is gone.",
    }
    assistant: UIMessage = {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, part]}
    server.script(say("It says the rum is gone."))
    async with connect(protocol, server) as model:
        events = await collect(model, ask(user_message("u1", "Read a.md."), assistant))
    assert text_in(events) == "It says the rum is gone."
    sent = json.dumps(server.requests[0].body)
    assert sent.count("The rum is gone.") == 1
    assert sent.count('"a.md"') + sent.count('\\"a.md\\"') >= 1


async def test_resumes_anthropic_thinking_with_its_signature(server: ProviderServer) -> None:
    server.script(ask_tools(Call("read", '{"path": "a.md"}', "call_a"), thinking="Hm, let me look."))
    async with connect("anthropic", server) as model:
        events = await collect(model)
        thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
        signed = [event.signature for event in events if isinstance(event, ReasoningEnd)]
        assert thoughts == "Hm, let me look."
        assert signed == [{"by": model.name, "provider": "anthropic", "signature": "c2lnbmF0dXJl"}]
        done = {
            "type": "tool-read",
            "toolCallId": "call_a",
            "state": "output-available",
            "input": {},
            "output": "x",
        }
        parts = [{"type": "step-start"}, {"type": "reasoning", "text": thoughts}, done]
        turn: UIMessage = {"id": "a1", "role": "assistant", "parts": parts}
        await collect(model, ask(user_message("u1", "Hello."), turn, sidecars=beside("a1", signed)))
        await collect(model, ask(user_message("u1", "Hello."), turn))
    kept, dropped = (request.body["messages"][1]["content"] for request in server.requests[1:])
    assert kept[0] == {"type": "thinking", "thinking": "Hm, let me look.", "signature": "c2lnbmF0dXJl"}
    assert [block["type"] for block in kept] == ["thinking", "tool_use"]
    assert [block["type"] for block in dropped] == ["tool_use"]


async def test_resumes_openai_reasoning_with_its_encrypted_content(server: ProviderServer) -> None:
    server.script(say("Hello.", thinking="Hm."), say("Again."))
    async with connect("responses", server, name="gpt-5.2") as model:
        events = await collect(model)
        signed = [event.signature for event in events if isinstance(event, ReasoningEnd)]
        assert signed == [{"by": model.name, "provider": "openai", "id": "rs_1", "signature": "c2lnbmF0dXJl"}]
        said = {"type": "text", "text": "Hello."}
        parts = [{"type": "step-start"}, {"type": "reasoning", "text": "Hm."}, said]
        turn: UIMessage = {"id": "a1", "role": "assistant", "parts": parts}
        await collect(model, ask(user_message("u1", "Hello."), turn, sidecars=beside("a1", signed)))
    reasoning = [item for item in server.requests[1].body["input"] if item.get("type") == "reasoning"]
    assert [item["encrypted_content"] for item in reasoning] == ["c2lnbmF0dXJl"]


ERRORS: list[tuple[Reply, type[ModelError]]] = [
    (refuse(401, f"the key {KEY} is not valid", kind="authentication_error"), ModelAuthError),
    (refuse(403, "this key may not do that", kind="permission_error"), ModelAuthError),
    (refuse(429, "too fast", kind="rate_limit_error", headers={"retry-after": "7"}), ModelBusyError),
    (refuse(529, "overloaded", kind="overloaded_error"), ModelBusyError),
    (refuse(500, "oops", kind="api_error"), ModelDownError),
    (refuse(503, "not now", kind="api_error"), ModelDownError),
    (refuse(400, "prompt is too long: 300000 tokens > 200000 maximum"), ContextTooLongError),
    (
        refuse(400, "maximum context length is 8192 tokens", error_code="context_length_exceeded"),
        ContextTooLongError,
    ),
    (refuse(400, "temperature must be below 2"), ModelRequestError),
    (refuse(404, "no such model", kind="not_found_error"), ModelRequestError),
]


@every_protocol
@pytest.mark.parametrize(("reply", "kind"), ERRORS, ids=[f"{r.status}-{r.error[:9]}" for r, _ in ERRORS])
async def test_names_the_trouble(
    protocol: str, reply: Reply, kind: type[ModelError], server: ProviderServer
) -> None:
    server.script(reply)
    async with connect(protocol, server) as model:
        with pytest.raises(ModelError) as caught:
            await collect(model)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert PROTOCOLS[protocol][1] in str(caught.value)
    assert len(str(caught.value)) < 400
    assert len(server.requests) == 1, "the SDK must not retry on its own"
    if reply.headers and protocol != "google":
        assert caught.value.retry_after == 7


@every_protocol
async def test_keeps_what_came_before_a_cut(protocol: str, server: ProviderServer) -> None:
    server.script(say("One two three four five six.", deltas=12, cut_after=9))
    events: list[ModelEvent] = []
    async with connect(protocol, server) as model:
        with pytest.raises(ModelStreamError, match="broke off"):
            await collect_into(events, model)
    assert text_in(events).startswith("One two")
    assert not any(isinstance(event, Finish) for event in events)


@every_protocol
async def test_an_answer_that_just_stops_is_broken_off(protocol: str, server: ProviderServer) -> None:
    server.script(say("One two three four five six.", deltas=12, end_after=9))
    async with connect(protocol, server) as model:
        with pytest.raises(ModelStreamError):
            await collect(model)


@every_protocol
@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"\x00\xff\xfe rubbish",
        b"data: {not json\n\n",
        b"<html><body>Bad gateway</body></html>",
        b'data: {"type": "message_start"}\n\n',
        b'event: message_start\ndata: {"type": "message_start", "message": 7}\n\n',
        b'data: {"choices": "none"}\n\ndata: [DONE]\n\n',
        b"data: [1, 2, 3]\n\n",
    ],
)
async def test_rubbish_is_a_broken_answer(protocol: str, rubbish: bytes, server: ProviderServer) -> None:
    server.script(Reply(rubbish=rubbish))
    async with connect(protocol, server) as model:
        with pytest.raises(ModelStreamError) as caught:
            await collect(model)
    assert len(str(caught.value)) < 400


async def test_an_error_inside_the_stream_is_named(server: ProviderServer) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.script(Reply(rubbish=b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"))
    async with connect("anthropic", server) as model:
        with pytest.raises(ModelBusyError):
            await collect(model)


@every_protocol
async def test_gives_up_on_a_server_that_does_not_begin(protocol: str, server: ProviderServer) -> None:
    server.script(say("Late.", delay=5))
    async with connect(protocol, server, timeout=0.2) as model:
        with pytest.raises(ModelDownError):
            await collect(model)


async def test_says_that_nobody_listens() -> None:
    async with ProviderServer() as gone:
        url = gone.url
    model = ProviderModel(recipe("chat", url))
    with pytest.raises(ModelDownError, match="cannot be reached"):
        await collect(model)
    await model.close()


async def test_says_which_key_is_missing() -> None:
    model = ProviderModel(Recipe(provider="anthropic", model="claude-sonnet-4-6"))
    with pytest.raises(ModelAuthError, match=r"ANTHROPIC_API_KEY"):
        await collect(model)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_tools_are_sent_alike_at_every_request_and_anew_when_they_change(
    server: ProviderServer, protocol: str
) -> None:
    request = ask()
    (tool,) = request.tools
    other = msgspec.structs.replace(tool, name="other")
    async with connect(protocol, server) as model:
        for tools in ((tool,), (tool,), (other,), (tool,)):
            await collect(model, msgspec.structs.replace(request, tools=tools))
    first, second, changed, last = (json.dumps(sent.body["tools"]) for sent in server.requests)
    assert first == second == last
    assert changed == first.replace('"read"', '"other"')


async def test_marks_what_can_be_cached(server: ProviderServer) -> None:
    async with connect("anthropic", server) as model:
        await collect(model, ask(system="Always the same. 你好。"))
    body = server.requests[0].body
    (system,) = body["system"]
    assert system["text"] == "Always the same. 你好。"
    assert "cache_control" in system or "cache_control" in body


@every_protocol
async def test_a_request_may_want_other_sampling_than_the_settings(
    protocol: str, server: ProviderServer
) -> None:
    async with connect(protocol, server, temperature=0.5) as model:
        await collect(model, ask(sampling={"temperature": 0.25, "max_tokens": 77}))
    sent = json.dumps(server.requests[0].body)
    assert "0.25" in sent
    assert "77" in sent
    assert "0.5" not in sent


async def test_w4_a_call_goes_back_with_what_google_signed(server: ProviderServer) -> None:
    server.script(ask_tools(Call("read", '{"path": "a.md"}', "call_a")))
    async with connect("google", server) as model:
        events = await collect(model)
        (made,) = [event for event in events if isinstance(event, ToolCall)]
        assert made.signature is not None
        done = {"type": "tool-read", "toolCallId": "call_a", "state": "output-available", "output": "x"}
        turn: UIMessage = {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, done]}
        signed: list[JsonObject | None] = [{"call": "call_a", **made.signature}]
        await collect(model, ask(user_message("u1", "Hello."), turn, sidecars=beside("a1", signed)))
    (part,) = server.requests[1].body["contents"][1]["parts"]
    assert part["thoughtSignature"] == "YzJsbmJtRjBkWEps"


async def test_leaving_early_ends_the_request(server: ProviderServer) -> None:
    server.script(say("Word " * 200, deltas=200, pace=0.01))
    async with connect("chat", server) as model:
        stream = model.stream(ask())
        async for event in stream:
            assert isinstance(event, TextDelta)
            break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert text_in(await collect(model)).startswith("You said")


async def test_many_answers_at_once_share_one_engine(server: ProviderServer) -> None:
    async with connect("chat", server) as model:
        answers = await asyncio.gather(
            *(collect(model, ask(user_message("u", f"number {n}"))) for n in range(20))
        )
    assert {text_in(events) for events in answers} == {f"You said: number {n}" for n in range(20)}


def representative_thread() -> list[UIMessage]:
    """Make a thread with what conversion has to care about."""
    image = {"type": "file", "url": PIXEL, "mediaType": "image/gif", "filename": "dot.gif"}

    def call(state: str, call_id: str, **more: Any) -> JsonObject:
        return {
            "type": "tool-read",
            "toolCallId": call_id,
            "state": state,
            "input": {"path": "a.md"},
            **more,
        }

    step = {"type": "step-start"}
    return [
        {"id": "s", "role": "system", "parts": [{"type": "text", "text": "We chose blue."}]},
        user_message("u1", "Read it. 你好"),
        {
            "id": "a1",
            "role": "assistant",
            "parts": [
                step,
                {"type": "reasoning", "text": "closed thoughts"},
                {"type": "text", "text": "Looking."},
                call("output-available", "c1", output={"text": "one"}),
                call("output-error", "c2", errorText="No such file."),
                call("output-denied", "c3", approval={"id": "p", "approved": False, "reason": "No."}),
                step,
                {"type": "text", "text": "Done."},
                {"type": "data-notice", "data": {"text": "for people"}},
            ],
        },
        {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "And this?"}, image]},
        {"id": "a2", "role": "assistant", "parts": [step, call("approval-requested", "c4"), call("x", "c1")]},
        user_message("u3", "Well?"),
    ]


# The loopback server holds requests of Gemini's own protocol to rules that Google's SDK need not keep.
@pytest.mark.parametrize("protocol", [each for each in PROTOCOLS if each != "google"])
async def test_sends_the_golden_request(protocol: str, server: ProviderServer) -> None:
    request = ask(*representative_thread(), system="Be brief.\n\nToday is Monday.")
    async with connect(protocol, server, temperature=0.5, max_tokens=1000) as model:
        await collect(model, request)
    sent = json.dumps(server.requests[0].body, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    golden = GOLDEN / f"{protocol}.json"
    if not golden.exists():
        golden.write_text(sent, encoding="utf-8")
        pytest.fail(f"{golden.name} was missing and is written now; read it before you commit it")
    assert sent == golden.read_text(encoding="utf-8")

"""A model behind a wire, over real HTTP: what is told, what is refused, and in which words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.errors import (
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
    ModelStreamError,
)
from shipmate.models.port import Finish, ModelEvent, ReasoningEnd, TextDelta, ToolCall
from shipmate.models.relay import relay
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import COMMON
from shipmate.models.wire.client import Patience
from shipmate.models.wire.model import StopReader, WireModel
from shipmate.models.wire.wire import WireError
from shipmate.values.message import user_message
from tests.support.chat_stream import Json, choice, chunk, write_chunks
from tests.support.provider_case import KEY, PROTOCOLS, ask, collect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, ask_tools, encode, refuse, say
from tests.support.raw_server import RawServer, Serve, Visit
from tests.support.wire_case import connect

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def read(pieces: list[str], words: list[str]) -> tuple[str, list[ModelEvent]]:
    reader = StopReader(ChatReader(COMMON), words)
    events: list[ModelEvent] = []
    for piece in pieces:
        events += reader.take("", json.dumps(chunk(choice({"content": piece}))).encode())
        if reader.done:
            break
    else:
        events += reader.take("", json.dumps(chunk(choice({}, "stop"))).encode())
    events += reader.close()
    return "".join(event.text for event in events if isinstance(event, TextDelta)), events


@given(
    st.lists(st.text(alphabet="abE", max_size=4)),
    st.lists(st.text(alphabet="abE", min_size=1, max_size=3), max_size=3),
)
def test_however_it_is_cut_the_text_ends_before_the_first_of_the_words(
    pieces: list[str], words: list[str]
) -> None:
    whole = "".join(pieces)
    ends = [whole.find(word) for word in words if word in whole]
    said, events = read(pieces, words)
    assert said == (whole[: min(ends)] if ends else whole)
    assert events[-1] == Finish("stop")


def test_what_was_held_back_is_told_before_a_call_and_before_trouble() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}
    chunks = [chunk(choice({"content": "One EN"})), chunk(choice({"tool_calls": [call]}, "tool_calls"))]
    reader = StopReader(ChatReader(COMMON), ["END"])
    events = [event for each in chunks for event in reader.take("", json.dumps(each).encode())]
    events += reader.close()
    assert events[:2] == [TextDelta("One "), TextDelta("EN")]
    assert any(isinstance(event, ToolCall) for event in events)
    broken = StopReader(ChatReader(COMMON), ["END"])
    told = list(broken.take("", json.dumps(chunks[0]).encode()))
    with pytest.raises(WireError):
        told.extend(broken.close())
    assert told == [TextDelta("One "), TextDelta("EN")]


async def test_a_provider_that_ignores_stop_is_stopped() -> None:
    async with ProviderServer() as server, connect("chat", server.url) as model:
        server.script(say("One two END three four " * 20, deltas=50))
        events = await collect(model, ask(sampling={"stop": ["END"]}))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "One two "
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "stop"


def text_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def fail(serve: Serve, protocol: str = "chat", *, patience: Patience | None = None) -> ModelError:
    """Return what is raised; a second request to the same model is answered."""
    events: list[ModelEvent] = []

    async def first(visit: Visit) -> None:
        if visit.number == 0:
            await serve(visit)
            visit.writer.close()
        else:
            await visit.answer(write_chunks([chunk(choice({"content": "Ok."}, "stop"))]))

    async with RawServer(first) as server, connect("chat", server.url, patience=patience) as model:
        with pytest.raises(ModelError) as caught:
            events.extend([event async for event in model.stream(ask())])
        assert text_in(await collect(model)) == "Ok."
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return caught.value


@every_protocol
async def test_tells_words_calls_and_what_was_used(protocol: str) -> None:
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        server.script(
            say("Hello you."), ask_tools(Call("read", '{"path": "a"}', "c1"), Call("read", "{}", "c2"))
        )
        words = await collect(model)
        calls = await collect(model)
    assert text_in(words) == "Hello you."
    assert isinstance(words[-1], Finish)
    assert (words[-1].reason, words[-1].model) == ("stop", model.name)
    assert (words[-1].usage.input_tokens, words[-1].usage.output_tokens) == (11, 7)
    told = [event for event in calls if isinstance(event, ToolCall)]
    assert [json.loads(call.arguments) for call in told] == [{"path": "a"}, {}]
    assert isinstance(calls[-1], Finish)
    assert calls[-1].reason == "tool-calls"


@every_protocol
async def test_one_connection_serves_request_after_request(protocol: str) -> None:
    """The loop leaves with the last event; what follows it on the wire is read all the same."""
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        for _ in range(3):
            async with aclosing(relay(model, ask())) as events:
                assert [event async for event in events]
        assert len(server._open) == 1  # pyright: ignore[reportPrivateUsage]


async def test_signatures_say_who_signed() -> None:
    async with ProviderServer() as server, connect("anthropic", server.url) as model:
        server.script(say("Ok.", thinking="Hm."))
        (end,) = [event for event in await collect(model) if isinstance(event, ReasoningEnd)]
    assert end.signature is not None
    assert end.signature["by"] == model.name


ERRORS: list[tuple[Reply, type[ModelError]]] = [
    (refuse(401, f"the key {KEY} is not valid", kind="authentication_error"), ModelAuthError),
    (refuse(403, "this key may not do that", kind="permission_error"), ModelAuthError),
    (refuse(429, "too fast", kind="rate_limit_error", headers={"retry-after": "7"}), ModelBusyError),
    (refuse(529, "overloaded", kind="overloaded_error"), ModelBusyError),
    (refuse(500, "oops", kind="api_error"), ModelDownError),
    (refuse(503, "not now", kind="api_error"), ModelDownError),
    (refuse(413, "request too large", kind="request_too_large"), ContextTooLongError),
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
async def test_names_the_trouble(protocol: str, reply: Reply, kind: type[ModelError]) -> None:
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        server.script(reply)
        with pytest.raises(ModelError) as caught:
            await collect(model)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert model.name in str(caught.value)
    assert f"({reply.status})" in str(caught.value)
    assert len(server.requests) == 1
    if reply.headers:
        assert caught.value.retry_after == 7


def error(message: str, **more: Any) -> Json:
    return {"error": {"message": message, **more}}


LLAMA = error("the request exceeds the available context size", type="exceed_context_size_error")
VLLM = {"object": "error", "message": "This model's maximum context length is 4096 tokens", "code": 400}
GEMINI = error("API key not valid. Please pass one", status="INVALID_ARGUMENT")
ROUTED = error("Provider error", metadata={"raw": '{"error":{"message":"Deep."}}'})
BODIES: list[tuple[int, Any, type[ModelError], str]] = [
    (429, error("Quota.", code="insufficient_quota"), ModelAuthError, "no credit left"),
    (402, error("Insufficient Balance"), ModelAuthError, "no credit left"),
    (400, error("Your credit balance is too low"), ModelAuthError, "no credit left"),
    (400, GEMINI, ModelAuthError, "refused the key"),
    (500, LLAMA, ContextTooLongError, "this long"),
    (400, VLLM, ContextTooLongError, "this long"),
    (404, {"error": "model 'x' not found"}, ModelRequestError, "was not found (404): model 'x' not found"),
    (404, "<html><head><title>404 Not Found</title></head></html>", ModelRequestError, "404 Not Found"),
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, ModelRequestError, "field required"),
    (400, [error("Bad.", status="INVALID_ARGUMENT")], ModelRequestError, "Bad"),
    (502, "<!DOCTYPE html><title>502 Bad\nGateway</title>", ModelDownError, "502 Bad Gateway"),
    (503, "", ModelDownError, "trouble of its own (503)"),
    (400, ROUTED, ModelRequestError, "Deep"),
    (400, "\udc80" * 3, ModelRequestError, "did not accept"),
    (418, error("x" * 100_000), ModelRequestError, "xxx…"),
]


@pytest.mark.parametrize(("status", "body", "kind", "words"), BODIES)
async def test_errors_are_read_in_any_shape(
    status: int, body: Any, kind: type[ModelError], words: str
) -> None:
    raw = body.encode(errors="surrogateescape") if isinstance(body, str) else json.dumps(body).encode()

    async def refuse(visit: Visit) -> None:
        await visit.answer(raw, status=f"{status} No", kind="application/json")

    raised = await fail(refuse)
    assert type(raised) is kind
    assert words in str(raised)


@pytest.mark.parametrize(
    ("more", "body", "seconds"),
    [
        ("retry-after: 12\r\n", {}, 12),
        ("retry-after: 1.5\r\n", {}, 1.5),
        ("retry-after-ms: 2500\r\nretry-after: 9\r\n", {}, 2.5),
        ("", {"error": {"details": [{"retryDelay": "34.5s"}], "status": "RESOURCE_EXHAUSTED"}}, 34.5),
        ("retry-after: soon\r\n", {}, None),
        ("retry-after: nan\r\n", {}, None),
        ("retry-after: 99999999999\r\n", {}, 1e7),
        ("retry-after: -5\r\n", {}, None),
    ],
)
async def test_how_long_to_wait_is_read(more: str, body: Json, seconds: float | None) -> None:
    async def refuse(visit: Visit) -> None:
        await visit.answer(json.dumps(body), status="429 Too Many", kind="application/json", more=more)

    error = await fail(refuse)
    assert type(error) is ModelBusyError
    assert error.retry_after == seconds


async def test_how_long_to_wait_is_read_from_a_date() -> None:
    async def refuse(visit: Visit) -> None:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
        await visit.answer("", status="503 No", more=f"retry-after: {date}\r\n")

    error = await fail(refuse)
    assert error.retry_after is not None
    assert 20 < error.retry_after <= 30


@every_protocol
async def test_keeps_what_came_before_a_cut(protocol: str) -> None:
    events: list[ModelEvent] = []
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        server.script(say("One two three four five six.", deltas=12, cut_after=9))
        with pytest.raises(ModelStreamError, match="broke off"):
            events.extend([event async for event in _keep(model, events)])
    assert text_in(events).startswith("One two")
    assert not any(isinstance(event, Finish) for event in events)


async def _keep(model: WireModel, events: list[ModelEvent]) -> AsyncGenerator[ModelEvent]:
    async for event in model.stream(ask()):
        events.append(event)
        if False:
            yield event


@every_protocol
async def test_an_answer_that_just_stops_is_broken_off(protocol: str) -> None:
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        server.script(say("One two three four five six.", deltas=12, end_after=9))
        with pytest.raises(ModelStreamError):
            await collect(model)


RUBBISH = [
    b"",
    b"\x00\xff\xfe rubbish",
    b"data: {not json\n\n",
    b"<html><body>Bad gateway</body></html>",
    b'data: {"type": "message_start"}\n\n',
    b'event: message_start\ndata: {"type": "message_start", "message": 7}\n\n',
    b'data: {"choices": "none"}\n\ndata: [DONE]\n\n',
    b"data: [1, 2, 3]\n\n",
    b"{}",
    b"[]",
    b'{"choices": []}',
    b"null",
    b"data: " + b"[" * 50_000 + b"\n\n",
    b'data: {"x": "\xe4\xbd"}\n\n',
]


@every_protocol
@pytest.mark.parametrize("rubbish", RUBBISH)
async def test_rubbish_is_a_broken_answer(protocol: str, rubbish: bytes) -> None:
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        server.script(Reply(rubbish=rubbish))
        with pytest.raises(ModelStreamError) as caught:
            await collect(model)
        assert await collect(model)
    assert len(str(caught.value)) < 400


@every_protocol
@pytest.mark.parametrize("event", [b"", b"event: error\n"])
async def test_an_error_inside_a_200_is_named(protocol: str, event: bytes) -> None:
    body = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded", "status": "UNAVAILABLE"},
    }
    async with ProviderServer() as server, connect(protocol, server.url) as model:
        for rubbish in (event + b"data: " + json.dumps(body).encode() + b"\n\n", json.dumps(body).encode()):
            server.script(Reply(rubbish=rubbish))
            with pytest.raises(ModelError) as caught:
                await collect(model)
            assert type(caught.value) in (ModelBusyError, ModelDownError)
            assert "Overloaded" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        (
            "text/html",
            "<!doctype html><html><title>Sign in to the Wi-Fi</title></html>",
            "Sign in to the Wi-Fi",
        ),
        ("text/event-stream", "<html><body>no title</body></html>", "a page instead of an answer"),
        ("text/plain", "Service moved.", "Service moved"),
    ],
)
async def test_a_page_in_place_of_an_answer_is_said(kind: str, body: str, words: str) -> None:
    async def page(visit: Visit) -> None:
        await visit.answer(body, kind=kind)

    error = await fail(page)
    assert type(error) is ModelStreamError
    assert words in str(error)
    assert "llm.baseUrl" in str(error)


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "", "application/octet-stream"])
async def test_events_are_read_whatever_they_are_called(kind: str) -> None:
    async def answer(visit: Visit) -> None:
        await visit.answer(write_chunks([chunk(choice({"content": "Ok."}, "stop"))]), kind=kind)

    async with RawServer(answer) as server, connect("chat", server.url) as model:
        assert text_in(await collect(model)) == "Ok."


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_comes_whole_is_read(kind: str) -> None:
    message = {"role": "assistant", "content": "Ok."}
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }

    async def answer(visit: Visit) -> None:
        await visit.answer(json.dumps(whole, indent=2), kind=kind)

    async with RawServer(answer) as server, connect("chat", server.url) as model:
        events = await collect(model)
    assert text_in(events) == "Ok."
    assert isinstance(events[-1], Finish)
    assert events[-1].usage.input_tokens == 3


async def test_a_character_cut_in_two_arrives_whole() -> None:
    raw = write_chunks([chunk(choice({"content": "你好，世界 🌍"}, "stop"))])

    async def drip(visit: Visit) -> None:
        await visit.begin()
        for at in range(len(raw)):
            await visit.chunk(raw[at : at + 1])
        await visit.chunk("")

    async with RawServer(drip) as server, connect("chat", server.url) as model:
        assert text_in(await collect(model)) == "你好，世界 🌍"


async def test_a_proxy_that_keeps_everything_to_the_end_changes_nothing() -> None:
    pings = b": waiting\n\n" * 3 + b"\n\n"

    async def late(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(pings)
        await visit.chunk(write_chunks([chunk(choice({"content": str(n)})) for n in range(50)], end=False))
        await visit.chunk(write_chunks([chunk(choice({}, "stop"))]))
        await visit.chunk("")

    async with RawServer(late) as server, connect("chat", server.url) as model:
        assert text_in(await collect(model)) == "".join(map(str, range(50)))


async def test_a_server_that_goes_on_after_the_end_is_left() -> None:
    async def endless(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(write_chunks([chunk(choice({"content": "Ok."}, "stop"))]))
        while True:
            await visit.chunk(write_chunks([chunk(choice({"content": "more"}))]))

    async with RawServer(endless) as server, connect("chat", server.url) as model:
        assert text_in(await asyncio.wait_for(collect(model), 5)) == "Ok."
        await asyncio.wait_for(server.lost.wait(), 5)


async def test_a_server_that_holds_the_line_after_the_end_is_left() -> None:
    async def hold(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(write_chunks([chunk(choice({"content": "Ok."}, "stop"))]))
        await asyncio.Event().wait()

    async with RawServer(hold) as server, connect("chat", server.url) as model:
        assert text_in(await asyncio.wait_for(collect(model), 5)) == "Ok."


async def test_what_breaks_after_the_end_was_told_takes_nothing_away() -> None:
    async def cut(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(write_chunks([chunk(choice({"content": "Ok."}, "stop"))], end=False))
        visit.writer.close()

    async with RawServer(cut) as server, connect("chat", server.url) as model:
        events = await collect(model)
    assert text_in(events) == "Ok."
    assert isinstance(events[-1], Finish)


async def test_a_line_of_a_hundred_megabytes_is_not_kept() -> None:
    async def long(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(b'data: {"x": "')
        for _ in range(1600):
            await visit.chunk(b"x" * 65_536)

    error = await fail(long)
    assert type(error) is ModelStreamError
    assert "too long" in str(error)


@every_protocol
async def test_w9_a_server_that_does_not_begin_timed_out(protocol: str) -> None:
    quick = Patience(first=0.3, stall=0.3)
    async with ProviderServer() as server, connect(protocol, server.url, patience=quick) as model:
        server.script(say("Late.", delay=5))
        with pytest.raises(ModelDownError, match=r"did not answer in time.*for 0\.3 s.*timeoutSeconds"):
            await collect(model)


@pytest.mark.parametrize("begun", [True, False])
async def test_w9_silence_in_the_middle_is_said_as_such(begun: bool) -> None:
    async def stall(visit: Visit) -> None:
        await visit.begin()
        if begun:
            await visit.chunk(write_chunks([chunk(choice({"content": "One"}))], end=False))
        await asyncio.Event().wait()

    quick = Patience(first=5, stall=0.3)
    async with RawServer(stall) as server, connect("chat", server.url, patience=quick) as model:
        with pytest.raises(ModelError, match=r"said nothing for 0\.3 s") as caught:
            await collect(model)
    assert type(caught.value) is (ModelStreamError if begun else ModelDownError)
    assert caught.value.retryable


async def test_nothing_goes_where_a_redirect_points() -> None:
    async with ProviderServer() as elsewhere:

        async def redirect(visit: Visit) -> None:
            where = f"location: {elsewhere.url}/v1/chat/completions?key=secret\r\n"
            await visit.answer("", status="308 Moved", more=where)

        error = await fail(redirect)
        assert elsewhere.url in str(error)
    assert type(error) is ModelRequestError
    assert "secret" not in str(error)
    assert elsewhere.requests == []


async def test_says_that_nobody_listens() -> None:
    async with ProviderServer() as gone:
        url = gone.url
    async with connect("chat", url) as model:
        with pytest.raises(ModelDownError, match="cannot be reached: nothing answers at 127"):
            await collect(model)
    async with connect("chat", "http://nowhere.invalid") as model:
        with pytest.raises(ModelDownError, match="there is no host named"):
            await collect(model)


async def test_leaving_early_ends_the_request() -> None:
    async with ProviderServer() as server, connect("chat", server.url) as model:
        server.script(say("Word " * 200, deltas=200, pace=0.01))
        async with aclosing(relay(model, ask())) as events:
            async for _ in events:
                break
        assert text_in(await collect(model)).startswith("You said")


async def test_many_answers_at_once_share_one_model() -> None:
    async with ProviderServer() as server, connect("chat", server.url) as model:
        asked = [ask(user_message("u", f"number {n}")) for n in range(20)]
        answers = await asyncio.gather(*(collect(model, each) for each in asked))
    assert {text_in(events) for events in answers} == {f"You said: number {n}" for n in range(20)}


async def test_a_call_written_as_text_runs_where_that_is_wanted() -> None:
    text = '```json\n{"name": "read", "arguments": {"path": "a"}}\n```'
    async with ProviderServer() as server:
        server.script(*[say(text)] * 3)
        async with connect("chat", server.url, text_calls=True) as model:
            events = await collect(model)
            without_tools = await collect(model, ask(tools=()))
        async with connect("chat", server.url) as model:
            plain = await collect(model)
    assert [event.name for event in events if isinstance(event, ToolCall)] == ["read"]
    assert text_in(events) == ""
    assert text_in(without_tools) == text_in(plain) == text


async def test_what_was_held_back_is_told_when_the_line_breaks() -> None:
    async with ProviderServer() as server, connect("chat", server.url, text_calls=True) as model:
        server.script(say('{"name": "read", "arguments": {}}', deltas=8, cut_after=5))
        events: list[ModelEvent] = []
        with pytest.raises(ModelStreamError, match="broke off"):
            async for _ in _keep(model, events):
                pass
    assert text_in(events).startswith('{"name"')


@every_protocol
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_byte_order_mark_is_read_whichever_way_it_is_cut(protocol: str, end: str) -> None:
    stream = stream_of(protocol, "Grüße.")

    async def drip(visit: Visit) -> None:
        await visit.begin()
        raw = b"\xef\xbb\xbf" + stream.replace(b"\n", end.encode())
        for place in range(6):
            await visit.chunk(raw[place : place + 1])
            await asyncio.sleep(0.01)
        await visit.chunk(raw[6:])
        await visit.chunk("")

    async with RawServer(drip) as server, connect(protocol, server.url) as model:
        assert text_in(await collect(model)) == "Grüße."


def stream_of(protocol: str, text: str) -> bytes:
    """Return what a provider streams when it says something, in one piece."""
    return b"".join(encode(protocol, say(text, deltas=1), PROTOCOLS[protocol][1]))


@pytest.mark.parametrize("before", range(200, 245))
async def test_a_key_is_masked_wherever_the_words_are_cut(before: int) -> None:
    words = "x" * before + f" {KEY} and more of it, so that it is cut"

    async def refuse(visit: Visit) -> None:
        body = json.dumps({"error": {"message": words}})
        await visit.answer(body, status="400 Bad", kind="application/json")

    error = str(await fail(refuse))
    assert not any(KEY[:size] in error for size in range(6, len(KEY) + 1)), error


@pytest.mark.parametrize("status", ["400 Bad", "200 OK"])
async def test_what_a_server_says_moves_no_cursor(status: str) -> None:
    async def refuse(visit: Visit) -> None:
        body = json.dumps({"error": {"message": "no\x1b[2J\x1b]0;mine\x07 \x00 \u202egpj.exe\x9bA"}})
        await visit.answer(body, status=status, kind="application/json")

    error = str(await fail(refuse))
    assert error.isprintable()
    assert "no [2J ]0;mine" in error


async def test_a_wait_of_a_day_is_said() -> None:
    async def refuse(visit: Visit) -> None:
        await visit.answer("{}", status="429 Too Many", more="retry-after: 86400\r\n")

    error = await fail(refuse)
    assert error.retry_after == 86400
    assert "left alone for 24 hours" in str(error)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"a\ud83d", "a�"),
        (rb"\ude00b", "�b"),
        (rb"\ud83d\ude00", "😀"),
        (rb"\\ud83d", "\\ud83d"),
        (rb"\ud83d\\\ud83d", "�\\�"),
        (b"\xf0\x9f", "�"),
        (b"\xff", "�"),
    ],
)
@every_protocol
async def test_half_a_character_costs_nothing_but_itself(protocol: str, sent: bytes, read: str) -> None:
    stream = stream_of(protocol, "MARK.")

    async def answer(visit: Visit) -> None:
        await visit.answer(stream.replace(b"MARK", sent))

    async with RawServer(answer) as server, connect(protocol, server.url) as model:
        assert text_in(await collect(model)) == f"{read}."


@pytest.mark.parametrize("end", ["cut", "ended", "error"])
async def test_what_waits_behind_an_open_block_is_told_when_the_line_breaks(end: str) -> None:
    def begin(index: int, text: str) -> str:
        block = {"type": "text", "text": text}
        return (
            f"data: {json.dumps({'type': 'content_block_start', 'index': index, 'content_block': block})}\n\n"
        )

    async def cut(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(begin(0, "first ") + begin(1, "second"))
        if end == "error":
            await visit.chunk('data: {"type": "error", "error": {"type": "api_error"}}\n\n')
        if end == "ended":
            await visit.chunk("")
        visit.writer.close()

    events: list[ModelEvent] = []
    async with RawServer(cut) as server, connect("anthropic", server.url) as model:
        with pytest.raises(ModelStreamError, match="broke off"):
            async for _ in _keep(model, events):
                pass
    assert text_in(events) == "first second"


async def test_words_that_came_together_are_told_together() -> None:
    words = ["One", " two", " three"]
    spoken = [chunk(choice({"content": word})) for word in words]

    async def serve(visit: Visit) -> None:
        await visit.begin()
        await visit.chunk(write_chunks([*spoken, chunk(choice({}, "stop"))]))
        await visit.chunk("")

    async with RawServer(serve) as server, connect("chat", server.url) as model:
        events = [event async for event in model.stream(ask())]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["One two three"]


async def test_words_that_came_together_with_a_fault_are_told_before_it() -> None:
    fault = b'data: {"error": {"message": "gone", "code": 500}}\n\n'

    async def serve(visit: Visit) -> None:
        await visit.begin()
        words = [chunk(choice({"content": word})) for word in ("One", " two")]
        await visit.chunk(write_chunks(words, end=False) + fault)
        await visit.chunk("")

    events: list[ModelEvent] = []
    async with RawServer(serve) as server, connect("chat", server.url) as model:
        with pytest.raises(ModelError):
            await gather_events(model, events)
    assert text_in(events) == "One two"


async def gather_events(model: WireModel, events: list[ModelEvent]) -> None:
    async for event in model.stream(ask()):
        events.append(event)

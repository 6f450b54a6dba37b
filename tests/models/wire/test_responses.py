from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import NOT_GIVEN
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter
from pydantic_ai.profiles.openai import openai_model_profile

from shipmate.models.neutral import (
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.port import Finish, ToolCall, Usage
from shipmate.models.to_model import to_model_messages
from shipmate.models.wire.responses import ResponsesWire
from shipmate.models.wire.wire import WireFault, WireSettings
from shipmate.values.message import JsonObject
from tests.support.request_type import check_type
from tests.support.responses_rule import check_responses
from tests.support.search import examples
from tests.support.thread_strategy import PIXEL, json_values, threads
from tests.support.wire_course import Json, Told, beginnings, courses, read_all, request

WIRE = ResponsesWire()
MODELS = ("gpt-5.5", "gpt-4.1", "gpt-5-mini", "gpt-6.1-sol", "gpt-5.2", "o3", "qwen3")
LEVELS = (None, "none", "minimal", "low", "medium", "high")
PIXEL_DATA = PIXEL.partition(",")[2]
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def setting(model: str = "gpt-5.5", **more: Any) -> WireSettings:
    return WireSettings(provider="openai-responses", model=model, **more)


def sign(number: int) -> JsonObject:
    if number % 4 == 0:
        return {"id": f"rs_{number}", "summary": [], "content": ["raw"]}
    if number % 4 == 1:
        return {"id": f"rs_{number}", "summary": []}
    return {"id": f"rs_{number}", "summary": ["One.", "Two."], "encrypted_content": "e" * number}


def body_of(course: list[ModelMessage], wanted: WireSettings | None = None, **more: Any) -> JsonObject:
    return WIRE.body(request(**more), course, wanted or setting())


def hello() -> list[ModelMessage]:
    return [ModelMessage("user", [TextBlock("Hi.")])]


# What is sent


@settings(max_examples=examples(100))
@given(courses(sign), st.sampled_from(MODELS), st.sampled_from(LEVELS))
def test_every_beginning_of_a_course_is_a_request_the_provider_takes(
    course: list[ModelMessage], model: str, reasoning: str | None
) -> None:
    for beginning in beginnings(course):
        body = body_of(beginning, setting(model, reasoning=reasoning, temperature=0.5), cache_key="k")
        check_responses(body)
        check_type(ResponseCreateParamsStreaming, "openai.types", body)


@settings(max_examples=examples(100))
@given(courses(sign), st.sampled_from(MODELS))
def test_w3_each_request_begins_the_next_one(course: list[ModelMessage], model: str) -> None:
    before = b""
    for beginning in beginnings(course):
        raw = msgspec.json.encode(body_of(beginning, setting(model)))
        assert raw.startswith(before)
        before = raw.rstrip(b"]}")


@settings(max_examples=examples(100))
@given(threads())
def test_w3_each_message_of_a_person_leaves_the_request_before_it_as_it_was(thread: list[Any]) -> None:
    before = b""
    for end, message in enumerate(thread, 1):
        if message["role"] == "user" and any(part.get("type") == "file" for part in message["parts"]):
            raw = msgspec.json.encode(body_of(to_model_messages(thread[:end])))
            assert raw.startswith(before)
            before = raw.rstrip(b"]}")


def test_sends_settings_then_tools_then_instructions_then_input() -> None:
    body = body_of(hello())
    assert list(body)[-3:] == ["tools", "instructions", "input"]
    assert (body["store"], body["stream"]) == (False, True)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["input"] == [{"role": "user", "content": [{"type": "input_text", "text": "Hi."}]}]
    assert body["tools"][0]["strict"] is False


def test_leaves_out_what_is_empty() -> None:
    body = body_of(hello(), system=" ", tools=())
    assert not {"instructions", "tools", "prompt_cache_key", "reasoning"} & set(body)


def test_returns_reasoning_exactly_and_in_its_place() -> None:
    thought = ReasoningBlock(
        "One.\n\nTwo.", {"id": "rs_1", "summary": ["One.", "Two."], "encrypted_content": "gAAA", "by": "x:y"}
    )
    course = [
        ModelMessage("user", [TextBlock("Go.")]),
        ModelMessage("assistant", [thought, TextBlock("I look."), CallBlock("c1", "read", {"path": "a"})]),
        ModelMessage("user", [ResultBlock("c1", "read", "text", "failed"), TextBlock("And?")]),
        ModelMessage("assistant", [TextBlock("Yes.")]),
        ModelMessage("user", [TextBlock("Good.")]),
    ]
    assert body_of(course)["input"][1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
            "encrypted_content": "gAAA",
        },
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "text"},
        {"role": "user", "content": [{"type": "input_text", "text": "And?"}]},
        {"role": "assistant", "content": "Yes.", "phase": "final_answer"},
        {"role": "user", "content": [{"type": "input_text", "text": "Good."}]},
    ]
    assert "phase" not in json.dumps(body_of(course, setting("gpt-4.1")))


def test_leaves_out_reasoning_that_led_to_nothing_or_cannot_be_known_again() -> None:
    lost = ReasoningBlock("Hm.", {"id": "rs_1", "summary": []})
    last = ReasoningBlock("Hm.", {"id": "rs_2", "summary": [], "encrypted_content": "e"})
    course = [*hello(), ModelMessage("assistant", [lost, TextBlock("Yes."), last]), *hello()]
    assert "reasoning" not in json.dumps(body_of(course)["input"])


def test_sends_arguments_as_the_model_wrote_them() -> None:
    course = [
        *hello(),
        ModelMessage("assistant", [CallBlock("c1", "read", '{"path": "a')]),
        ModelMessage("user", [ResultBlock("c1", "read", "not JSON", "failed")]),
    ]
    assert body_of(course)["input"][1]["arguments"] == '{"path": "a'


def _sent(data: bytes, media_type: str, name: str = "") -> JsonObject:
    line = f"[attached file: {name}, {media_type}]"
    block = FileBlock(media_type, base64.b64encode(data).decode(), name, line)
    return body_of([ModelMessage("user", [block])])["input"][0]["content"][0]


def test_sends_pictures_documents_and_texts() -> None:
    picture = _sent(base64.b64decode(PIXEL_DATA), "image/png")
    assert picture == {"type": "input_image", "image_url": PIXEL, "detail": "auto"}
    pdf = _sent(b"%PDF-1", "application/pdf", "p.pdf")
    assert (pdf["type"], pdf["filename"]) == ("input_file", "p.pdf")
    assert pdf["file_data"].startswith("data:application/pdf;base64,")
    assert _sent(b"words", "text/plain")["text"] == "[attached file: , text/plain]\nwords"
    assert _sent(b"PK", "application/zip") == {
        "type": "input_text",
        "text": "[attached file: , application/zip]",
    }


def test_shortens_a_key_that_is_too_long() -> None:
    assert body_of(hello(), cache_key="k" * 64)["prompt_cache_key"] == "k" * 64
    assert len(body_of(hello(), cache_key="k" * 65)["prompt_cache_key"]) == 64


def test_the_request_wins_over_the_settings() -> None:
    wanted = setting("gpt-4.1", temperature=0.2, top_p=0.5, max_tokens=50)
    body = body_of(hello(), wanted, sampling={"temperature": 1.7, "max_tokens": 1, "stop": ["x"], "seed": 1})
    assert (body["temperature"], body["top_p"], body["max_output_tokens"]) == (1.7, 0.5, 16)
    assert not {"stop", "seed"} & set(body)


KNOWN = (
    "gpt-4.1 gpt-4o gpt-5 gpt-5-mini gpt-5-pro gpt-5-chat-latest gpt-5.1 gpt-5.1-codex gpt-5.1-chat-latest gpt-5.2 "
    "gpt-5.2-pro gpt-5.3-codex gpt-5.3-chat-latest gpt-5.4 gpt-5.4-pro gpt-5.5 gpt-5.5-pro gpt-5.6-sol gpt-6-astra "
    "gpt-6-sol gpt-6-luna gpt-6.1-sol gpt-6.1-terra o1 o3 o4-mini"
).split()


@pytest.mark.parametrize("model", KNOWN)
@pytest.mark.parametrize("reasoning", LEVELS)
def test_asks_each_model_for_reasoning_as_it_takes_it(model: str, reasoning: str | None) -> None:
    """pydantic-ai's table of what each model refuses was checked against the live service."""
    profile: Any = openai_model_profile(model)
    body = body_of(hello(), setting(model, reasoning=reasoning, temperature=0.5))
    effort = body.get("reasoning", {}).get("effort")
    assert ("include" in body) is profile["openai_supports_encrypted_reasoning_content"]
    if effort is not None:
        assert profile["openai_supports_reasoning"]
        assert effort in profile.get("openai_reasoning_efforts", {effort})
        assert effort != "none" or profile["openai_supports_reasoning_effort_none"]
        assert effort != "minimal" or profile["openai_supports_minimal_reasoning_effort"]
    elif reasoning is not None:
        assert not profile["openai_supports_reasoning"]
    if "temperature" in body:
        reasons = profile["thinking_enabled_by_default"] if effort is None else effort != "none"
        assert not reasons
    course = [*hello(), ModelMessage("assistant", [TextBlock("Yes.")]), *hello()]
    assert ("phase" in body_of(course, setting(model))["input"][1]) is profile["openai_supports_phase"]


def test_sends_the_key() -> None:
    assert WIRE.headers("sk-1") == {"authorization": "Bearer sk-1"}
    assert WIRE.headers(None) == {}
    assert WIRE.path(setting()) == "/responses"


# What is read

pieces = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4)
Part = tuple[str, Json]


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[str, Json]]:
    """Make a stream as the service sends it."""
    response: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "output": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    events: list[Json] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    items: list[Json] = []
    for index in range(draw(st.integers(0, 5))):
        item, opening, inner = draw(
            st.one_of(_messages(index), _thoughts(index), _calls(index), _foreign(index))
        )
        events.append({"type": "response.output_item.added", "output_index": index, "item": opening})
        events += [
            {"type": kind, "output_index": index, "item_id": item["id"], **more} for kind, more in inner
        ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        items.append(item)
    cut = draw(st.sampled_from((None, None, "max_output_tokens", "content_filter")))
    status = "incomplete" if cut else "completed"
    last = {**response, "status": status, "output": items, "usage": draw(_usages())}
    last["incomplete_details"] = {"reason": cut} if cut else None
    events.append({"type": f"response.{status}", "response": last})
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)]


def _usages() -> st.SearchStrategy[Json]:
    count = st.integers(0, 10_000)
    return st.fixed_dictionaries(
        {
            "input_tokens": count,
            "output_tokens": count,
            "total_tokens": count,
            "input_tokens_details": st.fixed_dictionaries(
                {"cached_tokens": count, "cache_write_tokens": count}
            ),
            "output_tokens_details": st.fixed_dictionaries({"reasoning_tokens": count}),
        }
    )


@st.composite
def _messages(draw: st.DrawFn, index: int) -> tuple[Json, Json, list[Part]]:
    content: list[Json] = []
    inner: list[Part] = []
    for number in range(draw(st.integers(1, 2))):
        texts = draw(pieces)
        at = {"content_index": number}
        if draw(st.booleans()):
            part: Json = {"type": "output_text", "text": "".join(texts), "annotations": []}
            inner.append(("response.content_part.added", {**at, "part": {**part, "text": ""}}))
            inner += [("response.output_text.delta", {**at, "delta": text, "logprobs": []}) for text in texts]
            inner.append(("response.output_text.done", {**at, "text": part["text"], "logprobs": []}))
        else:
            part = {"type": "refusal", "refusal": "".join(texts)}
            inner.append(("response.content_part.added", {**at, "part": {**part, "refusal": ""}}))
            inner += [("response.refusal.delta", {**at, "delta": text}) for text in texts]
            inner.append(("response.refusal.done", {**at, "refusal": part["refusal"]}))
        inner.append(("response.content_part.done", {**at, "part": part}))
        content.append(part)
    item = {"id": f"msg_{index}", "type": "message", "role": "assistant", "content": content}
    return {**item, "status": "completed"}, {**item, "status": "in_progress", "content": []}, inner


@st.composite
def _thoughts(draw: st.DrawFn, index: int) -> tuple[Json, Json, list[Part]]:
    summary: list[Json] = []
    inner: list[Part] = []
    for number in range(draw(st.integers(0, 2))):
        texts = draw(pieces)
        at = {"summary_index": number}
        part = {"type": "summary_text", "text": "".join(texts)}
        inner.append(("response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}))
        inner += [("response.reasoning_summary_text.delta", {**at, "delta": text}) for text in texts]
        inner.append(("response.reasoning_summary_text.done", {**at, "text": part["text"]}))
        inner.append(("response.reasoning_summary_part.done", {**at, "part": part}))
        summary.append(part)
    item: Json = {"id": f"rs_{index}", "type": "reasoning", "summary": summary}
    item["encrypted_content"] = draw(st.none() | st.text("abc=", min_size=1))
    return item, {**item, "summary": [], "encrypted_content": "partial"}, inner


@st.composite
def _calls(draw: st.DrawFn, index: int) -> tuple[Json, Json, list[Part]]:
    arguments = json.dumps(draw(st.dictionaries(st.text(max_size=5), json_values, max_size=3)))
    cut = draw(st.integers(0, len(arguments)))
    item = {"id": f"fc_{index}", "type": "function_call", "name": "read", "arguments": arguments}
    item["call_id"] = f"call_{index}"
    inner: list[Part] = [
        ("response.function_call_arguments.delta", {"delta": part})
        for part in (arguments[:cut], arguments[cut:])
        if part
    ]
    inner.append(("response.function_call_arguments.done", {"arguments": arguments, "name": "read"}))
    return {**item, "status": "completed"}, {**item, "arguments": "", "status": "in_progress"}, inner


def _foreign(index: int) -> st.SearchStrategy[tuple[Json, Json, list[Part]]]:
    item = {"id": f"ws_{index}", "type": "web_search_call", "status": "completed"}
    item["action"] = {"type": "search", "query": "x"}
    return st.just((item, item, [("response.web_search_call.searching", {})]))


def accumulate(events: list[tuple[str, Json]]) -> Any:
    """Read a stream with the SDK's own accumulator."""
    state: Any = ResponseStreamState(input_tools=[], text_format=NOT_GIVEN)
    last: Any = None
    for _, body in events:
        for event in state.handle_event(EVENT.validate_python(body)):
            last = event
    return last.response


def said(message: Any) -> str:
    return "\n\n".join(part.text if part.type == "output_text" else part.refusal for part in message.content)


@settings(max_examples=examples(300))
@given(streams())
def test_tells_what_the_sdk_reads(events: list[tuple[str, Json]]) -> None:
    told = read_all(WIRE.reader(setting()), events)
    theirs = accumulate(events)
    output: list[Any] = theirs.output
    assert told.words == "\n\n".join(said(item) for item in output if item.type == "message")
    thoughts = [part for kind, part in told.parts if kind == "thought"]
    assert thoughts == [_thought(item) for item in output if item.type == "reasoning"]
    calls = [item for item in output if item.type == "function_call"]
    assert told.calls == [ToolCall(call.call_id, call.name, call.arguments) for call in calls]
    assert told.finish == Finish(_reason(theirs), _usage(theirs), "gpt-x")


def _thought(item: Any) -> tuple[str, JsonObject | None]:
    summary = [part.text for part in item.summary]
    signature = {"id": item.id, "summary": summary, "encrypted_content": item.encrypted_content}
    return "\n\n".join(summary), signature if item.encrypted_content else None


def _reason(response: Any) -> Any:
    if any(item.type == "function_call" for item in response.output):
        return "tool-calls"
    if response.status == "incomplete":
        return {"max_output_tokens": "length"}.get(response.incomplete_details.reason, "content-filter")
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    return "content-filter" if any(part.type == "refusal" for part in parts) else "stop"


def _usage(response: Any) -> Usage:
    usage = response.usage
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.input_tokens_details.cached_tokens,
        cache_write_tokens=usage.input_tokens_details.cache_write_tokens,
        reasoning_tokens=usage.output_tokens_details.reasoning_tokens,
    )


@settings(max_examples=examples(100))
@given(streams())
def test_a_stream_cut_after_any_event_broke_off(events: list[tuple[str, Json]]) -> None:
    for end in range(len(events)):
        with pytest.raises(WireFault) as raised:
            read_all(WIRE.reader(setting()), events[:end])
        assert raised.value.code == "broken-off"


@settings(max_examples=examples(100))
@given(streams(), st.randoms(use_true_random=False))
def test_items_that_come_mixed_are_told_one_after_the_other(
    events: list[tuple[str, Json]], luck: Any
) -> None:
    inner = [event for event in events if "output_index" in event[1]]
    begins = [event for event in inner if event[0] == "response.output_item.added"]
    rest = {
        index: [event for event in inner if event[1]["output_index"] == index and event not in begins]
        for index in range(len(begins))
    }
    mixed: list[tuple[str, Json]] = []
    while any(rest.values()):
        mixed.append(rest[luck.choice([index for index, left in rest.items() if left])].pop(0))
    ordered = read_all(WIRE.reader(setting()), events)
    assert read_all(WIRE.reader(setting()), [events[0], *begins, *mixed, events[-1]]) == ordered


@settings(max_examples=examples(100))
@given(streams(), st.sampled_from(("deltas", "items", "all", "numbers")))
def test_a_server_that_tells_less_on_the_way_is_read_the_same(
    events: list[tuple[str, Json]], missing: str
) -> None:
    """Some servers send whole items only, or only the end, or do not number their events."""
    kept = [event for event in events if not _is_missing(event[0], missing)]
    if missing == "numbers":
        kept = [(name, {key: body[key] for key in body if key != "output_index"}) for name, body in kept]
    assert _short(read_all(WIRE.reader(setting()), kept)) == _short(read_all(WIRE.reader(setting()), events))


def _is_missing(name: str, missing: str) -> bool:
    is_item = "output_item" in name
    is_end = name in ("response.completed", "response.incomplete", "response.created")
    return {
        "deltas": name.endswith(".delta"),
        "items": not is_item and not is_end,
        "all": not is_end,
        "numbers": False,
    }[missing]


def _short(told: Told) -> tuple[Any, ...]:
    return told.parts, told.calls, told.finish


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(st.sampled_from(("", "response.completed", "error")), st.binary(max_size=40))))
def test_reads_or_refuses_any_bytes(events: list[tuple[str, bytes]]) -> None:
    try:
        read_all(WIRE.reader(setting()), events)
    except WireFault:
        return


names = st.sampled_from(
    "response.created response.output_item.added response.output_item.done response.output_text.delta "
    "response.output_text.done response.reasoning_summary_text.delta response.reasoning_text.delta "
    "response.function_call_arguments.delta response.function_call_arguments.done response.refusal.delta "
    "response.in_progress response.later".split()
)
shapes = st.fixed_dictionaries(
    {"type": names},
    optional={
        "output_index": st.sampled_from((0, 1, None, "0", -1, True, 10**30)),
        "content_index": json_values,
        "summary_index": json_values,
        "item_id": json_values,
        "delta": json_values,
        "text": json_values,
        "arguments": json_values,
        "response": json_values,
        "item": json_values
        | st.fixed_dictionaries(
            {"type": st.sampled_from(("message", "reasoning", "function_call", "x"))},
            optional={
                "id": json_values,
                "call_id": json_values,
                "content": json_values,
                "summary": json_values,
            },
        ),
    },
)


@settings(max_examples=examples(300))
@given(st.lists(shapes, max_size=12))
def test_reads_or_refuses_any_events(events: list[Json]) -> None:
    end: Json = {"type": "response.completed", "response": {"status": "completed"}}
    told = read_all(WIRE.reader(setting()), [(str(event["type"]), event) for event in [*events, end]])
    assert told.finish is not None
    assert len({call.call_id for call in told.calls}) == len(told.calls)


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "No."}, "rate_limit_exceeded", 429),
        ({"type": "error", "code": None, "message": "No."}, "", None),
        (
            {"type": "error", "error": {"type": "server_error", "code": None, "message": "No."}},
            "server_error",
            500,
        ),
        (
            {"error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "No."}},
            "context_length_exceeded",
            400,
        ),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "server_error", "message": "No."}},
            },
            "server_error",
            500,
        ),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "invalid_prompt", "message": "No."}},
            },
            "invalid_prompt",
            400,
        ),
    ],
)
def test_an_error_inside_an_answer_is_told_by_its_status(body: Json, code: str, status: int | None) -> None:
    with pytest.raises(WireFault) as raised:
        WIRE.reader(setting()).take("", json.dumps(body).encode())
    assert (raised.value.words, raised.value.code, raised.value.status) == ("No.", code, status)


def test_a_call_cut_before_its_arguments_does_not_run() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "now", "arguments": ""}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    for status, arguments in (("incomplete", "{"), ("completed", "")):
        end = {"type": f"response.{status}", "response": {"status": status, "output": [item]}}
        told = read_all(WIRE.reader(setting()), [("", added), ("", end)])
        assert told.calls == [ToolCall("c", "now", arguments)]


def test_two_calls_of_one_id_become_two() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"}
    added = [{"type": "response.output_item.done", "output_index": place, "item": item} for place in (0, 1)]
    end = {"type": "response.completed", "response": {"status": "completed"}}
    told = read_all(WIRE.reader(setting()), [("", body) for body in [*added, end]])
    assert [call.call_id for call in told.calls] == ["c", "c_"]

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.port import Finish, ToolCall, Usage
from shipmate.models.wire.responses.responses_reader import ResponsesReader
from shipmate.models.wire.wire import WireError
from shipmate.values.message import JsonObject
from tests.support.responses_stream import accumulate, shapes, streams
from tests.support.search import examples
from tests.support.wire_course import Json, Told, read_all, read_bytes, write_stream


def said(message: Any) -> str:
    return "\n\n".join(part.text if part.type == "output_text" else part.refusal for part in message.content)


@settings(max_examples=examples(120))
@given(streams())
def test_tells_what_the_sdk_reads(events: list[tuple[str, Json]]) -> None:
    told = read_all(ResponsesReader(), events)
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
    if response.status == "incomplete":
        return {"max_output_tokens": "length"}.get(response.incomplete_details.reason, "content-filter")
    if any(item.type == "function_call" for item in response.output):
        return "tool-calls"
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    return "content-filter" if any(part.type == "refusal" for part in parts) else "stop"


def _usage(response: Any) -> Usage:
    usage = response.usage
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.input_tokens_details.cached_tokens,
        cache_write_tokens=usage.input_tokens_details.cache_write_tokens,
    )


@settings(max_examples=examples(50))
@given(streams())
def test_a_stream_cut_after_any_event_broke_off(events: list[tuple[str, Json]]) -> None:
    for end in range(len(events)):
        with pytest.raises(WireError) as raised:
            read_all(ResponsesReader(), events[:end])
        assert raised.value.code == "broken-off"


@settings(max_examples=examples(50))
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
    ordered = read_all(ResponsesReader(), events)
    assert read_all(ResponsesReader(), [events[0], *begins, *mixed, events[-1]]) == ordered


@settings(max_examples=examples(50))
@given(streams(), st.sampled_from(("deltas", "items", "all", "numbers")))
def test_a_server_that_tells_less_on_the_way_is_read_the_same(
    events: list[tuple[str, Json]], missing: str
) -> None:
    """Some servers send whole items only, or only the end, or do not number their events."""
    kept = [event for event in events if not _is_missing(event[0], missing)]
    if missing == "numbers":
        kept = [(name, {key: body[key] for key in body if key != "output_index"}) for name, body in kept]
    assert _short(read_all(ResponsesReader(), kept)) == _short(read_all(ResponsesReader(), events))


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


@settings(max_examples=examples(120))
@given(st.lists(st.tuples(st.sampled_from(("", "response.completed", "error")), st.binary(max_size=40))))
def test_reads_or_refuses_any_bytes(events: list[tuple[str, bytes]]) -> None:
    try:
        told = read_all(ResponsesReader(), events)
    except WireError:
        return
    assert told.finish is not None


@settings(max_examples=examples(120))
@given(st.lists(shapes, max_size=12))
def test_reads_or_refuses_any_events(events: list[Json]) -> None:
    end: Json = {"type": "response.completed", "response": {"status": "completed"}}
    told = read_all(ResponsesReader(), [(str(event["type"]), event) for event in [*events, end]])
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
    with pytest.raises(WireError) as raised:
        ResponsesReader().take("", json.dumps(body).encode())
    assert (raised.value.words, raised.value.code, raised.value.status) == ("No.", code, status)


def test_a_call_cut_before_its_arguments_does_not_run() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "now", "arguments": ""}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    for status, arguments in (("incomplete", "{"), ("completed", "")):
        end = {"type": f"response.{status}", "response": {"status": status, "output": [item]}}
        told = read_all(ResponsesReader(), [("", added), ("", end)])
        assert told.calls == [ToolCall("c", "now", arguments)]


def test_two_calls_of_one_id_become_two() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"}
    added = [{"type": "response.output_item.done", "output_index": place, "item": item} for place in (0, 1)]
    end = {"type": "response.completed", "response": {"status": "completed"}}
    told = read_all(ResponsesReader(), [("", body) for body in [*added, end]])
    assert [call.call_id for call in told.calls] == ["c", "c_"]


@settings(max_examples=examples(3))
@given(streams())
def test_a_stream_cut_at_any_byte_goes_on_or_broke_off(events: list[tuple[str, Json]]) -> None:
    raw = write_stream(events)
    whole = read_all(ResponsesReader(), events)
    for cut in range(0, len(raw), 3):
        assert read_bytes(ResponsesReader(), raw[:cut], raw[cut:]) == whole
        assert _ending(raw[:cut]) in (whole, "broken-off", "not-json")


def _ending(raw: bytes) -> Told | str:
    try:
        return read_bytes(ResponsesReader(), raw)
    except WireError as fault:
        return fault.code


@settings(max_examples=examples(50))
@given(streams())
def test_an_answer_in_one_piece_says_the_same(events: list[tuple[str, Json]]) -> None:
    told = read_all(ResponsesReader(), [("", events[-1][1]["response"])])
    assert _short(told) == _short(read_all(ResponsesReader(), events))


def test_is_done_with_the_last_event() -> None:
    reader = ResponsesReader()
    reader.take("", b'{"type": "response.created"}')
    assert not reader.done
    reader.take("", b'{"type": "response.completed", "response": {}}')
    assert reader.done
    assert reader.finished


def test_arguments_that_come_before_their_call_are_its_own() -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": ""}
    events: list[tuple[str, Json]] = [
        ("", {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a":1}'}),
        ("", {"type": "response.output_item.added", "output_index": 0, "item": item}),
        ("", {"type": "response.completed", "response": {"status": "completed", "output": []}}),
    ]
    assert read_all(ResponsesReader(), events).calls == [ToolCall("c1", "read", '{"a":1}')]


def test_a_count_past_all_bounds_is_none() -> None:
    response = {"status": "completed", "usage": {"input_tokens": 10**30, "output_tokens": 3}}
    told = read_all(ResponsesReader(), [("", {"type": "response.completed", "response": response})])
    assert told.finish == Finish("stop", Usage(output_tokens=3))

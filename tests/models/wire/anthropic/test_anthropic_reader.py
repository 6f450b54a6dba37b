from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import ParsedMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.port import Finish, TextDelta, ToolCall, ToolCallDelta, Usage
from shipmate.models.wire.anthropic.anthropic_reader import AnthropicReader
from shipmate.models.wire.wire import WireError
from tests.support.anthropic_stream import accumulate, shapes, streams
from tests.support.search import examples
from tests.support.wire_course import Json, Told, read_all, read_bytes, write_stream


@settings(max_examples=examples(120))
@given(streams())
def test_tells_what_the_sdk_reads(events: list[tuple[str, Json]]) -> None:
    told = read_all(AnthropicReader(), events)
    theirs = accumulate(events)
    content: list[Any] = theirs.content
    assert told.words == "".join(block.text for block in content if block.type == "text")
    thoughts = [part for kind, part in told.parts if kind == "thought"]
    assert thoughts == [
        ("", {"data": block.data})
        if block.type == "redacted_thinking"
        else (block.thinking, {"signature": block.signature})
        for block in content
        if block.type in ("thinking", "redacted_thinking")
    ]
    calls = [block for block in content if block.type == "tool_use"]
    assert [json.loads(call.arguments) for call in told.calls] == [call.input for call in calls]
    assert [call.name for call in told.calls] == [call.name for call in calls]
    assert [call.call_id.rstrip("_") for call in told.calls] == [call.id for call in calls]
    assert len({call.call_id for call in told.calls}) == len(calls)
    assert told.finish == Finish(_reason(theirs), _usage(theirs), "claude-x")


def _reason(message: ParsedMessage[None]) -> Any:
    reasons = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool-calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "content-filter",
        "pause_turn": "other",
    }
    return reasons[str(message.stop_reason)]


def _usage(message: ParsedMessage[None]) -> Usage:
    usage = message.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return Usage(
        input_tokens=usage.input_tokens + read + written,
        output_tokens=usage.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


@settings(max_examples=examples(50))
@given(streams())
def test_a_stream_cut_after_any_event_broke_off(events: list[tuple[str, Json]]) -> None:
    for end in range(len(events)):
        with pytest.raises(WireError) as raised:
            read_all(AnthropicReader(), events[:end])
        assert raised.value.code == "broken-off"


@settings(max_examples=examples(50))
@given(streams(), st.randoms(use_true_random=False))
def test_blocks_that_come_mixed_are_told_one_after_the_other(
    events: list[tuple[str, Json]], luck: Any
) -> None:
    inner = [event for event in events if "index" in event[1]]
    begins = [event for event in inner if event[0] == "content_block_start"]
    rest = {
        index: [event for event in inner if event[1]["index"] == index and event[0] != "content_block_start"]
        for index in range(len(begins))
    }
    mixed: list[tuple[str, Json]] = []
    while any(rest.values()):
        mixed.append(rest[luck.choice([index for index, left in rest.items() if left])].pop(0))
    shuffled = [events[0], *begins, *mixed, *events[-2:]]
    ordered = read_all(AnthropicReader(), events)
    assert read_all(AnthropicReader(), shuffled) == ordered


@settings(max_examples=examples(120))
@given(st.lists(st.tuples(st.sampled_from(("", "content_block_delta", "error")), st.binary(max_size=40))))
def test_reads_or_refuses_any_bytes(events: list[tuple[str, bytes]]) -> None:
    with pytest.raises(WireError):
        read_all(AnthropicReader(), events)


@settings(max_examples=examples(120))
@given(st.lists(shapes, max_size=12))
def test_reads_or_refuses_any_events(events: list[Json]) -> None:
    stop: Json = {"type": "message_stop"}
    told = read_all(AnthropicReader(), [(str(event["type"]), event) for event in [*events, stop]])
    assert told.finish is not None
    assert len({call.call_id for call in told.calls}) == len(told.calls)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("overloaded_error", 529),
        ("rate_limit_error", 429),
        ("authentication_error", 401),
        ("request_too_large", 413),
        ("api_error", 500),
        ("an_error_of_the_future", None),
    ],
)
def test_an_error_inside_an_answer_is_told_by_its_status(kind: str, status: int | None) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
    with pytest.raises(WireError) as raised:
        AnthropicReader().take("error", json.dumps(error).encode())
    assert (raised.value.words, raised.value.code, raised.value.status) == ("Overloaded", kind, status)


@pytest.mark.parametrize(
    "data", [b'{"error": "no such model"}', b'{"type":"error","message":"no such model"}']
)
def test_an_error_of_another_servers_shape_is_told_too(data: bytes) -> None:
    with pytest.raises(WireError, match="no such model"):
        AnthropicReader().take("", data)


def test_a_call_cut_before_its_arguments_does_not_run() -> None:
    use = {"type": "tool_use", "id": "t", "name": "now", "input": {}}
    events: list[Json] = [
        {"type": "content_block_start", "index": 0, "content_block": use},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    told = read_all(AnthropicReader(), [("", event) for event in events])
    assert told.calls == [ToolCall("t", "now", "{")]
    events[2]["delta"] = {"stop_reason": "tool_use"}
    assert read_all(AnthropicReader(), [("", event) for event in events]).calls == [ToolCall("t", "now", "")]


def test_takes_arguments_that_come_at_once() -> None:
    use = {"type": "tool_use", "id": None, "name": "read", "input": {"path": "a"}}
    events = [
        {"type": "content_block_start", "content_block": use},
        {"type": "content_block_stop"},
        {"type": "message_stop"},
    ]
    told = read_all(AnthropicReader(), [("", event) for event in events])
    assert told.calls == [ToolCall("call_1", "read", '{"path":"a"}')]


def test_announces_a_call_when_it_begins() -> None:
    use = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    start = {"type": "content_block_start", "index": 0, "content_block": use}
    reader = AnthropicReader()
    assert list(reader.take("", json.dumps(start).encode())) == [ToolCallDelta("t", "read", "")]


def test_keeps_no_more_than_it_should() -> None:
    use = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    reader = AnthropicReader()
    reader.take("", json.dumps({"type": "content_block_start", "index": 0, "content_block": use}).encode())
    piece = {"type": "input_json_delta", "partial_json": "x" * 1_000_000}
    delta = json.dumps({"type": "content_block_delta", "index": 0, "delta": piece}).encode()
    for _ in range(32):
        reader.take("", delta)
    with pytest.raises(WireError) as raised:
        reader.take("", delta)
    assert raised.value.code == "too-long"


@settings(max_examples=examples(4))
@given(streams())
def test_a_stream_cut_at_any_byte_goes_on_or_broke_off(events: list[tuple[str, Json]]) -> None:
    raw = write_stream(events)
    whole = read_all(AnthropicReader(), events)
    for cut in range(len(raw)):
        assert read_bytes(AnthropicReader(), raw[:cut], raw[cut:]) == whole
        assert _ending(raw[:cut]) in (whole, "broken-off", "not-json")


def _ending(raw: bytes) -> Told | str:
    try:
        return read_bytes(AnthropicReader(), raw)
    except WireError as fault:
        return fault.code


@settings(max_examples=examples(50))
@given(streams())
def test_an_answer_in_one_piece_says_the_same(events: list[tuple[str, Json]]) -> None:
    message = accumulate(events).to_dict()
    told = read_all(AnthropicReader(), [("", message)])
    streamed = read_all(AnthropicReader(), events)
    assert (told.parts, told.finish) == (streamed.parts, streamed.finish)
    assert [json.loads(call.arguments or "{}") for call in told.calls] == [
        json.loads(call.arguments) for call in streamed.calls
    ]


def test_is_done_with_the_last_event() -> None:
    reader = AnthropicReader()
    reader.take("ping", b'{"type": "ping"}')
    assert not reader.done
    reader.take("", b'{"type": "message_stop"}')
    assert reader.done
    assert reader.finished


HUGE = 10**30


def test_a_count_past_all_bounds_is_none() -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": HUGE, "output_tokens": 3}}}
    told = read_all(AnthropicReader(), [("", start), ("", {"type": "message_stop"})])
    assert told.finish == Finish("stop", Usage(output_tokens=3))


@pytest.mark.parametrize("place", [0, 1])
def test_what_was_signed_is_kept_where_no_block_is_ended(place: int) -> None:
    """A server may leave the ends of blocks out, or begin another in the same place."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "S"}
    events: list[tuple[str, Json]] = [
        ("", {"type": "content_block_start", "index": 0, "content_block": thinking}),
        (
            "",
            {"type": "content_block_start", "index": place, "content_block": {"type": "text", "text": "hi"}},
        ),
        ("", {"type": "message_stop"}),
    ]
    told = read_all(AnthropicReader(), events)
    assert told.parts == [("thought", ("hm", {"signature": "S"})), ("text", "hi")]


def test_arguments_that_come_before_their_call_are_its_own() -> None:
    delta = {"type": "input_json_delta", "partial_json": '{"path":"a"}'}
    block = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
    events: list[tuple[str, Json]] = [
        ("", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("", {"type": "content_block_start", "index": 0, "content_block": block}),
        ("", {"type": "content_block_stop", "index": 0}),
        ("", {"type": "message_stop"}),
    ]
    assert read_all(AnthropicReader(), events).calls == [ToolCall("c1", "read", '{"path":"a"}')]


def test_arguments_of_no_call_are_not_kept_without_end() -> None:
    reader = AnthropicReader()
    delta = {"type": "input_json_delta", "partial_json": "x" * 1_000_000}
    event = json.dumps({"type": "content_block_delta", "index": 0, "delta": delta}).encode()
    with pytest.raises(WireError, match="longer than anything"):
        sum(len(list(reader.take("", event))) for _ in range(40))


def begin_text(place: int, text: str) -> bytes:
    block = {"type": "text", "text": text}
    return json.dumps({"type": "content_block_start", "index": place, "content_block": block}).encode()


def test_blocks_without_end_are_refused() -> None:
    reader = AnthropicReader()
    for place in range(10_000):
        list(reader.take("", begin_text(place, "")))
    with pytest.raises(WireError, match="longer than anything"):
        list(reader.take("", begin_text(10_000, "")))


def test_what_waited_and_was_told_is_not_counted_as_kept() -> None:
    reader, told = AnthropicReader(), 0
    for place in range(0, 80, 2):
        for event in (begin_text(place, ""), begin_text(place + 1, "x" * 1_000_000)):
            assert not list(reader.take("", event))
        for ended in (place, place + 1):
            stop = json.dumps({"type": "content_block_stop", "index": ended}).encode()
            told += sum(len(each.text) for each in reader.take("", stop) if isinstance(each, TextDelta))
    assert told == 40_000_000

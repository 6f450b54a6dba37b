"""Streams of Anthropic's Messages protocol: as the service sends them, and as nobody should."""

from __future__ import annotations

import json
from typing import Any

from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import ParsedMessage, RawMessageStreamEvent
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.support.thread_strategy import json_values
from tests.support.wire_course import Json

EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
pieces = st.lists(st.text(max_size=6), max_size=4)


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[str, Json]]:
    """Make a stream as the service sends it."""
    events: list[Json] = []
    usage = draw(_usages())
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    events.append({"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}})
    if draw(st.booleans()):
        events.append({"type": "ping"})
    has_calls = False
    for index in range(draw(st.integers(0, 5))):
        block, deltas = draw(st.one_of(_texts(), _thoughts(), _hidden(), _calls(), _foreign()))
        has_calls |= block["type"] == "tool_use"
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    reasons = [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "refusal",
        "pause_turn",
        "model_context_window_exceeded",
    ]
    stop = "tool_use" if has_calls else draw(st.sampled_from(reasons))
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": draw(_late_usages())})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


def _usages() -> st.SearchStrategy[Json]:
    count = st.integers(0, 10_000)
    cached = count | st.none()
    return st.fixed_dictionaries(
        {"input_tokens": count, "output_tokens": count},
        optional={"cache_read_input_tokens": cached, "cache_creation_input_tokens": cached},
    )


def _late_usages() -> st.SearchStrategy[Json]:
    count = st.integers(1, 10_000)
    late = st.none() | count
    details = st.fixed_dictionaries({"thinking_tokens": st.integers(1, 50)})
    return st.fixed_dictionaries(
        {"output_tokens": count},
        optional={"input_tokens": late, "cache_read_input_tokens": late, "output_tokens_details": details},
    )


def _texts() -> st.SearchStrategy[tuple[Json, list[Json]]]:
    return pieces.map(
        lambda texts: ({"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts])
    )


@st.composite
def _thoughts(draw: st.DrawFn) -> tuple[Json, list[Json]]:
    deltas: list[Json] = [{"type": "thinking_delta", "thinking": text} for text in draw(pieces)]
    signatures = draw(st.lists(st.text("abc=", min_size=1), min_size=1, max_size=2))
    deltas += [{"type": "signature_delta", "signature": signature} for signature in signatures]
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def _hidden() -> st.SearchStrategy[tuple[Json, list[Json]]]:
    data = st.text("abc=", min_size=1)
    return data.map(lambda data: ({"type": "redacted_thinking", "data": data}, []))


@st.composite
def _calls(draw: st.DrawFn) -> tuple[Json, list[Json]]:
    arguments = json.dumps(draw(st.dictionaries(st.text(max_size=5), json_values, max_size=3)))
    cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
    parts = [arguments[at:end] for at, end in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
    block = {
        "type": "tool_use",
        "id": draw(st.sampled_from(("toolu_1", "toolu_2", "toolu_3"))),
        "name": "read",
    }
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _foreign() -> st.SearchStrategy[tuple[Json, list[Json]]]:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    return st.just((use, [{"type": "input_json_delta", "partial_json": '{"q": 1}'}]))


def accumulate(events: list[tuple[str, Json]]) -> ParsedMessage[None]:
    """Read a stream with the SDK's own accumulator."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for name, body in events:
        if name != "ping":
            event = EVENT.validate_python(body)
            snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
    return snapshot


kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "later",
    ]
)
shapes = st.fixed_dictionaries(
    {"type": kinds},
    optional={
        "index": st.sampled_from((0, 1, None, "0", -1, True, 10**30)),
        "message": json_values,
        "content_block": json_values
        | st.fixed_dictionaries(
            {"type": st.sampled_from(("text", "thinking", "redacted_thinking", "tool_use", "x"))},
            optional={"id": json_values, "name": json_values, "input": json_values, "text": json_values},
        ),
        "delta": json_values
        | st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "x")
                )
            },
            optional={"text": json_values, "thinking": json_values, "partial_json": json_values},
        ),
        "usage": json_values
        | st.dictionaries(st.sampled_from(("input_tokens", "output_tokens")), json_values),
    },
)

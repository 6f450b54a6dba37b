"""Streams of OpenAI's Responses protocol: as the service sends them, and as nobody should."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.thread_strategy import json_values
from tests.support.wire_course import Json

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
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
    item: Json = {"id": f"ws_{index}", "type": "web_search_call", "status": "completed"}
    item["action"] = {"type": "search", "query": "x"}
    return st.just((item, item, [("response.web_search_call.searching", {})]))


def accumulate(events: list[tuple[str, Json]]) -> Any:
    """Read a stream with the SDK's own accumulator."""
    state: Any = ResponseStreamState(input_tools=[], text_format=omit)
    last: Any = None
    for _, body in events:
        for event in state.handle_event(EVENT.validate_python(body)):
            last = event
    return last.response


names = st.sampled_from(
    (
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.refusal.delta",
        "response.in_progress",
        "response.later",
    )
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

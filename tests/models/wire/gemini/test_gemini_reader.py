"""Answers of Gemini: as google-genai reads them, and whatever else comes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.port import (
    Finish,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.models.wire.answer_block import CUT
from shipmate.models.wire.gemini.gemini_reader import ENDINGS, GeminiReader
from shipmate.models.wire.wire import WireError, WireSettings
from tests.support.gemini_rule import read_through_sdk
from tests.support.gemini_stream import answers
from tests.support.search import examples
from tests.support.thread_strategy import json_values

SETTINGS = WireSettings(provider="google", model="gemini-3-flash")


def read(*chunks: Any) -> list[ModelEvent]:
    reader = GeminiReader(SETTINGS)
    events = [event for chunk in chunks for event in reader.take("", json.dumps(chunk).encode())]
    return [*events, *reader.close()]


def say(*parts: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [{**candidate, **({"finishReason": reason} if reason else {})}], **more}


@given(answers())
@settings(max_examples=examples(200), deadline=None)
def test_reads_what_the_sdk_reads(chunks: list[dict[str, Any]]) -> None:
    events = read(*chunks)
    theirs = [read_through_sdk(json.loads(json.dumps(chunk))) for chunk in chunks]
    parts = [
        part
        for chunk in theirs
        if chunk.candidates[0].content
        for part in chunk.candidates[0].content.parts or []
    ]
    spoken = [part for part in parts if part.text and not part.function_call]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(
        part.text for part in spoken if not part.thought
    )
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "".join(
        part.text for part in spoken if part.thought
    )
    called = [part.function_call for part in parts if part.function_call]
    made = [event for event in events if isinstance(event, ToolCall)]
    assert [(call.name, json.loads(call.arguments)) for call in made] == [
        (call.name, call.args or {}) for call in called
    ]
    assert len({call.call_id for call in made}) == len(made)
    finish = events[-1]
    assert isinstance(finish, Finish)
    usage = theirs[-1].usage_metadata
    assert finish.usage == Usage(
        input_tokens=usage.prompt_token_count or 0,
        output_tokens=(usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        cache_read_tokens=usage.cached_content_token_count or 0,
    )
    ending = theirs[-1].candidates[0].finish_reason.value
    reason = ENDINGS.get(ending, "other")
    assert finish.reason == ("tool-calls" if called and reason not in CUT else reason)
    assert sum(isinstance(event, Finish) for event in events) == 1


@given(answers(), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_an_answer_cut_after_any_event_broke_off(chunks: list[dict[str, Any]], data: st.DataObject) -> None:
    whole = read(*chunks)
    end = data.draw(st.integers(0, len(chunks) - 1))
    reader = GeminiReader(SETTINGS)
    events = [event for chunk in chunks[:end] for event in reader.take("", json.dumps(chunk).encode())]
    assert events == whole[: len(events)]
    with pytest.raises(WireError) as caught:
        list(reader.close())
    assert caught.value.code == "broken-off"


KEYS = ("candidates", "content", "parts", "text", "thought", "functionCall", "name", "args", "finishReason")
odd: st.SearchStrategy[Any] = st.recursive(
    json_values | st.sampled_from(("STOP", 10**30, 1e300, -1)),
    lambda inner: (
        st.dictionaries(
            st.sampled_from(
                (*KEYS, "error", "usageMetadata", "promptTokenCount", "thoughtSignature", "index")
            ),
            inner,
            max_size=5,
        )
        | st.lists(inner, max_size=3)
    ),
    max_leaves=20,
)


@given(st.lists(odd.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40), max_size=5))
@settings(max_examples=examples(400), deadline=None)
def test_anything_gives_events_or_the_typed_fault(events: list[bytes]) -> None:
    reader = GeminiReader(SETTINGS)
    try:
        for data in events:
            list(reader.take("message", data))
        told = list(reader.close())
    except WireError:
        return
    assert isinstance(told[-1], Finish)


def test_signatures_stand_where_they_came() -> None:
    events = read(
        say({"text": "Hm", "thought": True}),
        say({"text": "m.", "thought": True}, {"text": "Ye"}),
        say({"text": "s.", "thoughtSignature": "QQ=="}),
        say({"functionCall": {"name": "read", "args": {"a": 1}}, "thoughtSignature": "Qg=="}),
        say({"functionCall": {"name": "read", "args": {}, "id": "x"}}, {"functionCall": {"name": "now"}}),
        say({"text": "", "thoughtSignature": "Qw=="}, reason="STOP", responseId="late"),
    )
    assert events == [
        ReasoningDelta("Hm"),
        ReasoningDelta("m."),
        ReasoningEnd(None),
        TextDelta("Ye"),
        TextDelta("s."),
        ReasoningEnd({"kind": "text", "parts": [[2, ""], [2, "QQ=="]]}),
        ToolCallDelta("call_1", "read", '{"a":1}'),
        ToolCallDelta("x", "read", "{}"),
        ToolCallDelta("call_3", "now", "{}"),
        ReasoningEnd({"kind": "text", "parts": [[0, "Qw=="]]}),
        ToolCall("call_1", "read", '{"a":1}', {"thoughtSignature": "Qg=="}),
        ToolCall("x", "read", "{}"),
        ToolCall("call_3", "now", "{}"),
        Finish("tool-calls", Usage(), "google:gemini-3-flash"),
    ]


def test_calls_without_ids_get_those_of_the_answer_and_equal_ones_differ() -> None:
    call = {"functionCall": {"name": "read", "args": {}}}
    named = {"functionCall": {"name": "read", "args": {}, "id": "same"}}
    events = read(say(call, call, named, named, reason="STOP", responseId="aB-1_c"))
    made = [event.call_id for event in events if isinstance(event, ToolCall)]
    assert made == ["aB-1_c_1", "aB-1_c_2", "same", "same_"]


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        *(
            (name, "content-filter")
            for name in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
        ),
        ("LANGUAGE", "other"),
        ("OF_THE_FUTURE", "other"),
    ],
)
def test_endings(reason: str, ending: str) -> None:
    finish = read(say({"text": "So."}, reason=reason))[-1]
    assert isinstance(finish, Finish)
    assert finish.reason == ending


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"]
)
def test_a_call_that_went_wrong_is_an_answer_that_broke_off(reason: str) -> None:
    chunk = say({"text": "So."}, reason=reason)
    chunk["candidates"][0]["finishMessage"] = "print(read('a'))"
    with pytest.raises(WireError) as caught:
        read(chunk)
    assert (caught.value.code, caught.value.words) == ("broken-off", "print(read('a'))")
    # Calls that came whole are kept.
    assert isinstance(read(say({"functionCall": {"name": "read"}}), chunk)[-2], ToolCall)


def test_a_prompt_that_was_blocked_is_filtered() -> None:
    finish = read({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}})[-1]
    assert finish == Finish("content-filter", Usage(input_tokens=4), "google:gemini-3-flash")


ERROR = {
    "code": 429,
    "message": "Quota exceeded.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}, 7],
}


@pytest.mark.parametrize(
    "body", [{"error": ERROR}, [{"error": ERROR}], [say({"text": "So."}), {"error": ERROR}]]
)
def test_an_error_inside_the_stream_is_told(body: Any) -> None:
    with pytest.raises(WireError) as caught:
        read(body)
    fault = caught.value
    assert (fault.status, fault.code, fault.words) == (429, "RESOURCE_EXHAUSTED", "Quota exceeded.")
    assert fault.retry_after == 34.07


def test_usage_may_come_in_any_event_and_the_latest_holds() -> None:
    finish = read(
        say({"text": "a"}, usageMetadata={"promptTokenCount": 10, "cachedContentTokenCount": 4}),
        say({"text": "b"}, reason="STOP", usageMetadata={"candidatesTokenCount": 2, "thoughtsTokenCount": 3}),
        {"usageMetadata": {"candidatesTokenCount": 5, "toolUsePromptTokenCount": 1}},
    )[-1]
    assert isinstance(finish, Finish)
    assert finish.usage == Usage(input_tokens=11, output_tokens=8, cache_read_tokens=4)


def test_no_error_is_none_and_a_count_past_all_bounds_neither() -> None:
    usage = {"promptTokenCount": 10**30, "candidatesTokenCount": 3}
    candidate = {"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}
    chunk = {"error": None, "candidates": [candidate], "usageMetadata": usage}
    reader = GeminiReader(WireSettings(provider="google", model="gemini-x"))
    told = [*reader.take("", json.dumps(chunk).encode()), *reader.close()]
    assert told[0] == TextDelta("ok")
    assert isinstance(told[-1], Finish)
    assert told[-1].usage == Usage(output_tokens=3)


def take_parts(reader: GeminiReader, *parts: Any) -> None:
    chunk = {"candidates": [{"content": {"parts": list(parts)}}]}
    list(reader.take("", json.dumps(chunk).encode()))


def test_calls_and_signatures_without_end_are_not_kept() -> None:
    settings = WireSettings(provider="google", model="gemini-x")
    reader = GeminiReader(settings)
    call = {"functionCall": {"name": "read", "args": {}}}
    take_parts(reader, *[call] * 10_000)
    with pytest.raises(WireError, match="longer than anything"):
        take_parts(reader, call)
    reader = GeminiReader(settings)
    signed = {"text": "x", "thoughtSignature": "s" * 4_000_000}
    take_parts(reader, *[signed] * 8)
    with pytest.raises(WireError, match="longer than anything"):
        take_parts(reader, signed)

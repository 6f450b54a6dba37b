from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.port import Finish, ReasoningEnd, ToolCall, Usage
from shipmate.models.wire.answer_block import CUT
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import COMMON, DIALECTS, Dialect
from shipmate.models.wire.wire import WireError
from tests.support.chat_stream import (
    Json,
    accumulate,
    choice,
    chunk,
    read_pieces,
    rubbish,
    streams,
    write_chunks,
)
from tests.support.search import examples
from tests.support.wire_course import Told, read_all


def tell(*chunks: Json, dialect: Dialect = COMMON) -> Told:
    return read_all(ChatReader(dialect), [("", each) for each in chunks])


def say(text: str, reason: str | None = "stop", **more: Any) -> Json:
    return chunk(choice({"content": text}, reason), **more)


def call(index: Any, call_id: Any, name: str | None, arguments: Any, reason: str | None = None) -> Json:
    function = {"name": name, "arguments": arguments}
    given = {"index": index, "id": call_id, "type": "function", "function": function}
    return chunk(
        choice({"tool_calls": [{key: each for key, each in given.items() if each != "none"}]}, reason)
    )


@settings(max_examples=examples(200))
@given(streams())
def test_tells_what_the_sdk_reads(chunks: list[Json]) -> None:
    told = tell(*chunks)
    theirs = accumulate(chunks)
    message: Any = theirs.choices[0].message
    assert told.words == (message.content or "") + (message.refusal or "")
    calls = message.tool_calls or []
    assert told.calls == [ToolCall(each.id, each.function.name, each.function.arguments) for each in calls]
    assert told.finish is not None
    reasons = {"tool_calls": "tool-calls", "content_filter": "content-filter"}
    reason = reasons.get(theirs.choices[0].finish_reason, theirs.choices[0].finish_reason)
    assert told.finish.reason == (
        "content-filter" if message.refusal and not calls and reason == "stop" else reason
    )
    assert told.finish.usage == _usage(theirs.usage)


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=usage.prompt_tokens_details.cached_tokens,
    )


@settings(max_examples=examples(60))
@given(streams())
def test_cut_at_any_byte_it_goes_on_the_same_or_broke_off(chunks: list[Json]) -> None:
    raw = write_chunks(chunks)
    whole = read_pieces(ChatReader(COMMON), raw)
    for place in range(0, len(raw), max(1, len(raw) // 50)):
        assert read_pieces(ChatReader(COMMON), raw[:place], raw[place:]) == whole
        with suppress(WireError):
            cut = read_pieces(ChatReader(COMMON), raw[:place])
            # Only what was used may be missing once the end was told.
            assert (cut.parts, cut.calls) == (whole.parts, whole.calls)


@settings(max_examples=examples(100))
@given(st.lists(rubbish() | streams().map(lambda chunks: chunks[-1]), max_size=5))
def test_whatever_comes_it_tells_or_raises_a_fault(chunks: list[Json]) -> None:
    for dialect in (COMMON, DIALECTS["openrouter"], DIALECTS["deepseek"]):
        try:
            told = tell(*chunks, dialect=dialect)
        except WireError:
            continue
        assert told.finish is not None
        assert len({each.call_id for each in told.calls}) == len(told.calls)
        assert told.finish.reason != "tool-calls" or told.calls
        assert not told.calls or told.finish.reason in ("tool-calls", *CUT)


@given(
    st.binary(max_size=40) | st.sampled_from((b"[DONE]", b"{", b"null", b"[1]", b'"x"', b"\xff", b"1e999"))
)
def test_any_bytes_are_told_or_a_fault(data: bytes) -> None:
    reader = ChatReader(COMMON)
    with suppress(WireError):
        told = [*reader.take("", data), *reader.close()]
        # What is no fault came to an end, and to one only.
        assert [isinstance(event, Finish) for event in told].count(True) == 1
        assert isinstance(told[-1], Finish)


def test_deep_nesting_is_a_fault() -> None:
    with pytest.raises(WireError):
        list(ChatReader(COMMON).take("", b'{"choices":' + b"[" * 100_000))


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        # The same id twice.
        ([call(0, "c", "read", "{}"), call(1, "c", "read", "{}")], [("c", "{}"), ("c_", "{}")]),
        # No index: ids tell them apart.
        ([call("none", "a", "read", "{}"), call("none", "b", "read", "{}")], [("a", "{}"), ("b", "{}")]),
        # No index, and pieces that follow.
        ([call("none", "a", "read", "{"), call("none", None, None, "}")], [("a", "{}")]),
        # Every call numbered 0, as Gemini's compatible address does.
        ([call(0, "a", "read", "{}"), call(0, "b", "read", "{}")], [("a", "{}"), ("b", "{}")]),
        # The id and name again with each piece.
        ([call(0, "a", "read", "{"), call(0, "a", "read", "}")], [("a", "{}")]),
        # No ids at all.
        ([call(0, None, "read", "{}"), call(1, "", "read", "{}")], [("call_0", "{}"), ("call_1", "{}")]),
        # An object in place of text, and nothing.
        (
            [call(0, "a", "read", {"path": "a"}), call(1, "b", "now", None)],
            [("a", '{"path":"a"}'), ("b", "")],
        ),
        # Interleaved pieces.
        (
            [
                call(0, "a", "read", "{"),
                call(1, "b", "read", "["),
                call(0, None, None, "}"),
                call(1, None, None, "]"),
            ],
            [("a", "{}"), ("b", "[]")],
        ),
        # Arguments before the name.
        ([call(0, "a", None, "{"), call(0, None, "read", "}")], [("a", "{}")]),
        ([call(0, 7, "read", "{}")], [("7", "{}")]),
    ],
)
def test_calls_are_told_apart_however_servers_number_them(chunks: list[Json], calls: list[Any]) -> None:
    told = tell(*chunks, chunk(choice({}, "stop")))
    assert [(each.call_id, each.arguments) for each in told.calls] == calls
    assert told.finish == Finish("tool-calls")


def test_an_old_function_call_is_a_call() -> None:
    delta = {"function_call": {"name": "read", "arguments": "{}"}}
    told = tell(chunk(choice(delta)), chunk(choice({}, "function_call")))
    assert [(each.name, each.arguments) for each in told.calls] == [("read", "{}")]


def test_a_call_that_names_no_tool_is_a_fault() -> None:
    with pytest.raises(WireError, match="names no tool"):
        tell(call(0, "a", None, "{}"), chunk(choice({}, "tool_calls")))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_told_apart_from_words(field: str) -> None:
    chunks = [chunk(choice({field: "Hm, ", "content": None})), chunk(choice({field: "yes."})), say("Ok.")]
    assert tell(*chunks).parts == [("thought", ("Hm, yes.", None)), ("text", "Ok.")]
    signed = {"field": "reasoning_content"}
    assert tell(*chunks, dialect=DIALECTS["deepseek"]).parts[0] == ("thought", ("Hm, yes.", signed))


def test_mistral_thinks_in_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    told = tell(
        chunk(choice({"content": [thought]})),
        chunk(choice({"content": [{"type": "text", "text": "Ok."}]}, "stop")),
    )
    assert told.parts == [("thought", ("Hm.", None)), ("text", "Ok.")]


def test_details_of_thinking_are_joined_and_signed() -> None:
    def think(**more: Any) -> Json:
        return chunk(choice({"reasoning": more.get("text", ""), "reasoning_details": [{"index": 0, **more}]}))

    told = tell(
        think(type="reasoning.text", text="Hm, "),
        think(type="reasoning.text", text="yes.", signature="s"),
        think(type="reasoning.encrypted", data="e"),
        say("Ok."),
        dialect=DIALECTS["openrouter"],
    )
    kind, (text, signature) = told.parts[0]
    assert (kind, text) == ("thought", "Hm, yes.")
    assert signature["details"] == [
        {"index": 0, "type": "reasoning.text", "text": "Hm, yes.", "signature": "s"},
        {"index": 0, "type": "reasoning.encrypted", "data": "e"},
    ]


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("content_filter", "content-filter"),
        ("sensitive", "content-filter"),
        ("tool_calls", "stop"),
        ("something new", "other"),
    ],
)
def test_endings_are_named(reason: str, wanted: str) -> None:
    finish = tell(say("Ok.", reason)).finish
    assert finish is not None
    assert finish.reason == wanted


@pytest.mark.parametrize(
    "usage",
    [
        {"usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4}},
        {
            "usage": None,
            "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4}},
        },
    ],
)
def test_what_was_used_is_read_from_any_chunk(usage: Json) -> None:
    told = tell(say("One.", None, **usage), say("Two.", None, usage=None), chunk(choice({}, "stop")))
    assert told.finish == Finish("stop", Usage(input_tokens=9, output_tokens=3, cache_read_tokens=4))


def test_a_server_that_ignores_stream_is_read_whole() -> None:
    message = {
        "role": "assistant",
        "content": "Ok.",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    }
    told = tell(
        {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    )
    assert told.words == "Ok."
    assert [each.name for each in told.calls] == ["read"]


def test_the_end_is_a_reason_or_the_last_line() -> None:
    assert read_pieces(ChatReader(COMMON), write_chunks([say("Ok.", None)])).finish == Finish("stop")
    with pytest.raises(WireError) as caught:
        read_pieces(ChatReader(COMMON), write_chunks([say("Ok.", None)], end=False))
    assert caught.value.code == "broken-off"
    with pytest.raises(WireError):
        read_pieces(ChatReader(COMMON), write_chunks([]))


@pytest.mark.parametrize(
    ("body", "words", "code", "status"),
    [
        ({"error": {"message": "Slow down.", "code": 429}}, "Slow down.", "", 429),
        ({"error": {"message": "Full.", "type": "overloaded_error"}}, "Full.", "overloaded_error", None),
        ({"error": "Bad."}, "Bad.", "", None),
        ({"object": "error", "message": "Bad.", "code": 400}, "Bad.", "", 400),
        ({"choices": [{"error": {"message": "Bad.", "code": 502}}]}, "Bad.", "", 502),
        (chunk(choice({}, "error")), "", "server-gave-up", None),
    ],
)
def test_an_error_inside_is_a_fault(body: Json, words: str, code: str, status: int | None) -> None:
    with pytest.raises(WireError) as caught:
        list(ChatReader(COMMON).take("", json.dumps(body).encode()))
    assert (caught.value.words, caught.value.code, caught.value.status) == (words, code, status)


def test_other_choices_are_left_out() -> None:
    other = {"index": 1, "delta": {"content": "Other."}, "finish_reason": "stop"}
    assert tell(chunk(choice({"content": "Ok."}, "stop"), other)).words == "Ok."


@pytest.mark.parametrize("numbered", [True, False])
def test_calls_without_end_are_refused_before_they_cost_anything(numbered: bool) -> None:
    calls = [call(n if numbered else "none", f"c{n}", "read", "{}") for n in range(10_001)]
    with pytest.raises(WireError, match="more calls"):
        tell(*calls)


def test_thinking_in_many_pieces_is_put_together_in_linear_time() -> None:
    reader = ChatReader(DIALECTS["openrouter"])
    piece = {"type": "reasoning.text", "text": "x" * 1000, "index": 0}
    event = json.dumps(chunk(choice({"reasoning_details": [piece]}))).encode()
    end = json.dumps(chunk(choice({"content": "ok"}, "stop"))).encode()
    began = time.process_time()
    for _ in range(15_000):
        list(reader.take("", event))
    told = [each for each in reader.take("", end) if isinstance(each, ReasoningEnd)]
    assert told == [ReasoningEnd({"details": [{**piece, "text": "x" * 15_000_000}]})]
    # Joined with every piece it takes minutes.
    assert time.process_time() - began < 10


@pytest.mark.parametrize("cost", [-1, -0.5, True, "1", 10**400, 1e300, None])
def test_a_cost_that_can_be_none_is_not_counted(cost: Any) -> None:
    told = tell(say("Ok.", usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": cost}))
    assert told.finish == Finish("stop", Usage(input_tokens=1, output_tokens=1))


def test_a_call_finds_its_pieces_by_its_id_alone() -> None:
    told = tell(
        call("none", "a", "read", '{"n":'),
        call("none", "b", "read", "{"),
        call("none", "a", None, "1}"),
        call("none", "b", None, "}", "tool_calls"),
    )
    assert told.calls == [ToolCall("a", "read", '{"n":1}'), ToolCall("b", "read", "{}")]

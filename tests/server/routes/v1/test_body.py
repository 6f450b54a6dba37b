"""Bodies of every sort: what travels, what is refused by its name, and what only means harm."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shipmate.models.scripted import ScriptedModel
from shipmate.server.guard.error import ApiError
from shipmate.server.routes.v1.body import read_completion, read_options
from shipmate.server.routes.v1.client_history import ClientHistory, read_history
from tests.support.openai_program import PATH, WEATHER, ask, problem, said, words
from tests.support.server import Served

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "sun"}
FULL: dict[str, Any] = {
    "model": "captain",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}},
            ],
        },
        ASKED,
        RESULT,
        {"role": "user", "content": "hello"},
    ],
    "stream": False,
    "stream_options": {"include_usage": True},
    "user": "pim",
    "tools": [WEATHER],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "temperature": 0.5,
    "top_p": 0.9,
    "max_tokens": 100,
    "max_completion_tokens": 100,
    "stop": ["a", "b"],
    "seed": 7,
    "n": 1,
    "logprobs": False,
    "top_logprobs": 0,
    "presence_penalty": 0,
    "frequency_penalty": 0.0,
    "logit_bias": {},
    "response_format": {"type": "text"},
    "modalities": ["text"],
    "verbosity": "medium",
}


async def test_w5_what_chooses_the_words_travels_to_the_model(served: Served, script: ScriptedModel) -> None:
    assert words(await ask(served, said("hello"))) == "Hello there."
    assert script.requests[-1].sampling == {}
    more: dict[str, Any] = {"temperature": 0, "top_p": 1, "max_tokens": 9, "stop": "x", "seed": -1}
    await ask(served, said("hello"), **more)
    expected = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 9, "stop": ["x"], "seed": -1}
    assert script.requests[-1].sampling == expected
    await ask(served, said("hello"), max_tokens=9, max_completion_tokens=4, stop=["a", "b"])
    assert script.requests[-1].sampling == {"max_tokens": 4, "stop": ["a", "b"]}


REFUSED: list[tuple[str, Any]] = [
    ("n", 2),
    ("n", True),
    ("n", 0),
    ("logprobs", True),
    ("top_logprobs", 3),
    ("presence_penalty", 0.5),
    ("frequency_penalty", -1),
    ("logit_bias", {"50256": -100}),
    ("response_format", {"type": "json_object"}),
    ("response_format", {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
    ("modalities", ["text", "audio"]),
    ("audio", {"voice": "alloy", "format": "mp3"}),
    ("functions", [{"name": "x"}]),
    ("function_call", {"name": "x"}),
    ("reasoning_effort", "high"),
    ("verbosity", "low"),
    ("web_search_options", {}),
    ("tool_choice", "required"),
    ("tool_choice", {"type": "function", "function": {"name": "get_weather"}}),
    ("parallel_tool_calls", False),
    ("temperature", 3),
    ("temperature", "0"),
    ("top_p", 2),
    ("max_tokens", 0),
    ("max_completion_tokens", -5),
    ("stop", ["a"] * 5),
    ("seed", 1.5),
    ("stream", "yes"),
    ("user", 5),
    ("tools", [WEATHER, WEATHER]),
    ("tools", [WEATHER] * 200),
]


async def test_w5_what_would_change_the_answer_is_refused_by_name(
    served: Served, script: ScriptedModel
) -> None:
    for field, value in REFUSED:
        more: dict[str, Any] = {"tools": [WEATHER], field: value}
        refused = await ask(served, said("hello"), **more)
        assert (refused.status_code, problem(refused)["param"]) == (400, field), value
    assert script.requests == []


async def test_w5_neutral_values_and_unknown_fields_pass(served: Served) -> None:
    unknown: dict[str, Any] = {
        "top_k": 40,
        "x": {"y": [1]},
        "metadata": {"a": "b"},
        "store": True,
        "service_tier": "auto",
    }
    more = {key: value for key, value in FULL.items() if key not in ("messages", "user")}
    assert words(await ask(served, *FULL["messages"], **more, **unknown)) == "Hello there."
    nothing = dict.fromkeys(more)
    assert words(await ask(served, said("hello"), **nothing)) == "Hello there."


ODD: dict[str, list[Any]] = {
    "a result without a call": [said("x"), RESULT],
    "a result first": [RESULT, said("x")],
    "a result of another call": [ASKED, {**RESULT, "tool_call_id": "call_2"}],
    "a result without an id": [ASKED, {"role": "tool", "content": "sun"}],
    "two results": [ASKED, RESULT, RESULT],
    "a late result": [ASKED, said("x"), RESULT],
    "no result": [ASKED, said("x")],
    "no result at the end": [said("x"), ASKED],
    "one id twice": [{**ASKED, "tool_calls": [CALL, CALL]}, RESULT],
    "the assistant last": [said("x"), {"role": "assistant", "content": "y"}],
    "nothing said": [said("")],
    "blank words": [said(" \n")],
    "null said": [{"role": "user", "content": None}],
    "null told": [{"role": "system", "content": None}, said("x")],
    "no content": [{"role": "user"}],
    "an unknown role": [{"role": "critic", "content": "x"}],
    "no role": [{"content": "x"}],
    "an old result": [{"role": "function", "name": "x", "content": "y"}, said("x")],
    "a name with a path": [
        {**ASKED, "tool_calls": [{**CALL, "function": {"name": "../x", "arguments": "{}"}}]},
        RESULT,
    ],
    "arguments that are no text": [
        {**ASKED, "tool_calls": [{**CALL, "function": {"name": "x", "arguments": {}}}]},
        RESULT,
    ],
    "an id without end": [{**ASKED, "tool_calls": [{**CALL, "id": "x" * 1000}]}, RESULT],
    "deep arguments": [
        {**ASKED, "tool_calls": [{**CALL, "function": {"name": "x", "arguments": "[" * 200 + "]" * 200}}]},
        RESULT,
    ],
    "sound": [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]}
    ],
    "a part without type": [{"role": "user", "content": [{}]}],
    "a part that is a text": [{"role": "user", "content": ["x"]}],
    "a picture of a system": [
        {"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    ],
    "a text that is none": [{"role": "user", "content": [{"type": "text", "text": 5}]}],
    "a message that is none": ["hello"],
    "no messages": [],
}


async def test_w5_odd_histories_are_refused_and_nothing_runs(served: Served, script: ScriptedModel) -> None:
    for name, history in ODD.items():
        refused = await ask(served, *history, tools=[WEATHER])
        assert refused.status_code == 400, name
        assert "messages" in (problem(refused)["param"] or ""), name
    assert script.requests == []
    assert await (await served.ship()).threads.ids() == []


SOUND: dict[str, list[Any]] = {
    "the assistant first": [{"role": "assistant", "content": "Welcome."}, said("hello")],
    "two in a row": [said("x"), said("y"), said("hello")],
    "two answers in a row": [
        said("x"),
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
        said("hello"),
    ],
    "an empty answer": [said("x"), {"role": "assistant", "content": ""}, said("hello")],
    "a null answer": [said("x"), {"role": "assistant", "content": None}, said("hello")],
    "a refusal": [said("x"), {"role": "assistant", "content": None, "refusal": "No."}, said("hello")],
    "empty words before": [said(""), said("hello")],
    "one id in two messages": [ASKED, RESULT, ASKED, RESULT, said("hello")],
    "an empty result": [ASKED, {**RESULT, "content": ""}, said("hello")],
    "a name of ours": [
        {**ASKED, "tool_calls": [{**CALL, "function": {"name": "exec", "arguments": '{"command":"id"}'}}]},
        RESULT,
        said("hello"),
    ],
    "arguments that are no object": [
        {**ASKED, "tool_calls": [{**CALL, "function": {"name": "x", "arguments": "5"}}]},
        RESULT,
        said("hello"),
    ],
    "half a name": [{"role": "user", "content": "hello \x00 \u202e", "name": "x"}],
}


async def test_w5_histories_that_can_be_told_are_taken(served: Served, script: ScriptedModel) -> None:
    for name, history in SOUND.items():
        assert words(await ask(served, *history)) == "Hello there.", name
    assert len(script.requests) == len(SOUND)


RAW: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"hello",
    "half a body": b'{"messages": [',
    "a list": b"[]",
    "null": b"null",
    "not UTF-8": b'{"messages": [{"role": "user", "content": "\xff"}]}',
    "half a character": b'{"messages": [{"role": "user", "content": "\\ud800 hello"}]}',
    "100 lists": b'{"messages": ' + b"[" * 100 + b"]" * 100 + b"}",
    "100 objects": b'{"messages": [{"role": "user", "content": [' + b'{"a":' * 100 + b"1" + b"}" * 103,
    "10,000 lists": b"[" * 10_000 + b"]" * 10_000,
    "10 MB of brackets": b"[" * 10_000_000,
    "10 MB of one number": b'{"messages": [], "n": ' + b"9" * 10_000_000 + b"}",
    "an unending key": b'{"' + b"x" * 10_000_000 + b'": 1}',
}


async def test_w5_bodies_that_only_mean_harm_are_refused(served: Served, script: ScriptedModel) -> None:
    for name, raw in RAW.items():
        refused = await served.client.post(PATH, content=raw)
        assert refused.status_code == 400, name
        assert len(problem(refused)["message"]) < 1000, name
    assert script.requests == []
    assert words(await ask(served, said("hello"))) == "Hello there."


async def test_w5_ten_megabytes_of_words_are_words(served: Served, script: ScriptedModel) -> None:
    long = "hello " * 1_700_000
    assert words(await ask(served, said(long))) == "Hello there."
    many = [said(f"{number}") for number in range(20_000)]
    assert words(await ask(served, *many, said("hello"))) == "Hello there."
    assert len(script.requests[-1].messages) == 20_002
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert words(await ask(served, said("hello"), metadata=deep)) == "Hello there."


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Go over every place in a JSON value."""
    yield way
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*way, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from places(each, (*way, number))


def put(value: Any, way: tuple[Any, ...], other: Any) -> Any:
    """Return a JSON value with another at a place."""
    if not way:
        return other
    made = copy.copy(value)
    made[way[0]] = put(value[way[0]], way[1:], other)
    return made


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(raw: bytes) -> tuple[ClientHistory, Any] | ApiError:
    """Read a body as the route does."""
    try:
        body, given_ = read_completion(raw)
        read_options(body)
        return read_history(body.messages), given_
    except ApiError as error:
        return error


@given(way=st.sampled_from(list(places(FULL))), other=ANY_JSON)
def test_w5_whatever_stands_anywhere_is_taken_or_refused_in_words(way: tuple[Any, ...], other: Any) -> None:
    try:
        raw = msgspec.json.encode(put(FULL, way, other))
    except (UnicodeEncodeError, OverflowError):
        return
    found = read(raw)
    if isinstance(found, ApiError):
        assert found.status == 400
        assert 0 < len(str(found)) < 1000
        return
    read_, given_ = found
    # Nothing that was said before is dropped in silence.
    assert len(read_.before) + 1 == sum(message["role"] != "tool" for message in given_["messages"])

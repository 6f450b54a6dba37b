from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

from shipmate.models.neutral import (
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.port import Finish, ModelEvent, ReasoningDelta, ReasoningEnd, TextDelta
from shipmate.models.to_model import to_model_messages
from shipmate.models.wire.chat.chat import ChatWire, ThinkReader
from shipmate.models.wire.chat.chat_reader import ChatReader
from shipmate.models.wire.chat.dialect import COMMON, DIALECTS
from shipmate.models.wire.wire import WireError, WireSettings
from shipmate.values.message import JsonObject
from tests.support.chat_rule import check_chat
from tests.support.chat_stream import choice, chunk
from tests.support.request_type import check_type
from tests.support.search import examples
from tests.support.thread_strategy import PIXEL, threads
from tests.support.wire_course import beginnings, courses, request

WIRE = ChatWire()
PROVIDERS = (*DIALECTS, "openai-compatible", "lmstudio", "together")
LEVELS = (None, "none", "minimal", "low", "medium", "high")
PIXEL_DATA = PIXEL.partition(",")[2]
PDF = "JVBERi0xLjQK"
# What others than OpenAI take, so that the SDK's types do not know it.
FOREIGN = ("thinking", "enable_thinking", "reasoning", "random_seed")
FOREIGN_MESSAGE = ("reasoning_content", "reasoning_details")


def read(text: str, size: int) -> list[ModelEvent]:
    reader = ThinkReader(ChatReader(COMMON))
    events: list[ModelEvent] = []
    for place in range(0, len(text), size):
        events += reader.take("", json.dumps(chunk(choice({"content": text[place : place + size]}))).encode())
    events += reader.take("", json.dumps(chunk(choice({}, "stop"))).encode())
    return [*events, *reader.close()]


def sum_up(events: list[ModelEvent]) -> tuple[str, str, int]:
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    words = "".join(event.text for event in events if isinstance(event, TextDelta))
    return thought, words, sum(isinstance(event, ReasoningEnd) for event in events)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("text", "thought", "words"),
    [
        ("<think>\nHm.\n</think>\n\nOk.", "Hm.\n", "Ok."),
        ("\n<think>a < b</think>Ok.", "a < b", "Ok."),
        ("<think></think>Ok.", "", "Ok."),
        ("<think>Hm.", "Hm.", ""),
        ("Ok. <think>no</think>", "", "Ok. <think>no</think>"),
        ("<thin", "", "<thin"),
        ("<div>Ok.</div>", "", "<div>Ok.</div>"),
        ("<think>one</think><think>two</think>", "one", "<think>two</think>"),
    ],
)
def test_thinking_at_the_start_is_told_apart(text: str, thought: str, words: str, size: int) -> None:
    events = read(text, size)
    assert sum_up(events) == (thought, words, 1 if "<think>" in text[:8] else 0)
    assert events[-1] == Finish("stop")


@given(st.text(alphabet="<think>/ a", max_size=30), st.integers(1, 4))
def test_nothing_is_lost(text: str, size: int) -> None:
    assert sum_up(read(text, size)) == sum_up(read(text, 1000))


def test_what_was_thought_is_told_before_trouble() -> None:
    reader = ThinkReader(ChatReader(COMMON))
    events = list(reader.take("", json.dumps(chunk(choice({"content": "<think>Hm</th"}))).encode()))
    with pytest.raises(WireError):
        events.extend(reader.close())
    assert sum_up(events) == ("Hm</th", "", 1)


def test_blanks_without_end_are_words_and_not_kept() -> None:
    reader = ThinkReader(ChatReader(COMMON))
    event = json.dumps({"choices": [{"index": 0, "delta": {"content": " " * 400}}]}).encode()
    told = [each for _ in range(10) for each in reader.take("", event)]
    assert "".join(each.text for each in told if isinstance(each, TextDelta)) == " " * 4000


def setting(provider: str = "openai", **more: Any) -> WireSettings:
    return WireSettings(provider=provider, model="m", **more)


def sign(number: int) -> JsonObject:
    return {
        "field": "reasoning_content",
        "details": [{"type": "reasoning.text", "text": "Hm.", "index": number}],
    }


def body_of(course: list[ModelMessage], wanted: WireSettings | None = None, **more: Any) -> JsonObject:
    return WIRE.body(request(**more), course, wanted or setting())


def hello() -> list[ModelMessage]:
    return [ModelMessage("user", [TextBlock("Hi.")])]


@settings(max_examples=examples(30))
@given(courses(sign), st.sampled_from(PROVIDERS), st.sampled_from(LEVELS))
def test_every_beginning_of_a_course_is_a_request_the_provider_takes(
    course: list[ModelMessage], provider: str, reasoning: str | None
) -> None:
    for beginning in beginnings(course):
        body = body_of(beginning, setting(provider, reasoning=reasoning, temperature=0.5), cache_key="k")
        check_chat(body)
        known = {key: value for key, value in body.items() if key not in FOREIGN}
        known["messages"] = [
            {key: value for key, value in message.items() if key not in FOREIGN_MESSAGE}
            for message in body["messages"]
        ]
        check_type(CompletionCreateParamsStreaming, "openai.types", known)


@settings(max_examples=examples(40))
@given(threads())
def test_any_stretch_of_any_thread_is_a_request_the_provider_takes(thread: list[Any]) -> None:
    for end in range(len(thread) + 1):
        check_chat(body_of(to_model_messages(thread[:end])))
        check_chat(body_of(to_model_messages(thread[:end]), setting("openai-compatible")))


@settings(max_examples=examples(100))
@given(courses(sign), st.sampled_from(PROVIDERS))
def test_w3_each_request_begins_the_next_one(course: list[ModelMessage], provider: str) -> None:
    before = b""
    for beginning in beginnings(course):
        raw = msgspec.json.encode(body_of(beginning, setting(provider)))
        assert raw.startswith(before)
        assert raw == msgspec.json.encode(body_of(beginning, setting(provider)))
        before = raw.rstrip(b"]}")


TEXT = st.builds(TextBlock, st.sampled_from(("One.", "你好", 'a"b\n')))
FILE = st.just(FileBlock("image/gif", PIXEL_DATA, "a", "[attached file: a]"))


@given(st.lists(TEXT | FILE, min_size=1), st.sampled_from(("openai", "openrouter", "xai", "deepseek")))
def test_w3_a_message_that_grows_leaves_its_beginning_as_it_was(blocks: list[Any], provider: str) -> None:
    before = b""
    for end in range(1, len(blocks) + 1):
        raw = msgspec.json.encode(body_of([ModelMessage("user", blocks[:end])], setting(provider)))
        assert raw.startswith(before)
        before = raw.rstrip(b'"]}')


def test_sends_settings_then_tools_then_system_then_messages() -> None:
    body = body_of(hello(), setting(temperature=0.2, max_tokens=9), cache_key="thread-1")
    assert list(body)[-2:] == ["tools", "messages"]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert (body["temperature"], body["max_completion_tokens"], body["prompt_cache_key"]) == (
        0.2,
        9,
        "thread-1",
    )


def test_what_a_request_wants_wins_over_the_settings() -> None:
    sampling = {"temperature": 0, "max_tokens": 5, "stop": ["END"], "seed": 7, "top_p": None}
    body = body_of(hello(), setting("vllm", temperature=0.9, max_tokens=99, top_p=0.5), sampling=sampling)
    assert (body["temperature"], body["max_tokens"], body["stop"], body["seed"]) == (0, 5, ["END"], 7)
    assert "top_p" not in body
    assert body_of(hello(), setting("mistral"), sampling=sampling)["random_seed"] == 7


def test_models_that_reason_are_not_sent_what_they_refuse() -> None:
    sampling = {"temperature": 0.5, "top_p": 0.5, "stop": ["END"], "seed": 7}
    reasons = WireSettings(provider="openai", model="o3", reasoning="none")
    body = body_of(hello(), reasons, sampling=sampling)
    assert not {"temperature", "top_p", "stop"} & set(body)
    assert (body["seed"], body["reasoning_effort"]) == (7, "low")
    other = WireSettings(provider="openai", model="gpt-4.1")
    assert body_of(hello(), other, sampling=sampling)["temperature"] == 0.5


def test_leaves_out_what_is_empty() -> None:
    body = body_of(hello(), setting("openai-compatible"), system=" ", tools=())
    assert body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Hi."}],
    }


def test_words_go_as_a_string_where_servers_want_one() -> None:
    course = [ModelMessage("user", [TextBlock("One."), TextBlock("Two.")])]
    assert body_of(course, setting("ollama"))["messages"][-1]["content"] == "One.\n\nTwo."
    assert body_of(course)["messages"][-1]["content"] == [
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two."},
    ]


@pytest.mark.parametrize(
    ("provider", "kind", "data", "wanted"),
    [
        ("openai", "image/gif", PIXEL_DATA, "image_url"),
        ("openai-compatible", "image/gif", PIXEL_DATA, "image_url"),
        ("openai", "application/pdf", PDF, "file"),
        ("openai-compatible", "application/pdf", PDF, "text"),
        ("deepseek", "image/gif", PIXEL_DATA, "text"),
        ("openai", "audio/mpeg", "SUQz", "text"),
        # Its bytes say what it is, not its name.
        ("openai", "image/png", PIXEL_DATA, "image_url"),
        ("openai", "image/png", "bm90IGEgcGljdHVyZQ==", "text"),
    ],
)
def test_files_go_along_where_the_server_takes_their_kind(
    provider: str, kind: str, data: str, wanted: str
) -> None:
    course = [ModelMessage("user", [TextBlock("Look."), FileBlock(kind, data, "a", "[attached file: a]")])]
    content = body_of(course, setting(provider))["messages"][-1]["content"]
    if wanted == "text":
        assert "[attached file: a]" in json.dumps(content)
        assert data not in json.dumps(content)
    else:
        assert content[1]["type"] == wanted
        assert data in json.dumps(content[1])


WAV = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt ").decode()
MP3 = base64.b64encode(b"ID3\x04\0\0\0\0").decode()
FRAME = base64.b64encode(b"\xff\xfb\x90\x64\0\0").decode()


@pytest.mark.parametrize(
    ("provider", "model", "data", "format_"),
    [
        ("openai", "gpt-audio", WAV, "wav"),
        ("openai", "gpt-4o-audio-preview", MP3, "mp3"),
        ("openrouter", "google/gemini-2.5-pro", FRAME, "mp3"),
        ("vllm", "Voxtral-Mini", WAV, "wav"),
        ("openai-compatible", "qwen2.5-omni", WAV, "wav"),
        ("openai", "gpt-audio", base64.b64encode(b"OggS\0").decode(), ""),
        ("openai", "gpt-5.5", WAV, ""),
        ("deepseek", "deepseek-audio", WAV, ""),
        ("ollama", "llama3", MP3, ""),
    ],
)
def test_a_recording_goes_to_models_that_hear_and_is_named_to_the_others(
    provider: str, model: str, data: str, format_: str
) -> None:
    block = FileBlock("audio/wav", data, "a.wav", "[attached file: a.wav]")
    course = [ModelMessage("user", [TextBlock("Listen."), block])]
    body = body_of(course, WireSettings(provider=provider, model=model))
    content = json.dumps(body["messages"][-1]["content"])
    if format_:
        part = {"type": "input_audio", "input_audio": {"data": data, "format": format_}}
        assert body["messages"][-1]["content"][1] == part
        check_type(CompletionCreateParamsStreaming, "openai.types", body)
    else:
        assert data not in content
        assert "[attached file: a.wav]" in content
        assert "cannot hear" in content


def course_with_thought(signature: JsonObject) -> list[ModelMessage]:
    return [
        ModelMessage("user", [TextBlock("Go.")]),
        ModelMessage(
            "assistant",
            [
                ReasoningBlock("Hm.", signature),
                TextBlock("I look."),
                CallBlock("c1", "read", {"path": "a"}),
                CallBlock("c2", "read", {"arguments": "not json"}),
            ],
        ),
        ModelMessage(
            "user",
            [
                ResultBlock("c1", "read", "text", "success"),
                ResultBlock("c2", "read", "No such file.", "failed"),
                TextBlock("And?"),
            ],
        ),
    ]


def test_calls_and_results_go_as_the_protocol_has_them() -> None:
    answer, first, second, words = body_of(course_with_thought({}))["messages"][2:]
    assert answer["content"] == "I look."
    assert [call["function"]["arguments"] for call in answer["tool_calls"]] == [
        '{"path":"a"}',
        '{"arguments":"not json"}',
    ]
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "text"}
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "Error: No such file."}
    assert words["role"] == "user"


@pytest.mark.parametrize("provider", ["deepseek", "moonshotai", "zai", "alibaba"])
def test_thinking_goes_back_in_its_own_field(provider: str) -> None:
    course = course_with_thought({"field": "reasoning_content"})
    assert body_of(course, setting(provider))["messages"][2]["reasoning_content"] == "Hm."
    assert "Hm." not in json.dumps(body_of(course)["messages"])


@pytest.mark.parametrize("provider", ["deepseek", "moonshotai"])
def test_calls_of_another_model_carry_the_field_all_the_same(provider: str) -> None:
    """Both refuse a call without the field while they think, and earlier calls may be another model's."""
    course = course_with_thought({})
    course[1] = ModelMessage("assistant", course[1].blocks[1:])
    assert body_of(course, setting(provider))["messages"][2]["reasoning_content"] == ""


def test_openrouter_gets_the_details_it_sent() -> None:
    details = [{"type": "reasoning.encrypted", "data": "abc", "index": 0}]
    course = course_with_thought({"details": details})
    assert body_of(course, setting("openrouter"))["messages"][2]["reasoning_details"] == details


@pytest.mark.parametrize(
    ("provider", "reasoning", "wanted"),
    [
        ("openai", "low", {"reasoning_effort": "low"}),
        ("openai", "none", {"reasoning_effort": "none"}),
        ("deepseek", "none", {"thinking": {"type": "disabled"}}),
        ("deepseek", "high", {"thinking": {"type": "enabled"}}),
        ("alibaba", "none", {"enable_thinking": False}),
        ("openrouter", "high", {"reasoning": {"effort": "high"}}),
        ("openai-compatible", "high", {}),
        ("mistral", "high", {}),
    ],
)
def test_how_hard_to_think_is_said_in_the_servers_words(
    provider: str, reasoning: str, wanted: JsonObject
) -> None:
    without = body_of(hello(), setting(provider))
    body = body_of(hello(), setting(provider, reasoning=reasoning))
    assert {key: value for key, value in body.items() if key not in without} == wanted


def test_sends_the_key_and_no_header_without_one() -> None:
    assert WIRE.headers("k") == {"authorization": "Bearer k"}
    assert WIRE.headers(None) == {}


def test_a_long_cache_key_is_cut_to_what_the_provider_takes() -> None:
    assert body_of(hello(), setting(), cache_key="k" * 65)["prompt_cache_key"] == "k" * 64

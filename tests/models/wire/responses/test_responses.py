from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from shipmate.models.to_model import to_model_messages
from shipmate.models.wire.responses.responses import ResponsesWire
from shipmate.models.wire.wire import WireSettings
from shipmate.values.message import JsonObject
from tests.support.request_type import check_type
from tests.support.responses_rule import check_responses
from tests.support.search import examples
from tests.support.thread_strategy import PIXEL, threads
from tests.support.wire_course import beginnings, courses, request

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


@settings(max_examples=examples(60))
@given(courses(sign), st.sampled_from(MODELS), st.sampled_from(LEVELS))
def test_every_beginning_of_a_course_is_a_request_the_provider_takes(
    course: list[ModelMessage], model: str, reasoning: str | None
) -> None:
    for beginning in beginnings(course):
        body = body_of(beginning, setting(model, reasoning=reasoning, temperature=0.5), cache_key="k")
        check_responses(body)
        check_type(ResponseCreateParamsStreaming, "openai.types", body)


@settings(max_examples=examples(60))
@given(courses(sign), st.sampled_from(MODELS))
def test_w3_each_request_begins_the_next_one(course: list[ModelMessage], model: str) -> None:
    before = b""
    for beginning in beginnings(course):
        raw = msgspec.json.encode(body_of(beginning, setting(model)))
        assert raw.startswith(before)
        before = raw.rstrip(b"]}")


@settings(max_examples=examples(60))
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


def test_arguments_that_are_no_object_go_out_inside_one() -> None:
    part = {"type": "tool-read", "toolCallId": "c1", "state": "output-error", "rawInput": '{"path": "a'}
    thread: list[Any] = [
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Go."}]},
        {"id": "a", "role": "assistant", "parts": [{**part, "errorText": "not JSON"}]},
    ]
    arguments = json.loads(body_of(to_model_messages(thread))["input"][1]["arguments"])
    assert '{"path": "a' in arguments.values()


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
    *(
        "gpt-4.1",
        "gpt-4o",
        "gpt-5",
        "gpt-5-mini",
        "gpt-5-pro",
        "gpt-5-chat-latest",
        "gpt-5.1",
        "gpt-5.1-codex",
    ),
    *("gpt-5.1-chat-latest", "gpt-5.2", "gpt-5.2-pro", "gpt-5.3-codex", "gpt-5.3-chat-latest", "gpt-5.4"),
    *("gpt-5.4-pro", "gpt-5.5", "gpt-5.5-pro", "gpt-5.6-sol", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna"),
    *("gpt-6.1-sol", "gpt-6.1-terra", "o1", "o3", "o4-mini"),
)


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

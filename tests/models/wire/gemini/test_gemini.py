"""Bodies for Gemini: what google-genai would send and Gemini accepts, signatures in their places (W4)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.neutral import (
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.port import ModelRequest, ToolSpec
from shipmate.models.to_model import to_model_messages
from shipmate.models.wire.gemini.gemini import UNSIGNED, GeminiWire, make_config
from shipmate.models.wire.wire import WireSettings
from shipmate.values.message import JsonObject, UIMessage, user_message
from tests.support.gemini_rule import check_request, send_through_sdk
from tests.support.gemini_stream import answers, fold
from tests.support.search import examples
from tests.support.thread_strategy import threads
from tests.support.wire_course import beginnings, courses

WIRE = GeminiWire()
SETTINGS = WireSettings(provider="google", model="gemini-3-flash-preview")
OLDER = WireSettings(provider="google", model="gemini-2.5-flash")
READ = ToolSpec(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
NOW = ToolSpec("now", "Tell the time.", {"type": "object", "properties": {}})


def make_body(messages: list[ModelMessage], settings: WireSettings = SETTINGS, **more: Any) -> dict[str, Any]:
    fields: JsonObject = {"system": "Be brief.", "messages": [], "tools": (READ, NOW), **more}
    request = ModelRequest(**fields)
    return WIRE.body(request, messages, settings)


@given(threads(), st.sampled_from((SETTINGS, OLDER)))
@settings(max_examples=examples(100), deadline=None)
def test_any_thread_is_what_the_sdk_sends_and_gemini_takes(
    thread: list[UIMessage], settings: WireSettings
) -> None:
    body = make_body(to_model_messages(thread), settings, sampling={"stop": ["x"], "seed": 7})
    check_request(body, is_strict=settings is SETTINGS)
    assert list(body) == ["generationConfig", "tools", "systemInstruction", "contents"]
    assert send_through_sdk(body, settings.model) == sign_as_bytes(body)


def sign_as_bytes(body: Any) -> Any:
    """Write signatures as the SDK does, which takes them for bytes."""
    known = UNSIGNED.replace("_", "/")
    return json.loads(json.dumps(body).replace(f'"{UNSIGNED}"', f'"{known}"'))


@given(threads())
@settings(max_examples=examples(60), deadline=None)
def test_a_longer_course_begins_with_the_shorter_one(thread: list[UIMessage]) -> None:
    neutral = to_model_messages(thread, zone="UTC")
    whole = json.dumps(make_body(neutral))
    for end in range(1, len(neutral), 2):
        assert whole.startswith(json.dumps(make_body(neutral[:end])).removesuffix("]}"))


@given(answers())
@settings(max_examples=examples(150), deadline=None)
async def test_w4_an_answer_goes_back_part_by_part_as_it_came(chunks: list[dict[str, Any]]) -> None:
    reader = WIRE.reader(SETTINGS)
    events = [event for chunk in chunks for event in reader.take("", json.dumps(chunk).encode())]
    row, sidecar = await fold([*events, *reader.close()], "google:gemini-3-flash-preview")
    thread = [user_message("u1", "Hello."), row, user_message("u2", "And?")]
    neutral = to_model_messages(thread, sidecars={"a1": sidecar}, model="google:gemini-3-flash-preview")
    body = make_body(neutral)
    check_request(body)
    sent = [part for content in body["contents"] if content["role"] == "model" for part in content["parts"]]
    came = [
        part
        for chunk in chunks
        for part in chunk["candidates"][0].get("content", {}).get("parts", [])
        if "functionCall" in part or part["text"] or part.get("thoughtSignature")
    ]
    assert list(map(signed_of, filter(is_signed, sent))) == list(map(signed_of, filter(is_signed, came)))
    assert said_in(sent) == said_in(came)


def is_signed(part: JsonObject) -> bool:
    return part.get("thoughtSignature") not in (None, UNSIGNED)


def signed_of(part: JsonObject) -> JsonObject:
    """Return a part without the id of its call, which may be one that we gave."""
    if "functionCall" in part:
        call = part["functionCall"]
        return {**part, "functionCall": {"name": call["name"], "args": call["args"]}}
    # A signature that came with blank words stands alone: no provider takes those as a text.
    return {**part, "text": part["text"] if part["text"].strip() else ""}


def said_in(parts: list[JsonObject]) -> str:
    return "".join(part["text"] for part in parts if "text" in part and not part.get("thought")).strip()


def test_w4_the_first_call_of_another_model_bears_the_documented_dummy() -> None:
    calls = [CallBlock("c1", "read", {}), CallBlock("c2", "read", {})]
    results = [ResultBlock("c1", "read", "x", "success"), ResultBlock("c2", "read", "y", "failed")]
    course = [
        ModelMessage("user", [TextBlock("Hi.")]),
        ModelMessage("assistant", [TextBlock("So."), *calls]),
        ModelMessage("user", list(results)),
    ]
    first, second = make_body(course)["contents"][1]["parts"][1:]
    assert first["thoughtSignature"] == UNSIGNED
    assert "thoughtSignature" not in second
    assert "thoughtSignature" not in str(make_body(course, OLDER))
    answered = make_body(course)["contents"][2]["parts"]
    assert [part["functionResponse"]["response"] for part in answered] == [{"output": "x"}, {"error": "y"}]


def test_w4_words_that_were_changed_since_keep_the_signature_beside_them() -> None:
    signature = {"kind": "text", "parts": [[3, ""], [2, "Uw=="]]}
    course = [
        ModelMessage("user", [TextBlock("Hi.")]),
        ModelMessage("assistant", [TextBlock("Hello."), ReasoningBlock("", signature)]),
        ModelMessage("user", [TextBlock("Go on.")]),
    ]
    assert make_body(course)["contents"][1]["parts"] == [
        {"text": "Hello."},
        {"text": "", "thoughtSignature": "Uw=="},
    ]


@pytest.mark.parametrize("signature", [{}, {"parts": 7}, {"parts": [[1], ["x", 2], [-1, "a"]]}])
def test_a_signature_that_cannot_be_read_leaves_a_turn_that_is_taken(signature: JsonObject) -> None:
    course = [
        ModelMessage("user", [TextBlock("Hi.")]),
        ModelMessage("assistant", [ReasoningBlock("", signature)]),
        ModelMessage("user", [TextBlock("Go on.")]),
    ]
    check_request(make_body(course))


def sign(number: int) -> JsonObject:
    lengths = [[], [[0, "QQ=="]], [[3, "Qg=="]], [[1, ""], [2, "Qw=="]], [[9, "RA=="]]]
    kind = "thought" if number % 2 else "text"
    return {"by": "google:m", "kind": kind, "parts": lengths[number % len(lengths)]}


@given(courses(sign))
@settings(max_examples=examples(100), deadline=None)
def test_w4_any_course_with_anything_signed_is_taken_and_grows(course: list[ModelMessage]) -> None:
    whole = json.dumps(make_body(course))
    for beginning in beginnings(course):
        body = make_body(beginning)
        check_request(body)
        assert whole.startswith(json.dumps(body).removesuffix("]}"))
    for word in (
        block.text for message in course for block in message.blocks if isinstance(block, TextBlock)
    ):
        assert json.dumps(word)[1:-1] in whole or is_signed_apart(word, whole)


def is_signed_apart(word: str, whole: str) -> bool:
    """Return whether words went out in pieces, one of which bears a signature."""
    return all(json.dumps(letter)[1:-1] in whole for letter in word)


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@pytest.mark.parametrize(
    ("media_type", "data", "part"),
    [
        ("image/png", PNG, {"inlineData": {"mimeType": "image/png", "data": PNG}}),
        ("image/jpeg", PNG, {"inlineData": {"mimeType": "image/png", "data": PNG}}),
        ("image/png", "aGk=", {"text": "[a]"}),
        ("image/gif", GIF, {"text": "[a]"}),
        ("application/pdf", "JVBERi0x", {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0x"}}),
        ("audio/mpeg", "aGk=", {"inlineData": {"mimeType": "audio/mpeg", "data": "aGk="}}),
        ("video/mp4", "aGk=", {"inlineData": {"mimeType": "video/mp4", "data": "aGk="}}),
        ("text/plain", "aGk=", {"text": "[a]\nhi"}),
        ("application/zip", "aGk=", {"text": "[a]"}),
        ("", "aGk=", {"text": "[a]"}),
    ],
)
def test_files_go_along_where_gemini_takes_them(media_type: str, data: str, part: JsonObject) -> None:
    course = [ModelMessage("user", [FileBlock(media_type, data, "a", "[a]")])]
    assert make_body(course)["contents"][0]["parts"] == [part]


@pytest.mark.parametrize(
    ("model", "effort", "thinking"),
    [
        ("gemini-3-flash-preview", "minimal", {"thinkingLevel": "MINIMAL", "includeThoughts": True}),
        ("gemini-3-flash-preview", "none", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.8-flash", "minimal", {"thinkingLevel": "LOW", "includeThoughts": True}),
        ("gemini-flash-latest", "none", {"thinkingLevel": "LOW"}),
        ("gemini-4-argon", "high", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.5-flash-lite", "minimal", {"thinkingBudget": 512, "includeThoughts": True}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192, "includeThoughts": True}),
        ("gemini-2.5-flash-image", "high", None),
        ("gemini-2.0-flash", "high", None),
        ("gemma-3-27b-it", "high", None),
        ("gemini-3-flash-preview", None, None),
        ("gemini-3-flash-preview", "like mad", None),
    ],
)
def test_says_how_hard_to_think_as_the_model_takes_it(
    model: str, effort: str | None, thinking: JsonObject | None
) -> None:
    settings = WireSettings(provider="google", model=model, reasoning=effort)
    body = make_body([ModelMessage("user", [TextBlock("Hi.")])], settings)
    assert body.get("generationConfig", {}).get("thinkingConfig") == thinking


def test_settings_and_the_request_over_them() -> None:
    settings = WireSettings(provider="google", model="m", temperature=0.5, top_p=0.9, max_tokens=100)
    sampling = {"temperature": 0.1, "stop": "END", "seed": 3, "unknown": 1, "top_p": None}
    body = make_body([ModelMessage("user", [TextBlock("Hi.")])], settings, sampling=sampling)
    assert body["generationConfig"] == {
        "temperature": 0.1,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "seed": 3,
    }
    assert list(body) == ["generationConfig", "tools", "systemInstruction", "contents"]


def test_asks_for_nothing_that_is_not_there() -> None:
    body = make_body([ModelMessage("user", [TextBlock("Hi.")])], system=" ", tools=())
    assert body == {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}


def test_the_key_stands_in_a_header_and_never_in_the_address() -> None:
    assert WIRE.path(SETTINGS) == "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
    assert WIRE.headers("secret") == {"x-goog-api-key": "secret"}
    assert WIRE.headers(None) == {}
    tuned = WireSettings(provider="google", model="tunedModels/a b?c")
    assert WIRE.path(tuned) == "/v1beta/tunedModels/a%20b%3Fc:streamGenerateContent?alt=sse"


def test_no_more_texts_to_stop_at_go_out_than_are_taken() -> None:
    wanted = ModelRequest(system="", messages=(), sampling={"stop": [*"abcdefg"]})
    config = make_config(wanted, WireSettings(provider="google", model="gemini-x"))
    assert config["stopSequences"] == [*"abcde"]

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)

from shipmate.models.provider.history import CALL_ID, TOOL_NAME
from shipmate.models.provider.to_model import to_model_messages
from shipmate.values.message import JsonObject, UIMessage
from tests.support.search import examples
from tests.support.thread_strategy import PIXEL, threads

EXAMPLES = examples(200)


def user(*parts: JsonObject | str, id: str = "u") -> UIMessage:
    return {"id": id, "role": "user", "parts": [_part(part) for part in parts]}


def assistant(*parts: JsonObject | str, id: str = "a") -> UIMessage:
    return {"id": id, "role": "assistant", "parts": [_part(part) for part in parts]}


def _part(part: JsonObject | str) -> JsonObject:
    return {"type": "text", "text": part} if isinstance(part, str) else part


STEP: JsonObject = {"type": "step-start"}


def tool(state: str, call_id: str = "c1", **more: Any) -> JsonObject:
    return {"type": "tool-read", "toolCallId": call_id, "state": state, "input": {"path": "a.md"}, **more}


def show(messages: list[ModelMessage]) -> list[str]:
    """Write a request down in short, one line per part."""
    return [_line(part) for message in messages for part in message.parts]


def _line(part: object) -> str:
    match part:
        case UserPromptPart(content=str(text)):
            return f"user: {text}"
        case UserPromptPart(content=items):
            return f"user: {['<image>' if isinstance(item, BinaryContent) else item for item in items]}"
        case TextPart(content=text):
            return f"text: {text}"
        case ThinkingPart(content=text, signature=signature):
            return f"thinking: {text} {signature}"
        case ToolCallPart(tool_name=name, tool_call_id=call_id):
            return f"call: {name} {call_id} {part.args_as_json_str()}"
        case ToolReturnPart(tool_call_id=call_id, outcome=outcome, content=content):
            return f"result: {call_id} {outcome} {content}"
        case _:
            return repr(part)


def all_text(messages: list[ModelMessage]) -> str:
    return "\n".join(show(messages))


def test_splits_a_message_at_its_steps_and_keeps_results_in_call_order() -> None:
    messages = [
        user("Look."),
        assistant(
            STEP,
            "Reading.",
            tool("output-available", "c1", output="one"),
            tool("output-available", "c2", output={"lines": 2}),
            STEP,
            "Done.",
        ),
        user("Thanks."),
    ]
    made = to_model_messages(messages)
    assert show(made) == [
        "user: Look.",
        "text: Reading.",
        'call: read c1 {"path":"a.md"}',
        'call: read c2 {"path":"a.md"}',
        "result: c1 success one",
        'result: c2 success {"lines":2}',
        "text: Done.",
        "user: Thanks.",
    ]
    assert [type(message) for message in made] == [
        ModelRequest,
        ModelResponse,
        ModelRequest,
        ModelResponse,
        ModelRequest,
    ]


@pytest.mark.parametrize(
    ("part", "result"),
    [
        (tool("input-available"), "failed This call was interrupted and its outcome is unknown"),
        (
            tool("approval-requested", approval={"id": "p"}),
            "interrupted This call has not run. It still waits",
        ),
        (
            tool("approval-responded", approval={"id": "p", "approved": True}),
            "failed This call was interrupted and its outcome is unknown",
        ),
        (
            tool("approval-responded", approval={"id": "p", "approved": False, "reason": "Not today."}),
            "denied This call was denied and did not run. Not today.",
        ),
        (
            tool("output-denied", approval={"id": "p", "approved": False, "reason": "No."}),
            "denied This call was denied and did not run. No.",
        ),
        (tool("output-error", errorText="No such file."), "failed No such file."),
        (tool("output-available", output=None), "success (no output)"),
        (tool("output-available", output="half", preliminary=True), "failed This call was interrupted"),
    ],
)
def test_settles_every_state_in_words(part: JsonObject, result: str) -> None:
    made = to_model_messages([user("Go."), assistant(STEP, part), user("And?")])
    lines = show(made)
    assert lines[2].startswith(f"result: c1 {result}")
    assert lines[3] == "user: And?"


def test_skips_a_call_whose_input_was_still_being_written() -> None:
    made = to_model_messages([user("Go."), assistant(STEP, "I will", tool("input-streaming")), user("Well?")])
    assert show(made) == ["user: Go.", "text: I will", "user: Well?"]


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"input": '{"path": "a'}, '{"INVALID_JSON":"{\\"path\\": \\"a"}'),
        ({"input": None, "rawInput": "rubbish"}, '{"INVALID_JSON":"rubbish"}'),
        ({"input": [1, 2]}, '{"INVALID_JSON":"[1,2]"}'),
        ({"input": '{"path": "a.md"}'}, '{"path":"a.md"}'),
        ({"input": None}, "{}"),
    ],
)
def test_sends_arguments_of_any_shape(fields: JsonObject, arguments: str) -> None:
    part = {**tool("output-error", errorText="bad arguments"), **fields}
    assert show(to_model_messages([user("Go."), assistant(part)]))[1] == f"call: read c1 {arguments}"


def test_gives_a_repeated_call_id_a_name_of_its_own() -> None:
    part = tool("output-available", output="x")
    made = to_model_messages(
        [user("1"), assistant(part, id="a1"), user("2"), assistant(part, id="a2"), user("3")]
    )
    calls = [
        part.tool_call_id for message in made for part in message.parts if isinstance(part, ToolCallPart)
    ]
    assert calls == ["c1", "c1_2"]


def test_m9_merges_what_people_said_in_a_row_and_drops_blank_messages() -> None:
    made = to_model_messages([user("One."), user("  "), user("Two.", "Three.")])
    assert len(made) == 1
    assert show(made) == ["user: One.\n\nTwo.\n\nThree."]


def test_ends_and_begins_with_the_person() -> None:
    made = to_model_messages([assistant("I begin")])
    assert isinstance(made[0], ModelRequest)
    assert isinstance(made[-1], ModelRequest)
    assert show(made)[1] == "text: I begin"
    assert len(to_model_messages([])) == 1


def test_pins_speak_for_themselves_and_only_a_summary_is_called_one() -> None:
    pins = {"type": "data-course", "data": {"course": 2, "pins": [{"number": 1, "text": "Blue."}]}}
    rows: list[UIMessage] = [
        {
            "id": "c",
            "role": "system",
            "parts": [pins, {"type": "text", "text": "(Pinned:) Blue."}, {"type": "text", "text": "We met."}],
        },
        {
            "id": "p",
            "role": "system",
            "parts": [{"type": "data-pin", "data": {}}, {"type": "text", "text": "(Pinned:) Red."}],
        },
    ]
    (request,) = to_model_messages(rows)
    said = "\n\n".join(str(part.content) for part in request.parts if isinstance(part, UserPromptPart))
    summary = "Summary of the conversation before this point:\n\nWe met.\n\n(End of the summary.)"
    assert said == f"(Pinned:) Blue.\n\n{summary}\n\n(Pinned:) Red."


def test_puts_the_summary_of_the_last_course_at_the_head() -> None:
    opening: UIMessage = {
        "id": "s",
        "role": "system",
        "parts": [{"type": "data-course", "data": {"course": 2}}, {"type": "text", "text": "We chose blue."}],
    }
    made = to_model_messages([opening, user("Go on.")])
    assert show(made) == [
        "user: Summary of the conversation before this point:\n\nWe chose blue.\n\n"
        "(End of the summary.)\n\nGo on."
    ]


def test_sends_reasoning_of_the_open_turn_only_where_the_provider_signed_it() -> None:
    thought = {"type": "reasoning", "text": "Hm."}
    closed = assistant(STEP, thought, "Hello.", id="a1")
    opened = assistant(
        STEP, thought, thought, thought, tool("output-available", output="x"), STEP, thought, id="a2"
    )
    signed: list[JsonObject | None] = [
        {"provider": "anthropic", "signature": "s1"},
        {"provider": "other", "signature": "s2"},
        None,
    ]
    made = to_model_messages(
        [user("1"), closed, user("2"), opened],
        signatures={"a1": signed, "a2": signed},
        provider="anthropic",
    )
    assert [line for line in show(made) if line.startswith("thinking")] == ["thinking: Hm. s1"]


def test_shows_recent_images_and_names_older_ones() -> None:
    image = {"type": "file", "url": PIXEL, "mediaType": "image/gif", "filename": "dot.gif"}
    paper = {"type": "file", "url": "media/a.pdf", "mediaType": "application/pdf", "filename": "a.pdf"}
    broken = {"type": "file", "url": "data:image/png;base64,@@", "mediaType": "image/png"}
    turns = [user("Old.", image, id="u0"), assistant("Seen.", id="a0")]
    for number in range(3):
        turns += [
            user("New.", image, paper, broken, id=f"u{number + 1}"),
            assistant("Ok.", id=f"a{number + 1}"),
        ]
    lines = show(to_model_messages(turns))
    assert lines[0] == "user: Old.\n\n[attached file: dot.gif, image/gif]"
    assert lines[2] == (
        "user: ['New.', '<image>', '[attached file: a.pdf, application/pdf, media/a.pdf]', "
        "'[attached file: unnamed, image/png]']"
    )


def test_survives_messages_that_are_not_shaped_as_messages() -> None:
    odd: Any = [
        {"id": "x", "role": "user"},
        {"role": "tool", "parts": ["?", None, {"type": "text", "text": "Hm"}]},
    ]
    assert show(to_model_messages([*odd, user("Hello.")])) == ["user: Hm\n\nHello."]


def test_notices_that_a_remembered_message_was_replaced_or_grew() -> None:
    turns = [
        message for n in range(6) for message in (user(f"q{n}", id=f"u{n}"), assistant(f"r{n}", id=f"a{n}"))
    ]
    assert "q0" in all_text(to_model_messages(turns))
    replaced = [turns[0], assistant("changed", id="a0"), *turns[2:]]
    assert "changed" in all_text(to_model_messages(replaced))
    assert "changed" not in all_text(to_model_messages(turns))
    turns[1]["parts"].append({"type": "text", "text": "grown"})
    assert "grown" in all_text(to_model_messages(turns))


def test_never_changes_what_it_gave_before() -> None:
    turns = [user(f"q{n}", id=f"u{n}") for n in range(4)]
    turns = [
        turns[0],
        assistant("r", id="a0"),
        turns[1],
        assistant("r", id="a1"),
        turns[2],
        assistant("r", id="a2"),
    ]
    first = to_model_messages(turns)
    before = show(first)
    to_model_messages(
        [*turns, user("more", id="x"), user("more", id="y"), assistant("z", id="z"), user("w", id="w")]
    )
    assert show(first) == before


@settings(max_examples=EXAMPLES)
@given(threads(), st.integers(0, 8))
def test_any_prefix_of_any_thread_is_a_request_a_provider_takes(thread: list[UIMessage], end: int) -> None:
    made = to_model_messages(thread[:end])
    assert repair_messages(made) == made
    check_valid(made)


@settings(max_examples=EXAMPLES)
@given(threads(max_messages=12))
def test_remembering_changes_nothing_and_no_text_is_lost(thread: list[UIMessage]) -> None:
    grown = [to_model_messages(thread[: end + 1]) for end in range(len(thread))]
    fresh: list[UIMessage] = [{**message, "parts": list(message["parts"])} for message in thread]
    made = to_model_messages(fresh)
    assert not grown or grown[-1] == made
    said = "\n".join(_words(part) for message in made for part in message.parts)
    for message in thread:
        for part in message["parts"]:
            text = part.get("text")
            if part.get("type") == "text" and isinstance(text, str) and text.strip():
                assert text in said


def _words(part: object) -> str:
    match part:
        case UserPromptPart(content=str(text)) | TextPart(content=text):
            return text
        case UserPromptPart(content=items):
            return "\n".join(item for item in items if isinstance(item, str))
        case _:
            return ""


def check_valid(made: list[ModelMessage]) -> None:
    """Check the rules providers have: who speaks, ids, names, and results right after their calls."""
    assert isinstance(made[0], ModelRequest)
    assert isinstance(made[-1], ModelRequest)
    ids: set[str] = set()
    for place, message in enumerate(made):
        assert message.parts
        assert place == 0 or type(message) is not type(made[place - 1])
        for part in message.parts:
            if isinstance(part, TextPart):
                assert part.content.strip()
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        if not calls:
            continue
        answers = [part for part in made[place + 1].parts if isinstance(part, ToolReturnPart)]
        assert [part.tool_call_id for part in answers] == [part.tool_call_id for part in calls]
        assert list(made[place + 1].parts[: len(answers)]) == answers
        for part in calls:
            assert CALL_ID.fullmatch(part.tool_call_id)
            assert TOOL_NAME.fullmatch(part.tool_name)
            assert part.tool_call_id not in ids
            ids.add(part.tool_call_id)


def test_a_long_thread_costs_little_the_second_time() -> None:
    turns: list[UIMessage] = []
    for n in range(5000):
        done = tool("output-available", f"c{n}", output="y" * 200)
        turns += [user(f"q{n}", id=f"u{n}"), assistant(STEP, done, STEP, "Answer.", id=f"a{n}")]
    to_model_messages(turns)
    spent: list[float] = []
    for _ in range(5):
        started = time.process_time()
        to_model_messages(turns)
        spent.append(time.process_time() - started)
    # The bar is 5 ms; a busy machine gets some room, a rebuild (over 100 ms) does not.
    assert min(spent) < 0.02

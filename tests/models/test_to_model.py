from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.models.history import CALL_ID, TOOL_NAME
from shipmate.models.neutral import (
    Block,
    CallBlock,
    FileBlock,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from shipmate.models.to_model import FILES_DROPPED, FILES_KEPT, to_model_messages
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.sidecar import Sidecar
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
    """Write a request down in short, one line per block."""
    return [_line(message.role, block) for message in messages for block in message.blocks]


def _line(role: str, block: Block) -> str:
    match block:
        case TextBlock(text):
            return f"{'text' if role == 'assistant' else 'user'}: {text}"
        case FileBlock(media_type, _, name):
            return f"file: {name} {media_type}"
        case ReasoningBlock(text, signature):
            return f"thinking: {text} {signature['signature']}"
        case CallBlock(call_id, name):
            return f"call: {name} {call_id} {block.text}"
        case ResultBlock(call_id, _, text, outcome):
            return f"result: {call_id} {outcome} {text}"


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
    assert [message.role for message in made] == ["user", "assistant", "user", "assistant", "user"]


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
    calls = [block.id for message in made for block in message.blocks if isinstance(block, CallBlock)]
    assert calls == ["c1", "c1_2"]


def test_m9_merges_what_people_said_in_a_row_and_drops_blank_messages() -> None:
    made = to_model_messages([user("One."), user("  "), user("Two.", "Three.")])
    assert len(made) == 1
    assert show(made) == ["user: One.", "user: Two.", "user: Three."]


def test_ends_and_begins_with_the_person() -> None:
    made = to_model_messages([assistant("I begin")])
    assert [message.role for message in made] == ["user", "assistant", "user"]
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
    said = show(to_model_messages(rows))
    summary = "Summary of the conversation before this point:\n\nWe met.\n\n(End of the summary.)"
    read = "text: (I have read the summary and go on from there.)"
    assert said == [f"user: (Pinned:) Blue.\n\n{summary}", read, "user: (Pinned:) Red."]


def test_puts_the_summary_of_the_last_course_at_the_head() -> None:
    opening: UIMessage = {
        "id": "s",
        "role": "system",
        "parts": [{"type": "data-course", "data": {"course": 2}}, {"type": "text", "text": "We chose blue."}],
    }
    made = to_model_messages([opening, user("Go on.")])
    assert show(made) == [
        "user: Summary of the conversation before this point:\n\nWe chose blue.\n\n(End of the summary.)",
        "text: (I have read the summary and go on from there.)",
        "user: Go on.",
    ]


def test_w4_sends_what_the_model_that_is_asked_signed_itself_and_nothing_of_another() -> None:
    thought = {"type": "reasoning", "text": "Hm."}
    first = assistant(STEP, thought, "Hello.", id="a1")
    later = assistant(
        STEP, thought, thought, thought, tool("output-available", output="x"), STEP, thought, id="a2"
    )
    sidecars = {
        "a1": Sidecar(signatures=({"by": "m", "step": 1, "stretch": 0, "signature": "s0"},)),
        "a2": Sidecar(
            signatures=(
                {"by": "m", "step": 1, "stretch": 0, "signature": "s1"},
                {"by": "other", "step": 1, "stretch": 1, "signature": "s2"},
                {"by": "m", "call": "c1", "signature": "s3"},
                {"by": "m", "step": 2, "stretch": 0, "signature": "s4"},
            )
        ),
    }
    made = to_model_messages([user("1"), first, user("2"), later], sidecars=sidecars, model="m")
    thoughts = [line for line in show(made) if line.startswith("thinking")]
    assert thoughts == ["thinking: Hm. s0", "thinking: Hm. s1", "thinking: Hm. s4"]
    calls = [block for message in made for block in message.blocks if isinstance(block, CallBlock)]
    assert [call.signature["signature"] for call in calls] == ["s3"]
    assert not any(
        "thinking" in line for line in show(to_model_messages([user("1"), first], sidecars=sidecars))
    )


def test_w3_what_came_with_a_message_stands_before_its_words_with_the_time_it_was_sent() -> None:
    stamped: UIMessage = {**user("Hi.", id="u1"), "metadata": {"timestamp": "2026-11-15T18:40:09.120Z"}}
    sidecars = {"u1": Sidecar(context="It rains.")}
    lines = show(to_model_messages([stamped], sidecars=sidecars, zone="Asia/Shanghai"))
    assert len(lines) == 2
    assert lines[0].startswith("user: [Monday 2026-11-16 02:40 UTC+08:00]\n(Not said by the person")
    assert "\nIt rains.\n" in lines[0]
    assert lines[1] == "user: Hi."
    assert show(to_model_messages([stamped])) == ["user: Hi."]


@pytest.mark.parametrize("at", ["", "soon", 5, None, "2026-13-45"])
def test_a_message_without_a_time_that_can_be_read_says_none(at: Any) -> None:
    odd: UIMessage = {**user("Hi."), "metadata": {"timestamp": at}}
    assert show(to_model_messages([odd], zone="")) == ["user: Hi."]


def test_injected_context_stands_before_the_persons_last_words() -> None:
    lines = show(
        to_model_messages([user("One.", id="1"), assistant("Ok."), user("Two.", id="2")], "It rains.")
    )
    assert lines[:2] == ["user: One.", "text: Ok."]
    assert "It rains." in lines[2]
    assert lines[3:] == ["user: Two."]


def test_an_answer_that_broke_off_is_told_so_for_good() -> None:
    resumed = {"type": "data-resumed", "data": {}}
    made = to_model_messages([user("Go."), assistant(STEP, "One, tw", resumed, STEP, "o.")])
    assert [message.role for message in made] == ["user", "assistant", "user", "assistant", "user"]
    assert show(made)[2].startswith("user: (Your answer broke off here.")


def test_sends_files_and_names_the_oldest_of_very_many() -> None:
    image = {"type": "file", "url": PIXEL, "mediaType": "image/gif", "filename": "dot.gif"}
    paper = {"type": "file", "url": "media/a.pdf", "mediaType": "application/pdf", "filename": "a.pdf"}
    broken = {"type": "file", "url": "data:image/png;base64,@@", "mediaType": "image/png"}
    assert show(to_model_messages([user("New.", image, paper, broken)])) == [
        "user: New.",
        "file: dot.gif image/gif",
        "user: [attached file: a.pdf, application/pdf, media/a.pdf]",
        "user: [attached file: unnamed, image/png]",
    ]
    turns = [
        part for n in range(FILES_KEPT) for part in (user(image, id=f"u{n}"), assistant("Ok.", id=f"a{n}"))
    ]
    assert sum(line.startswith("file") for line in show(to_model_messages(turns))) == FILES_KEPT
    for extra in range(1, FILES_DROPPED + 1):
        turns.append(user(image, id=f"x{extra}"))
        lines = show(to_model_messages(turns))
        assert sum(line.startswith("file") for line in lines) == FILES_KEPT + extra - FILES_DROPPED
        assert lines[0] == "user: [attached file: dot.gif, image/gif]"


def test_survives_messages_that_are_not_shaped_as_messages() -> None:
    odd: Any = [
        {"id": "x", "role": "user"},
        {"role": "tool", "parts": ["?", None, {"type": "text", "text": "Hm"}]},
    ]
    assert show(to_model_messages([*odd, user("Hello.")])) == ["user: Hm", "user: Hello."]


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
    check_valid(made)


@settings(max_examples=EXAMPLES)
@given(threads(max_messages=12))
def test_remembering_changes_nothing_and_no_text_is_lost(thread: list[UIMessage]) -> None:
    grown = [to_model_messages(thread[: end + 1]) for end in range(len(thread))]
    fresh: list[UIMessage] = [{**message, "parts": list(message["parts"])} for message in thread]
    made = to_model_messages(fresh)
    assert not grown or grown[-1] == made
    said = "\n".join(show(made))
    for message in thread:
        for part in message["parts"]:
            text = part.get("text")
            if part.get("type") == "text" and isinstance(text, str) and text.strip():
                assert text in said


def check_valid(made: list[ModelMessage]) -> None:
    """Check the rules providers have: who speaks, ids, names, and results right after their calls."""
    assert made[0].role == made[-1].role == "user"
    ids: set[str] = set()
    for place, message in enumerate(made):
        assert message.blocks
        assert place == 0 or message.role != made[place - 1].role
        assert all(block.text.strip() for block in message.blocks if isinstance(block, TextBlock))
        calls = [block for block in message.blocks if isinstance(block, CallBlock)]
        if message.role == "assistant":
            answers = [block for block in made[place + 1].blocks if isinstance(block, ResultBlock)]
            assert [block.id for block in answers] == [block.id for block in calls]
            assert made[place + 1].blocks[: len(answers)] == answers
        for block in calls:
            assert CALL_ID.fullmatch(block.id)
            assert TOOL_NAME.fullmatch(block.name)
            assert block.id not in ids
            ids.add(block.id)


@settings(max_examples=EXAMPLES)
@given(threads(max_messages=12))
def test_w3_a_longer_course_begins_with_what_was_sent_before(thread: list[UIMessage]) -> None:
    if has_open_calls(thread):
        return
    after = show(to_model_messages(thread))
    for end in range(1, len(thread)):
        before = show(to_model_messages(thread[:end]))
        # A request is made when a person has said something.
        if not before[-1].startswith(("user: (Your answer broke off", "user: (Nothing was said")):
            assert after[: len(before)] == before


def has_open_calls(thread: list[UIMessage]) -> bool:
    """Return whether a call got its outcome after others had been told that it waits."""
    return any(
        part.get("state", "").startswith("approval") for message in thread for part in message["parts"]
    )


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

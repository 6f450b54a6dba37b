from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import PrimingError
from shipmate.priming.convert import to_messages
from shipmate.priming.rehearsal.performed import Heard
from shipmate.priming.rehearsal.recorded import split_answers
from shipmate.priming.rehearse import rehearse
from shipmate.priming.script.parse import parse_script, read_script
from shipmate.values.message import JsonObject, UIMessage, text_of
from tests.support.priming_script import words

FIXTURES = Path(__file__).parent / "fixtures"
TWO = parse_script(words("one", "1") + words("two", "2", genseq=2, message_id="m-2"))


def answer(*parts: JsonObject) -> Heard:
    return Heard(messages=[{"id": "a", "role": "assistant", "parts": list(parts)}])


async def test_the_same_answers_match() -> None:
    said: list[str] = []

    async def say(message: UIMessage) -> Heard:
        said.append(text_of(message))
        return answer({"type": "text", "text": {"one": " 1\n", "two": "2"}[text_of(message)]})

    report = await rehearse(TWO, say)
    assert (report.matches, said) == (True, ["one", "two"])
    assert [turn.differs for turn in report.turns] == [[], []]


async def test_differences_are_named_and_can_be_ignored() -> None:
    async def say(message: UIMessage) -> Heard:
        call = {"type": "tool-read", "toolCallId": "x", "input": {"path": "a"}, "output": "b"}
        return answer({"type": "text", "text": "other"}, call)

    report = await rehearse(TWO, say)
    assert not report.matches
    assert report.turns[0].differs == ["words", "calls", "results"]
    assert report.turns[0].got.calls == [{"name": "read", "input": {"path": "a"}}]
    assert (await rehearse(TWO, say, ignore=["words", "calls", "results"])).matches


async def test_calls_and_results_are_compared_without_their_ids() -> None:
    script = read_script(FIXTURES / "accept/11_hand_seed_example_fixed.md")

    async def say(message: UIMessage) -> Heard:
        return answer(
            {
                "type": "dynamic-tool",
                "toolName": "exec_command",
                "toolCallId": "another",
                "input": {"cmd": "uname -a"},
                "output": "\nDarwin ...",
            }
        )

    assert (await rehearse(script, say)).matches


async def test_a_run_that_stops_ends_the_rehearsal() -> None:
    async def say(message: UIMessage) -> Heard:
        return Heard(messages=[], stopped="the key is refused")

    report = await rehearse(TWO, say)
    assert (len(report.turns), report.matches, report.turns[0].stopped) == (1, False, "the key is refused")


async def test_a_script_nobody_speaks_in_cannot_be_rehearsed() -> None:
    script = parse_script("### record agent_words_record\n```\n---\ngenseq: 1\n---\nhi\n```\n")

    async def say(message: UIMessage) -> Heard:
        raise AssertionError(message)

    with pytest.raises(PrimingError, match="no user turn"):
        await rehearse(script, say)


def test_answers_go_with_what_was_said() -> None:
    pairs = list(split_answers(to_messages(TWO.records)))
    assert [(text_of(said), [text_of(m) for m in heard]) for said, heard in pairs] == [
        ("one", ["1"]),
        ("two", ["2"]),
    ]

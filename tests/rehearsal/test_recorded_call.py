from __future__ import annotations

import time

import pytest

from shipmate.errors import ToolError
from shipmate.rehearsal.recorded_call import RecordedCalls
from shipmate.values.message import JsonObject, UIMessage
from tests.support.cassette import called, denied, failed


def answers(*parts: JsonObject) -> list[UIMessage]:
    return [{"id": "a", "role": "assistant", "parts": list(parts)}]


def test_equal_calls_are_answered_in_the_order_of_the_script() -> None:
    calls = RecordedCalls(
        [answers(called("read", "1", output="a", path="x"), called("read", "2", output="b", path="x"))]
    )
    calls.begin(0)
    assert [calls.answer(name, "read", {"path": "x"}).output for name in ("n1", "n2")] == ["a", "b"]
    with pytest.raises(ToolError, match="no result"):
        calls.answer("n3", "read", {"path": "x"})
    assert calls.missed == ['read {"path": "x"}: the script has no such call left']


def test_the_calls_of_a_turn_come_before_those_of_others() -> None:
    turns = [answers(called("read", str(n), output=f"turn {n}", path="x")) for n in range(3)]
    calls = RecordedCalls(turns)
    calls.begin(2)
    assert calls.answer("n1", "read", {"path": "x"}).output == "turn 2"
    assert calls.answer("n2", "read", {"path": "x"}).output == "turn 0"
    calls.begin(1)
    assert calls.answer("n1", "read", {"path": "x"}).output == "turn 1"


def test_what_is_decided_about_a_call_is_what_answers_it() -> None:
    calls = RecordedCalls(
        [answers(denied("write", "1", path="x"), called("write", "2", output="ok", path="x"))]
    )
    calls.begin(0)
    assert calls.decide("n2", "write", {"path": "x"}) == (False, "")
    assert calls.decide("n1", "write", {"path": "x"}) == (True, "")
    assert calls.answer("n1", "write", {"path": "x"}).output == "ok"
    assert calls.decide("n3", "write", {"path": "x"})[0] is False
    assert len(calls.missed) == 1


def test_an_error_is_raised_again_and_a_call_that_never_ended_is_missed() -> None:
    open_call = {"type": "tool-read", "toolCallId": "2", "state": "input-available", "input": {"path": "y"}}
    calls = RecordedCalls([answers(failed("read", "1", error="gone", path="x"), open_call)])
    calls.begin(0)
    with pytest.raises(ToolError, match="gone"):
        calls.answer("n1", "read", {"path": "x"})
    with pytest.raises(ToolError, match="no result"):
        calls.answer("n2", "read", {"path": "y"})
    assert calls.missed == ['read {"path": "y"}: the script has no result for it']


def test_what_one_turn_missed_is_not_told_of_the_next() -> None:
    calls = RecordedCalls([answers(), answers(called("read", "1", output="a", path="x"))])
    calls.begin(0)
    with pytest.raises(ToolError, match="no result"):
        calls.answer("n1", "read", {"path": "y"})
    calls.begin(1)
    assert calls.answer("n1", "read", {"path": "x"}).output == "a", "a model may number its calls anew"
    assert calls.missed == []


def test_a_call_shows_the_files_right_behind_it_and_no_others() -> None:
    file = {"type": "file", "mediaType": "image/png", "url": "u"}
    first, second = (called("show_image", name, output="Shown.", path=name) for name in ("1", "2"))
    calls = RecordedCalls([answers(first, second, file, {"type": "text", "text": "There."}, file)])
    calls.begin(0)
    shown = [calls.answer(name, "show_image", {"path": name}).files for name in ("1", "2")]
    assert shown == [(), (file,)]


def test_a_refusal_is_repeated_in_its_own_words() -> None:
    refused = denied("write", "1", path="x")
    refused["approval"]["reason"] = "not that one"
    calls = RecordedCalls([answers(refused)])
    calls.begin(0)
    assert calls.decide("n1", "write", {"path": "x"}) == (False, "not that one")


def test_a_script_of_very_many_equal_calls_is_answered_in_good_time() -> None:
    count = 20_000
    calls = RecordedCalls([answers(*(called("read", str(n), output=n, path="x") for n in range(count)))])
    calls.begin(0)
    began = time.process_time()
    assert [calls.answer(str(n), "read", {"path": "x"}).output for n in range(count)] == list(range(count))
    assert time.process_time() - began < 10

from __future__ import annotations

import pytest

from shipmate.errors import PrimingError
from shipmate.priming.rehearsal.recorded import read_turns
from shipmate.values.message import text_of
from tests.support.rehearsed import answered, called, make, record, returned, said


def test_answers_go_with_what_was_said() -> None:
    script = make(answered("before"), said("one"), answered("1"), said("two"), said("three"), answered("2"))
    turns = [
        (text_of(turn.said), [text_of(answer) for answer in turn.answers]) for turn in read_turns(script)
    ]
    assert turns == [("one", ["1"]), ("two\n\nthree", ["2"])]


def test_an_answer_is_what_members_themselves_said_and_did() -> None:
    script = make(
        said("hi"),
        record("runtime_guide_record", "be brief"),
        called("read", "c", {"path": "a"}),
        record("ui_only_markdown_record", "a note"),
        returned("read", "c", "x"),
        answered("hello"),
    )
    (turn,) = read_turns(script)
    assert [(each.piece.kind, each.record.type) for each in turn.pieces] == [
        ("call", "func_call_record"),
        ("result", "func_result_record"),
        ("words", "agent_words_record"),
    ]
    kinds = [part["type"] for part in turn.answers[0]["parts"] if part["type"] != "step-start"]
    assert kinds == ["tool-read", "text"]


def test_a_script_nobody_speaks_in_has_no_turn() -> None:
    with pytest.raises(PrimingError, match="no user turn"):
        read_turns(make(answered("hi")))

from __future__ import annotations

import time
from typing import Any

import pytest

from shipmate.errors import PrimingError
from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.expect import read_expect, read_expectations
from shipmate.priming.rehearsal.recorded import check_expects
from shipmate.priming.script.record import ScriptError
from tests.support.rehearsed import answered, as_recorded, called, make, parts_of, returned, said


@pytest.mark.parametrize(
    ("expect", "good", "bad"),
    [
        ("exact", "It is 12 degrees.", "It is 13 degrees."),
        ({"exact": True}, " It is 12 degrees.\n", "it is 12 degrees."),
        ({"contains": "degrees"}, "Some degrees", "Some meters"),
        ({"contains": ["a", "b"]}, "b a", "a"),
        ({"regex": r"\b\d+ degrees"}, "now\n9 degrees!", "nine degrees"),
        ({"regex": ["^now", "later$"]}, "x\nnow\nlater", "now"),
        (
            {"json": {"a": {"b": [1, {"c": None}]}}},
            '{"a": {"b": [1, {"c": null, "d": 2}], "e": 1}}',
            '{"a": {}}',
        ),
        ({"json": [1, 2]}, "[1, 2]", "[1, 2, 3]"),
        ({"json": True}, "true", "1"),
        ({"json": None}, "null", "{}"),
        ({"json": {}}, "{}", "not JSON"),
        ({"contains": "a", "regex": "b"}, "ab", "a"),
    ],
)
def test_words_are_held_to_what_their_record_expects(expect: Any, good: str, bad: str) -> None:
    script = make(said("hi"), answered("It is 12 degrees.", expect=expect))
    performed = as_recorded(script)
    parts_of(performed)[0]["text"] = good
    assert compare(script, performed).verdict == "same"
    parts_of(performed)[0]["text"] = bad
    assert [each.kind for each in compare(script, performed).turns[0].deviations] == ["words"]


def test_calls_and_results_are_held_to_what_their_records_expect() -> None:
    script = make(
        said("hi"),
        called("exec", "c", {"command": "date", "timeout": 9}, expect={"json": {"command": "date"}}),
        returned("exec", "c", "Sunday", expect={"regex": "day$"}),
    )
    performed = as_recorded(script)
    part = parts_of(performed)[-1]
    part.update(input={"command": "date"}, output="Monday")
    assert compare(script, performed).verdict == "same"
    part.update(output="Mon")
    assert compare(script, performed).turns[0].deviations[0].kind == "result"
    part.update(output="Monday", input={"command": "date -u"})
    assert compare(script, performed).turns[0].deviations[0].kind == "arguments"
    # An expectation of a text is none of its kind: an error is no result.
    del part["output"]
    part.update(input={"command": "date"}, state="output-error", errorText="Monday")
    assert compare(script, performed).turns[0].deviations[0].kind == "error"


def test_what_is_ignored_may_differ_or_be_absent_and_so_may_what_an_ignored_call_brings() -> None:
    script = make(
        said("hi"),
        answered("One moment.", expect="ignore"),
        called("read", "c", {"path": "a"}, expect={"ignore": True}),
        returned("read", "c", "text"),
        answered("Done."),
    )
    performed = as_recorded(script)
    parts = parts_of(performed)
    assert compare(script, performed).verdict == "same"
    call = next(part for part in parts if part["type"] == "tool-read")
    call.update(input={"path": "b"}, output="other")
    assert compare(script, performed).verdict == "same"
    parts.remove(call)
    assert compare(script, performed).verdict == "same"
    parts.pop(0)
    assert compare(script, performed).verdict == "same"
    parts.append({**call, "type": "tool-exec"})
    assert compare(script, performed).verdict == "differs"


def test_an_ignored_call_stands_for_no_other_tool() -> None:
    script = make(said("hi"), called("read", "c", {}, expect="ignore"), returned("read", "c", "x"))
    performed = as_recorded(script)
    part = parts_of(performed)[-1]
    part.update(input={"path": "a"}, output="y")
    assert compare(script, performed).verdict == "same"
    part["type"] = "tool-write"
    assert [each.kind for each in compare(script, performed).turns[0].deviations] == ["additional"]


def test_the_frontmatter_sets_what_is_expected_of_each_kind() -> None:
    head = 'expect: {"words": {"contains": "a"}, "result": "ignore", "thought": "exact"}'
    script = make(said("hi"), called("read", "c", {}), returned("read", "c", "x"), answered("abc"), head=head)
    performed = as_recorded(script)
    parts = parts_of(performed)
    next(part for part in parts if part["type"] == "tool-read")["output"] = "y"
    parts[-1]["text"] = "a"
    assert compare(script, performed).verdict == "same"
    parts.append({"type": "reasoning", "text": "hm"})
    assert [each.kind for each in compare(script, performed).turns[0].deviations] == ["additional"]


def test_a_rubric_is_judged_by_what_is_passed_in_and_never_holds_unjudged() -> None:
    script = make(said("hi"), answered("Hello!", expect={"rubric": "greets"}))
    performed = as_recorded(script)
    assert compare(script, performed).verdict == "same", "what was recorded is what the rubric was made for"
    parts_of(performed)[0]["text"] = "Good day!"
    report = compare(script, performed)
    assert (report.verdict, "--judge" in report.reason) == ("differs", True)
    asked: list[tuple[str, str, str]] = []

    def judge(rubric: str, recorded: AnswerPiece, new: AnswerPiece) -> str:
        asked.append((rubric, recorded.text, new.text))
        return "" if "day" in new.text else "no greeting"

    assert compare(script, performed, judge).verdict == "same"
    assert asked == [("greets", "Hello!", "Good day!")]
    parts_of(performed)[0]["text"] = "What?"
    assert compare(script, performed, judge).reason == "turn 1: the words: no greeting"


HOSTILE = [
    r"(a+)+$",
    r"(a|aa)+$",
    r"(\w+\s?)*$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(?:a?){60}a{60}b",
    r"(.*)*\1x",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_pattern_holds_a_rehearsal_up(pattern: str) -> None:
    begun = time.process_time()
    script = make(said("hi"), *[answered("x", expect={"regex": pattern}) for _ in range(20)])
    performed = as_recorded(script)
    for part in parts_of(performed):
        part["text"] = "a" * 50_000 + "!"
    assert compare(script, performed).verdict == "differs"
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "pattern",
    [r"(a{1000}){10000}", r"((((a{99}){99}){99}){99})", "(" * 450, "[", "x" * 1001, r"a{1,999}" * 3],
)
def test_patterns_that_are_wrong_or_repeat_too_much_are_refused_at_once(pattern: str) -> None:
    begun = time.process_time()
    with pytest.raises(PrimingError):
        read_expect({"regex": pattern})
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("exactly", "must be exact"),
        ({}, "must be exact"),
        (None, "must be exact"),
        (["exact"], "must be exact"),
        ({"contain": "a"}, "Write `contains`"),
        ({"contains": 3}, "quote numbers"),
        ({"contains": []}, "a text or a list"),
        ({"regex": "("}, "not a regular expression"),
        ({"rubric": " "}, "what a good answer does"),
        ({"exact": False}, "must be true"),
        ({"ignore": True, "contains": "a"}, "stand alone"),
        ({"maxMs": -1}, "0 or more"),
        ({"maxMs": True}, "0 or more"),
        ({"maxCostUsd": "1"}, "0 or more"),
        ({"maxMs": float("nan")}, "0 or more"),
    ],
)
def test_an_expectation_that_is_not_understood_is_refused(value: Any, hint: str) -> None:
    with pytest.raises(PrimingError, match=hint):
        read_expect(value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("ignore", "of a script must be"),
        ({"word": "ignore"}, "Write `words`"),
        ({"words": {"maxMs": 3}}, "holds no bounds"),
        ({"words": {"exact": True, "maxMs": 3}}, "holds no bounds"),
        ({"maxMs": "x"}, "0 or more"),
    ],
)
def test_expectations_of_a_script_that_are_not_understood_are_refused(value: Any, hint: str) -> None:
    with pytest.raises(PrimingError, match=hint):
        read_expectations(value)


def test_a_wrong_expectation_breaks_the_script_and_names_its_place() -> None:
    script = make(said("hi"), answered("x", expect={"regexp": "a"}))
    with pytest.raises(ScriptError, match="Write `regex`") as caught:
        compare(script, as_recorded(make(said("hi"), answered("x"))))
    assert (caught.value.record, caught.value.line) == (2, script.records[1].line)


def test_a_person_is_expected_to_say_nothing_in_particular() -> None:
    script = make(said("hi", expect={"contains": "h"}), answered("x"))
    with pytest.raises(ScriptError, match="human_text_record is no answer"):
        compare(script, as_recorded(make(said("hi"), answered("x"))))


def test_every_expectation_that_is_wrong_is_listed() -> None:
    script = make(
        said("hi", expect={"contains": "h", "maxMs": 1}),
        answered("x", expect="exact"),
        answered("y", expect={"regex": "("}),
        said("and", expect={"maxMs": 5}),
        answered("z", expect=[]),
        head="expect: {word: exact}",
    )
    assert [(error.record, error.line) for error in check_expects(script)] == [
        (0, 1),
        (1, script.records[0].line),
        (3, script.records[2].line),
        (5, script.records[4].line),
    ]
    assert check_expects(make(said("hi"), answered("x", expect="ignore"))) == []


@pytest.mark.parametrize("key", ["contains", "regex"])
@pytest.mark.parametrize("value", ["", ["good", ""]])
def test_an_expectation_that_every_answer_meets_is_refused(key: str, value: Any) -> None:
    with pytest.raises(PrimingError, match="holds for every answer"):
        read_expect({key: value})

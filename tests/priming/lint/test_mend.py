from __future__ import annotations

import re

import pytest

from shipmate.priming.lint.mend import (
    TRY_LIMIT,
    Span,
    choose_as_wanted,
    find_span,
    read_values,
    replace_each,
)

TOP = ["---", "title: A", "reminders: []", "---"]
HUMAN = ["### record human_text_record", "```markdown", "---", "genseq: 1", "msgId: m", "---", "hi", "```"]
CALL = ["### record func_call_record", "", "```json", "{", '"genseq": 1, "id": "c"', "}", "```", "behind"]
LINES = [*TOP, *HUMAN, *CALL]


@pytest.mark.parametrize(
    ("line", "span"),
    [
        (1, Span(1, 3, is_json=False)),
        (3, Span(1, 3, is_json=False)),
        (5, Span(7, 9, is_json=False)),
        (11, Span(7, 9, is_json=False)),
        (13, Span(15, 18, is_json=True)),
        (20, Span(15, 18, is_json=True)),
    ],
)
def test_a_line_belongs_to_the_values_of_its_record_or_of_the_file(line: int, span: Span) -> None:
    assert find_span(LINES, line) == span


@pytest.mark.parametrize("lines", [["prose"], ["### record agent_words_record", "```", "no metadata", "```"]])
def test_where_there_are_no_values_there_is_no_span(lines: list[str]) -> None:
    assert find_span(lines, 1) is None
    assert read_values(lines, 1) is None
    assert list(replace_each(lines, 1, re.compile("."), lambda _: "")) == []


def test_a_block_without_fences_ends_at_the_next_heading() -> None:
    lines = ["### record gen_start_record", "---", "genseq: 1", "---", *HUMAN]
    assert read_values(lines, 1) == {"genseq": 1}


@pytest.mark.parametrize(
    ("line", "values"),
    [(2, {"title": "A", "reminders": []}), (6, {"genseq": 1, "msgId": "m"}), (17, {"genseq": 1, "id": "c"})],
)
def test_values_are_read_as_the_parser_reads_them(line: int, values: object) -> None:
    assert read_values(LINES, line) == values


def test_values_that_cannot_be_read_are_none() -> None:
    assert read_values([*HUMAN[:3], "genseq: [1", *HUMAN[5:]], 1) is None
    assert read_values([*CALL[:3], "[1]", *CALL[6:]], 1) is None
    assert read_values([*CALL[:3], "{", *CALL[6:]], 1) is None


def test_one_place_is_replaced_at_a_time_and_only_among_the_values() -> None:
    lines = [*HUMAN[:6], "genseq: 1", "```"]
    tried = list(replace_each(lines, 1, re.compile("1|m"), lambda match: f"<{match[0]}>"))
    assert [text[3:5] for text in tried] == [
        ["genseq: <1>", "msgId: m"],
        ["genseq: 1", "<m>sgId: m"],
        ["genseq: 1", "msgId: <m>"],
    ]
    assert all(text[6] == "genseq: 1" for text in tried), "the text is nobody's values"


def test_of_very_many_places_only_some_are_tried() -> None:
    lines = [*HUMAN[:4], "x: " + "a" * 500, *HUMAN[5:]]
    assert len(list(replace_each(lines, 1, re.compile("a"), lambda _: "b"))) == TRY_LIMIT


def test_the_first_text_with_just_the_wanted_values_is_chosen() -> None:
    tried = list(replace_each(HUMAN, 1, re.compile("genseq: (1)"), lambda _: "genseq: 2"))
    kept = choose_as_wanted(
        1, [(HUMAN, {"genseq": 2, "msgId": "m"}), (tried[0], {"genseq": 2, "msgId": "m"})]
    )
    assert kept == tried[0]
    assert choose_as_wanted(1, [(HUMAN, {"genseq": True, "msgId": "m"})]) is None, "true is not 1"
    assert choose_as_wanted(1, [(HUMAN, {"msgId": "m", "genseq": 1})]) is None, "in the same order"

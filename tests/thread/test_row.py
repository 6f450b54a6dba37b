"""A row is one message: what is none is named, and the rest of the file is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.thread.row import decode_row, encode_row, merge_objects, merge_row, merge_rows, split_lines
from shipmate.values.message import JsonObject, UIMessage, user_message

names = st.sampled_from(["a", "b", "c"])
texts = st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=5))
calls = st.builds(
    lambda call, state: {"type": "tool-read", "toolCallId": call, "state": state},
    names,
    st.sampled_from(["input-available", "approval-requested", "output-available"]),
)
data = st.builds(lambda part, value: {"type": "data-x", "id": part, "data": value}, names, st.integers())
foreign = st.just({"type": "hologram", "future": True})
parts = st.lists(texts | calls | data | foreign, max_size=6)
rows = st.builds(lambda name, these: {"id": name, "role": "assistant", "parts": these}, names, parts)
objects = st.recursive(st.integers(), lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"7", "not a JSON object"),
        (b'{"id": 1, "role": "user", "parts": []}', "a text id and a role"),
        (b'{"id": "m", "parts": []}', "a text id and a role"),
        (b'{"id": "m", "role": "user"}', "a list of parts"),
        (b'{"id": "m", "role": "user", "parts": ["words"]}', "a list of parts"),
    ],
)
def test_what_is_no_message_is_named(line: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decode_row(line)
    rows, problems, count = split_lines(line + b"\n" + encode_row(user_message("m1", "hello")), 4)
    assert [row["id"] for row in rows] == ["m1"]
    assert [problem.line for problem in problems] == [4]
    assert count == 2


def test_a_message_is_read_as_it_was_written() -> None:
    message = user_message("m1", "hello\nthere\u2028now")
    line = encode_row(message)
    assert line.count(b"\n") == 1
    assert decode_row(line) == message


def test_empty_lines_are_passed_over_and_what_is_unfinished_is_left() -> None:
    whole = encode_row(user_message("m1", "hello"))
    rows, problems, count = split_lines(b"\n  \n" + whole + b'{"id": "m2"', 1)
    assert ([row["id"] for row in rows], problems, count) == (["m1"], [], 3)


@given(st.lists(rows, max_size=8))
def test_merging_all_at_once_equals_merging_one_by_one(given_rows: list[UIMessage]) -> None:
    one_by_one: dict[str, UIMessage] = {}
    for row in given_rows:
        known = one_by_one.get(row["id"])
        one_by_one[row["id"]] = merge_row(known, row) if known else row
    assert merge_rows(given_rows) == list(one_by_one.values())


@given(rows, parts, parts)
def test_one_row_or_two_make_the_same_message(
    row: UIMessage, first: list[JsonObject], second: list[JsonObject]
) -> None:
    whole: UIMessage = {"id": row["id"], "role": "assistant", "parts": first + second}
    head: UIMessage = {**whole, "parts": first}
    tail: UIMessage = {**whole, "parts": second}
    assert merge_row(row, whole)["parts"] == merge_row(merge_row(row, head), tail)["parts"]


@given(rows, rows)
def test_merging_changes_neither_row_and_loses_no_text(one: UIMessage, other: UIMessage) -> None:
    before = repr((one, other))
    merged = merge_row(one, other)
    assert repr((one, other)) == before
    said = [part["text"] for part in one["parts"] + other["parts"] if part["type"] == "text"]
    assert [part["text"] for part in merged["parts"] if part["type"] == "text"] == said


@given(st.dictionaries(names, objects), st.dictionaries(names, objects))
def test_metadata_merges_deeply_and_the_newer_value_wins(old: dict[str, Any], new: dict[str, Any]) -> None:
    merged = merge_objects(old, new)
    assert set(merged) == set(old) | set(new)
    assert all(merged[key] == value for key, value in new.items() if not isinstance(value, dict))

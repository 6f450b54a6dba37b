"""A row is one message: what is none is named, and the rest of the file is read."""

from __future__ import annotations

import pytest

from shipmate.thread.row import decode_row, encode_row, split_lines
from shipmate.values.message import user_message


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

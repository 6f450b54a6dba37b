from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.cli.terminal.card import clean, describe_arguments, describe_call, describe_time, shorten


@pytest.mark.parametrize(
    ("part", "milliseconds", "expected"),
    [
        ({"state": "input-streaming"}, None, "… read"),
        ({"state": "output-available", "input": {"path": "a.md"}}, 12, "✓ read a.md (12 ms)"),
        (
            {"state": "output-error", "input": {"path": "a.md"}, "errorText": "gone\nnow"},
            1,
            "✗ read a.md — gone now (1 ms)",
        ),
        ({"state": "output-denied", "input": {"path": "a.md"}}, None, "⊘ read a.md — denied"),
        ({"state": "output-denied", "input": {}, "approval": {"reason": "no"}}, None, "⊘ read — denied: no"),
        ({"state": "something-newer", "input": ["odd"]}, None, "… read ['odd']"),
    ],
)
def test_a_call_is_one_line(part: dict[str, object], milliseconds: int | None, expected: str) -> None:
    assert describe_call(part, "read", milliseconds) == expected


def test_the_telling_argument_comes_first_and_the_rest_is_named() -> None:
    assert describe_arguments({"limit": 3, "path": "a b.md"}) == "a b.md limit=3"
    assert describe_arguments({"old": "x", "new": ["y"]}) == 'old=x new=["y"]'
    assert describe_arguments(None) == ""


def test_nothing_from_a_tool_can_steer_the_terminal() -> None:
    assert clean("a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x9b1m\rc\n\td") == (
        r"a\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{9b}1m\u{d}c" "\n\td"
    )
    assert "\x1b" not in describe_call({"state": "output-error", "errorText": "\x1b[2J"}, "exec")


@given(st.text(max_size=200), st.integers(5, 100))
def test_a_shortened_text_fits_its_width(text: str, width: int) -> None:
    line = shorten(text, width)
    assert "\n" not in line
    assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) <= width


def test_times_are_said_as_people_do() -> None:
    assert [describe_time(ms) for ms in (5, 1_500, 125_000)] == ["5 ms", "1.5 s", "2 min 5 s"]

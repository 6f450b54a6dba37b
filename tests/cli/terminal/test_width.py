from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from shipmate.cli.terminal.width import cut, measure, pad, wrap, wrap_words


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("你好", 4), ("e\u0301", 1), ("ｆｕｌｌ", 8), ("🚢", 2), ("", 0)]
)
def test_u13_a_text_is_as_wide_as_it_looks(text: str, width: int) -> None:
    assert measure(text) == width
    assert measure(pad(text, 10)) == 10


def test_u13_lines_break_at_the_end_of_the_screen_also_in_chinese() -> None:
    assert wrap("你好世界abc", 5) == ["你好", "世界a", "bc"]
    assert wrap("", 5) == [""]
    # A mark stays with its letter.
    assert wrap("abe\u0301", 3) == ["abe\u0301"]
    assert wrap("abce\u0301", 3) == ["abc", "e\u0301"]


@given(st.text(max_size=80), st.integers(2, 30))
def test_u13_nothing_is_lost_and_no_row_is_too_wide(text: str, width: int) -> None:
    line = "".join(character for character in text if character.isprintable())
    rows = wrap(line, width)
    assert "".join(rows) == line
    assert all(measure(row) <= width for row in rows)
    # The prompt counts rows by its own table, which must never find more columns.
    known = [row for row in rows if all(unicodedata.category(each) != "Cn" for each in row)]
    assert all(get_cwidth(row) <= width for row in known)


@given(st.text(max_size=80), st.integers(1, 30))
def test_u13_a_cut_text_fits(text: str, width: int) -> None:
    assert measure(cut(text, width)) <= width


def test_u13_words_stay_whole_and_further_lines_are_indented() -> None:
    assert wrap_words("! model: set a key in .env", 12, "  ") == "! model: set\n  a key in\n  .env"
    assert wrap_words("看 https://example.org/long 这里很长", 10, "  ") == (
        "看\n  https://example.org/long\n  这里很长"
    )

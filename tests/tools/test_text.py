from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.text import clean, clean_terminal, shorten


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("bell\a tab\t null\0", "bell tab\t null"),
        ("a\u202eb\u2066c\U000e0041", "abc"),
        ("👩‍💻 日本語 é", "👩‍💻 日本語 é"),
    ],
)
def test_what_a_terminal_would_show(printed: str, shown: str) -> None:
    assert clean_terminal(printed) == shown


@pytest.mark.parametrize(
    "text", ["x" * 3_000_000, "\r" * 1_000_000, "\x1b]" * 500_000, "\x1b[" * 500_000, "a\rb" * 500_000]
)
def test_hostile_text_is_cleaned_fast(text: str) -> None:
    started = time.process_time()
    clean_terminal(text)
    assert time.process_time() - started < 3


@given(st.text())
def test_nothing_steers_a_terminal_after_cleaning(text: str) -> None:
    assert "\x1b" not in clean(text)
    assert "\u202e" not in clean(text)


@given(st.text(max_size=300), st.integers(10, 200))
def test_shortening_keeps_both_ends(text: str, budget: int) -> None:
    short = shorten(text, budget, "look there")
    if len(text) <= budget:
        assert short == text
    else:
        head = int(budget * 0.7)
        assert short.startswith(text[:head])
        assert short.endswith(text[head - budget :])
        assert f"{len(text) - budget:,} characters left out; look there" in short

"""Words are split where people would part them, and nothing of them is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shipmate.delivery.splitting import clip, measure, split
from shipmate.values.event import AdapterCapabilities

WORDS = st.lists(
    st.sampled_from(["one", "two. ", "三。", "\n\n", "\n", " ", "😀", "`x`", "a" * 30, "```\ncode\n```\n"]),
    max_size=60,
).map("".join)


def limit(chars: int, counts: str = "characters") -> AdapterCapabilities:
    return AdapterCapabilities(max_message_chars=chars, counts=counts)  # type: ignore[arg-type]


@given(WORDS, st.integers(24, 90), st.sampled_from(["characters", "utf16", "bytes"]))
def test_every_part_fits_and_no_letter_is_lost(text: str, chars: int, counts: str) -> None:
    parts = split(text, limit(chars, counts))
    assert all(0 < measure(counts)(part) <= chars for part in parts)
    assert _letters("".join(parts)) == _letters(text)


def _letters(text: str) -> str:
    # A block that is split gets further fences.
    return re.sub(r"[\s`]", "", text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("First paragraph.\n\nSecond one is here.", ["First paragraph.", "Second one is here."]),
        ("A first sentence. A second sentence.", ["A first sentence.", "A second sentence."]),
        ("第一句话说完了。第二句话也说完了。第三句话", ["第一句话说完了。第二句话也说完了。", "第三句话"]),
        ("wordwordwordwordwordwordword", ["wordwordwordwordwordword", "word"]),
    ],
)
def test_it_parts_paragraphs_then_sentences_then_words(text: str, parts: list[str]) -> None:
    assert split(text, limit(24 if not text.startswith("第") else 18)) == parts


def test_a_code_block_is_closed_and_opened_again() -> None:
    parts = split("```py\n" + "line = 1\n" * 10 + "```", limit(50))
    assert all(part.startswith("```py\n") and part.endswith("\n```") for part in parts)
    assert sum(part.count("line = 1") for part in parts) == 10


def test_the_beginning_of_a_long_text_says_that_there_is_more() -> None:
    assert clip("short", limit(24)) == "short"
    assert clip("one two three four five six seven", limit(24)) == "one two three four …"


@given(
    st.lists(st.sampled_from(["```", "~~~", "`", "x" * 40, "世" * 9, "\n", " ", "😀"]), max_size=60).map(
        "".join
    ),
    st.integers(16, 90),
    st.sampled_from(["characters", "utf16", "bytes"]),
)
@example("```" + "x" * 10_000, 4096, "utf16")
@example("`" * 10_000, 4096, "bytes")
@example("```\n" + "`" * 5000 + "\n" + "x" * 9000, 4096, "characters")
def test_whatever_stands_behind_a_fence_there_is_an_end(text: str, chars: int, counts: str) -> None:
    parts = split(text, limit(chars, counts))
    assert all(0 < measure(counts)(part) <= chars for part in parts)
    assert "".join(parts).count("x") >= text.count("x")

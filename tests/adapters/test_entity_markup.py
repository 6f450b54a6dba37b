"""What members write looks as they meant it, and nothing is lost where it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.adapters.entity_markup import render


def looks(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the words, and each stretch with its look."""
    text, entities = render(markdown)
    units = text.encode("utf-16-le")
    return text, [
        (
            each["type"] + "".join(f" {each[more]}" for more in ("url", "language") if more in each),
            units[2 * each["offset"] : 2 * (each["offset"] + each["length"])].decode("utf-16-le"),
        )
        for each in entities
    ]


@pytest.mark.parametrize(
    ("markdown", "text", "found"),
    [
        ("a **b** c", "a b c", [("bold", "b")]),
        ("😀 **世界**", "😀 世界", [("bold", "世界")]),
        ("*it* and _it_", "it and it", [("italic", "it"), ("italic", "it")]),
        ("~~no~~ `a*b*`", "no a*b*", [("strikethrough", "no"), ("code", "a*b*")]),
        ("``a ` b``", "a ` b", [("code", "a ` b")]),
        ("**a `b` c**", "a b c", [("code", "b"), ("bold", "a b c")]),
        ("[x](https://e.org/a_(b))", "x", [("text_link https://e.org/a_(b)", "x")]),
        ("[x](javascript:alert)", "[x](javascript:alert)", []),
        ("# Title #\ntext", "Title\ntext", [("bold", "Title")]),
        ("# C#\n## F# ##", "C#\nF#", [("bold", "C#"), ("bold", "F#")]),
        ("```a` ``b", "```a` ``b", []),
        ("```py\na = 1\n\n# b\n```\nend", "a = 1\n\n# b\nend", [("pre py", "a = 1\n\n# b")]),
        ("```\nopen", "open", [("pre", "open")]),
        ("```\n```", "```\n```", []),
        ("snake_case_name 2*3*4 a * b * c", "snake_case_name 2*3*4 a * b * c", []),
        (r"\*plain\* \_", "*plain* _", []),
        ("<b>&amp;</b>", "<b>&amp;</b>", []),
        ("__init__ ****", "__init__ ****", []),
        ("- one\n- two\n1. three", "- one\n- two\n1. three", []),
    ],
)
def test_markdown_becomes_words_and_their_looks(
    markdown: str, text: str, found: list[tuple[str, str]]
) -> None:
    assert looks(markdown) == (text, found)


@given(st.text(st.sampled_from("ab \n*_`~[]()#\\:/-😀世")).map(lambda text: text.replace("a", "https://a")))
def test_looks_lie_within_the_words_and_nothing_grows(markdown: str) -> None:
    text, entities = render(markdown)
    assert len(text) <= len(markdown)
    assert text.strip() or not markdown.strip()
    assert set(text.split()) or not text.strip()
    size = len(text.encode("utf-16-le")) // 2
    for each in entities:
        assert 0 <= each["offset"] < each["offset"] + each["length"] <= size
    words: list[Any] = [each["length"] for each in entities]
    assert all(words)


def test_no_words_take_long() -> None:
    # Each would take minutes if all of it was looked at from each of its places.
    for markdown in ("".join(f"{'`' * size}a" for size in range(200)), f"# {'#' * 50_000}a"):
        assert render(markdown)[0]

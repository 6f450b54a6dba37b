"""Measure and break text by the columns it takes on a screen; Chinese and emoji take two, marks none."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterator

WIDE = ("W", "F")
# What is drawn on the character before it.
MARKS = ("Mn", "Me", "Cf")
# What belongs to the character before it, and begins no line.
CLOSING = "，。；：、！？）】》」』”’…"


def measure(text: str) -> int:
    """Return how many columns a text takes; joined emoji are counted one by one, as the widest screens do."""
    return len(text) if text.isascii() else sum(map(_measure, text))


def cut(text: str, width: int) -> str:
    """Return a line that takes no more than `width` columns; what is left out leaves a `…`."""
    if measure(text) <= width:
        return text
    used = 1
    for place, character in enumerate(text):
        used += _measure(character)
        if used > width:
            return f"{text[:place]}…"
    return text


def pad(text: str, width: int) -> str:
    """Return a text with spaces behind it up to a width."""
    return text + " " * (width - measure(text))


def wrap(line: str, width: int) -> list[str]:
    """Break a line wherever the screen ends."""
    return list(_break(line.expandtabs(4), max(2, width))) or [""]


def wrap_words(line: str, width: int, indent: str = "") -> str:
    """Break a line between words, and before wide characters that close nothing; further lines are indented.

    A word that is longer than the screen stays whole, so that it can be copied.
    """
    lines = [""]
    for word in _split_words(line):
        if lines[-1].strip() and measure(lines[-1] + word.rstrip()) > width:
            lines.append(indent)
            word = word.lstrip()
        lines[-1] += word
    return "\n".join(each.rstrip() for each in lines)


def columns() -> int | None:
    """Return how wide the screen is that standard output goes to; None when it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fit(line: str, indent: str = "") -> str:
    """Return a line as the screen shows it best; elsewhere it stays one line."""
    width = columns()
    return line if width is None else wrap_words(line, width, indent)


def _measure(character: str) -> int:
    if unicodedata.east_asian_width(character) in WIDE:
        return 2
    return 0 if unicodedata.category(character) in MARKS else 1


def _break(text: str, width: int) -> Iterator[str]:
    start, used = 0, 0
    for place, character in enumerate(text):
        size = _measure(character)
        # A mark never begins a line: it would be drawn on what stands there.
        if used + size > width and size:
            if place > start:
                yield text[start:place]
            start, used = place, 0
        used += size
    if start < len(text):
        yield text[start:]


def _split_words(line: str) -> Iterator[str]:
    """Return words with the space behind them; each wide character is a word of its own."""
    word = ""
    for character in line:
        if (
            word
            and character not in CLOSING
            and (
                (word[-1] == " " and character != " ")
                or _measure(character) == 2
                or (_measure(word[-1]) == 2 and character != " " and _measure(character) > 0)
            )
        ):
            yield word
            word = ""
        word += character
    if word:
        yield word

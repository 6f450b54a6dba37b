"""Write out every character that would hide or reorder what a person reads; no other module knows them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Letters, marks and symbols that are drawn as nothing or as a blank. `str.isprintable` refuses the others:
# control, format, private, surrogate and unassigned characters, separators, every space but U+0020.
# The ideographic space U+3000 is one of them: in a command it would look like the gap between two words.
BLANK = frozenset(
    map(
        chr,
        (
            0x034F,
            *(0x115F, 0x1160, 0x3164, 0xFFA0),
            *(0x17B4, 0x17B5),
            *range(0x180B, 0x1810),
            0x2800,
            *range(0xFE00, 0xFE10),
            0xFFFC,
            *(0x13441, 0x13442, 0x16FE4, 0x1D159),
            *range(0xE0000, 0xE1000),
        ),
    )
)
# Hidden by themselves, and yet what prose of honest people is made of: joined emoji and their colours,
# the space of Chinese text, spaces that do not break, and the joints of Persian and Indian words.
PROSE = frozenset(map(chr, (0xA0, 0x200C, 0x200D, 0x202F, 0x3000, 0xFE0E, 0xFE0F)))
# How many marks may stand on one letter; more of them cover the lines around it.
MARKS = 4
# Longer runs of spaces or empty lines push what follows out of sight.
SPACES = 80
LINES = 20
# Scripts without combining marks of their own; in the rest of Unicode marks are counted one by one.
_MARKED = r"[^\x00-\u02ff\u30a0-\u9fff\uac00-\ud7a3]{5,}"
_WIDE = re.compile(rf"[ \t]{{{SPACES + 1},}}")
_TALL = re.compile(rf"\n{{{LINES + 1},}}")


def reveal(text: str) -> str:
    """Return the text with hidden characters written as `\\u{200b}`; newlines and tabs stay as they are."""
    return _spread(text.translate(_TABLE))


def reveal_prose(text: str) -> str:
    """Return the text of a talk: as `reveal`, but for what people write emoji and their languages with."""
    return _spread(text.replace("\r\n", "\n").translate(_PROSE_TABLE))


def _spread(shown: str) -> str:
    if not shown.isascii():
        # Not compiled before it is needed: that takes as long as importing several modules.
        shown = re.sub(_MARKED, _unpile, shown)
    return _TALL.sub(_count_lines, _WIDE.sub(_count_spaces, shown))


def reveal_line(text: str, limit: int) -> str:
    """Return the text revealed on one line, cut after `limit` characters."""
    line = reveal(" ".join(re.split(r"[ \t\r\n]+", text.strip(" \t\r\n"))))
    return line if len(line) <= limit else f"{line[:limit]}…"


def is_hidden(character: str) -> bool:
    """Return whether a character alone would hide or reorder something."""
    if character in "\n\t":
        return False
    if not character.isprintable() or character in BLANK:
        return True
    # Marks that enclose or strike out the letter before them.
    return unicodedata.category(character) == "Me" or unicodedata.combining(character) == 1


def write_out(character: str) -> str:
    """Return a character by its number."""
    return f"\\u{{{ord(character):x}}}"


class _Table(dict[int, str]):
    """What `str.translate` writes for each code point, found when first met."""

    def __init__(self, kept: Iterable[str] = ()) -> None:
        super().__init__((ord(character), character) for character in kept)

    def __missing__(self, code: int) -> str:
        character = chr(code)
        shown = write_out(character) if is_hidden(character) else character
        # Strangers choose the text, so what is remembered is bounded.
        if code <= 0xFFFF:
            self[code] = shown
        return shown


_TABLE = _Table()
_PROSE_TABLE = _Table(PROSE)


def _unpile(found: re.Match[str]) -> str:
    shown: list[str] = []
    marks = 0
    for character in found[0]:
        marks = marks + 1 if unicodedata.category(character).startswith("M") else 0
        shown.append(write_out(character) if marks > MARKS else character)
    return "".join(shown)


def _count_spaces(found: re.Match[str]) -> str:
    return f" [… {len(found[0]):,} spaces …] "


def _count_lines(found: re.Match[str]) -> str:
    return f"\n[… {len(found[0]) - 1:,} empty lines …]\n"

"""Read the numbers and lengths of time people write, in digits and words."""

from __future__ import annotations

import re

from shipmate.approvals.reply import lexicon as lex


def read_minutes(words: str) -> int:
    """Read a length of time in minutes; 0 when it cannot be read."""
    found = lex.WINDOW_PARTS.search(words)
    if found is None:
        return 0
    count, unit = found[1].casefold(), found[2].casefold()
    amount = 0.5 if count.startswith("half") else lex.COUNT_WORDS.get(count) or _number(count)
    factor = 1 if unit.startswith(("m", "分")) else 24 * 60 if unit.startswith(("d", "天")) else 60
    return int(amount * factor)


def _number(text: str) -> int:
    """Read digits or a Chinese numeral up to ninety-nine."""
    if text.isdecimal():
        return int(text)
    tens, mark, ones = text.partition("十")
    if not mark:
        return lex.NUMERALS.get(text, 0)
    return lex.NUMERALS.get(tens, 1) * 10 + (lex.NUMERALS.get(ones, 0) if ones else 0)


def read_numbers(text: str) -> tuple[int, ...]:
    """Read a list of numbers, ranges included; 0 marks one that cannot be."""
    spread = lex.RANGE.sub(lambda found: _spread(int(found[1]), int(found[2])), text.casefold())
    words = re.findall(r"\d+(?:st|nd|rd|th)?|[一二两三四五六七八九十]|" + "|".join(lex.ORDINALS), spread)
    found = [lex.ORDINALS[word] if word in lex.ORDINALS else _number(word) for word in words]
    return tuple(dict.fromkeys(found))


def _spread(first: int, last: int) -> str:
    return " ".join(map(str, range(first, last + 1))) if first < last <= first + 20 else "0"

"""Read what fills the slots of the table: numbers, lengths of time and points in time."""

from __future__ import annotations

import re
from functools import cache

from shipmate.approvals.reply.line import flatten
from shipmate.approvals.reply.table import read_table

NUMERALS = dict(zip("一二两三四五六七八九", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
ORDINALS = {
    word: number
    for number, pair in enumerate(
        (
            "first 1st", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th",
            "sixth 6th", "seventh 7th", "eighth 8th", "ninth 9th", "tenth 10th",
        ),
        1,
    )
    for word in pair.split()
}  # fmt: skip
HAN = "[一二两三四五六七八九十]{1,3}"
DIGITS = r"(?:#|number )?\d{1,3}号?"
ITEM = (
    rf"(?:{DIGITS}|第\d{{1,3}}(?:个|条|项|号)?|第{HAN}(?:个|条|项|号)"
    rf"|the (?:{'|'.join(ORDINALS)})(?: one| command| call)?(?![a-z]))"
)
# A space alone joins digits only: `approve 1 first` and `the second first` say something else.
JOIN = r"(?:,and |,| and |[和与及跟]| ?[&+] ?| (?=[#\d]))"
RANGE = r"\d{1,3}(?: ?- ?| to |到|至)\d{1,3}"
NUMBERS = re.compile(rf"(?>{RANGE}|{ITEM})(?>{JOIN}(?>{RANGE}|{ITEM}))*")
PIECES = re.compile(rf"(?P<first>\d+)(?: ?- ?| to |到|至)(?P<last>\d+)|\d+(?:st|nd|rd|th)|\d+|[a-z]+|{HAN}")
RANGE_LIMIT = 20

COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10,
    "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
LENGTH = re.compile(
    rf"(?:(?P<half>half an hour|半个?小时|半个?钟头)|(?P<count>\d{{1,5}}|{'|'.join(COUNTS)}) ?"
    r"(?P<unit>minutes?|mins?|hours?|hrs?|days?)(?![a-z])"
    rf"|(?P<number>\d{{1,5}}|{HAN})(?P<measure>分钟|个?小时|个?钟头|天))"
)
CLOCK = re.compile(r"(?:until |till |到)(?P<hour>\d{1,2})(?::(?P<minute>\d{2})|点)")


def read_numbers(text: str, start: int) -> tuple[int, tuple[int, ...]] | None:
    """Return where a list of numbers ends and what it lists, each once; None when there is none."""
    found = NUMBERS.match(text, start)
    if found is None:
        return None
    numbers: list[int] = []
    for piece in PIECES.finditer(found[0]):
        numbers += _spread(int(piece["first"]), int(piece["last"])) if piece["first"] else _one(piece[0])
    if 0 in numbers or len(set(numbers)) < len(numbers):
        return None
    return found.end(), tuple(numbers)


def _spread(first: int, last: int) -> list[int]:
    return list(range(first, last + 1)) if first < last <= first + RANGE_LIMIT else [0]


def _one(word: str) -> list[int]:
    if word.isdecimal():
        return [int(word)]
    if word[0].isascii():
        return [ORDINALS[word]] if word in ORDINALS else []
    return [read_numeral(word)]


def read_numeral(text: str) -> int:
    """Return a Chinese numeral up to ninety-nine; 0 for anything else."""
    tens, mark, ones = text.partition("十")
    if not mark:
        return NUMERALS.get(text, 0)
    if (tens and tens not in NUMERALS) or (ones and ones not in NUMERALS):
        return 0
    return NUMERALS.get(tens, 1) * 10 + NUMERALS.get(ones, 0)


def read_length(text: str, start: int) -> tuple[int, int] | None:
    """Return where a length of time ends and its minutes; None when there is none."""
    found = LENGTH.match(text, start)
    if found is None:
        return None
    if found["half"]:
        return found.end(), 30
    count, unit = found["count"] or found["number"], found["unit"] or found["measure"]
    amount = int(count) if count.isdecimal() else COUNTS.get(count) or read_numeral(count)
    factor = 1 if unit[0] in "m分" else 24 * 60 if unit[0] in "d天" else 60
    return (found.end(), amount * factor) if amount else None


def read_until(text: str, start: int) -> tuple[int, str] | None:
    """Return where a point in time ends and which it is: `midnight`, or a time of day such as `18:00`."""
    for words, point in _points():
        if text.startswith(words, start):
            return start + len(words), point
    found = CLOCK.match(text, start)
    if found is None or int(found["hour"]) > 23 or int(found["minute"] or 0) > 59:
        return None
    return found.end(), f"{int(found['hour']):02}:{found['minute'] or '00'}"


@cache
def _points() -> list[tuple[str, str]]:
    """Return the points in time that have words, the longest first."""
    listed = [(flatten(words), point) for point, found in read_table().until.items() for words in found]
    return sorted(listed, key=lambda pair: len(pair[0]), reverse=True)

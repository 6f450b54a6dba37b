"""Read answers to approvals: a message is an answer only if the whole of it stands in the table of replies.

Nothing is joined, skipped or guessed. A refusal may be followed by a reason, as long as no part of that reads
as consent; behind a consent nothing may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import msgspec

from shipmate.approvals.reply.naming import find_spoken
from shipmate.approvals.reply.reading import Clause, Kind, Reply
from shipmate.approvals.reply.table import (
    Line,
    Meaning,
    Row,
    fixed_rows,
    flatten,
    read_line,
    read_table,
    slot_rows,
    trim,
)

# What may stand behind an answer without changing it.
THANKS = re.compile(r"[, ]?(?:thanks|thank you|thx|谢谢你?|多谢|辛苦了)$")
# Where a refusal may end and its reason begin.
BREAK = re.compile(r"(?:[,.;:!\n]| -+)?\s*(?:because|因为|理由是) ?:?|[,.;:!\n]\s*| -+ ?")
REASON_BREAK = re.compile(r"[,.;:!?\n-]+|(?<![a-z])(?:but|so|and|then)(?![a-z])|但是?|所以|那就?|就")
BREAK_LIMIT = 8
Filled = dict[str, tuple[int, ...] | str | int]
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


def parse(text: str, names: Sequence[str] = ()) -> Reply | None:
    """Return what a message decides, or None for an ordinary one; `names` are what waiting calls go by."""
    line = read_line(text)
    if line is None:
        return None
    known = Names(names)
    return _read(line, known) or _read_refusal(line, known)


def _read(line: Line, names: Names) -> Reply | None:
    """Read a message that stands in the table, as it is or without the thanks behind it."""
    for form in (line, trim(line)):
        if reply := _look_up(form, names):
            return reply
    bare = trim(line)
    thanks = THANKS.search(bare.plain)
    return _look_up(bare.part(0, thanks.start()), names) if thanks and thanks.start() else None


def _look_up(line: Line, names: Names) -> Reply | None:
    if meaning := fixed_rows().get(line.plain):
        return make_reply(meaning, {})
    found: list[Reply] = []
    for row, meaning in slot_rows():
        if isinstance(row[0], tuple) and not line.plain.startswith(row[0]):
            continue
        for filled in _match(line, row, 0, names):
            # A name that could also be ordinary words makes the whole message doubtful.
            reply = make_reply(meaning, filled)
            if reply is None:
                return None
            found += [reply] if reply not in found else []
    # Two rows that read it differently: it is not clear what was meant.
    return found[0] if len(found) == 1 else None


def _match(line: Line, row: Row, start: int, names: Names) -> Iterator[Filled]:
    """Yield the ways in which a row fits the rest of a line."""
    if not row:
        if start == len(line.plain):
            yield {}
        return
    head, rest = row[0], row[1:]
    if isinstance(head, tuple):
        if line.plain.startswith(head, start):
            for text in head:
                if line.plain.startswith(text, start):
                    yield from _match(line, rest, start + len(text), names)
        return
    for end, value in _fill(line, head, rest, start, names):
        for filled in _match(line, rest, end, names):
            yield {head: value, **filled}


def _fill(
    line: Line, slot: str, rest: Row, start: int, names: Names
) -> Iterator[tuple[int, tuple[int, ...] | str | int]]:
    """Yield where a slot can end, and with what in it."""
    match slot:
        case "<numbers>" | "<others>":
            found = read_numbers(line.plain, start)
        case "<length>":
            found = read_length(line.plain, start)
        case "<until>":
            found = read_until(line.plain, start)
        case _:
            following = rest[0] if rest else ("",)
            yield from names.at(line, start, following if isinstance(following, tuple) else ("",))
            return
    if found is not None:
        yield found


class Names:
    """What the waiting calls go by, and where in a line they stand."""

    def __init__(self, listed: Sequence[str]) -> None:
        self._listed = listed
        self._found: dict[str, str | None] = {}

    def at(self, line: Line, start: int, following: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Yield the names that stand at a place of a line, before one of some texts or its end."""
        for end in range(start + 1, len(line.plain) + 1) if self._listed else ():
            if line.plain.startswith(following, end):
                words = line.cut(start, end).strip()
                if words not in self._found:
                    self._found[words] = find_spoken(words, self._listed)
                if (name := self._found[words]) is not None:
                    yield end, name


def make_reply(meaning: Meaning, filled: Filled) -> Reply | None:
    """Return what a meaning decides with its slots filled; None where it would contradict itself."""
    clauses: list[Clause] = []
    for part in meaning.effect:
        if part[0] == "@":
            continue
        clause = _clause(part[0] == "+", part[1:], filled)
        if clause is None:
            return None
        clauses.append(clause)
    numbers = [number for clause in clauses for number in clause.numbers]
    named = [clause.text for clause in clauses if clause.text]
    if len(set(numbers)) < len(numbers) or len(set(named)) < len(named):
        return None
    return _hold(Reply(clauses=tuple(clauses)), meaning.effect[-1], filled)


def _clause(approved: bool, about: str, filled: Filled) -> Clause | None:
    subject, _, left_out = about.partition("!")
    kind: Kind
    match subject:
        case "it" | "all" | "rest" as kind:
            listed = filled.get(f"<{left_out}>", ())
            return Clause(approved, kind, listed if isinstance(listed, tuple) else ())
        case "numbers" | "others":
            listed = filled[f"<{subject}>"]
            return Clause(approved, "numbers", listed) if isinstance(listed, tuple) else None
        case _:
            named = filled[f"<{subject}>"]
            return Clause(approved, "text", text=named) if isinstance(named, str) and named else None


def _hold(reply: Reply, span: str, filled: Filled) -> Reply:
    """Return a reply with how long it holds."""
    match span:
        case "@thread" | "@always":
            return msgspec.structs.replace(reply, span=span[1:])
        case "@length":
            return msgspec.structs.replace(reply, span="window", minutes=filled["<length>"])
        case "@until":
            return msgspec.structs.replace(reply, span="window", until=filled["<until>"])
        case _:
            return reply


def _read_refusal(line: Line, names: Names) -> Reply | None:
    """Read a refusal that is followed by its reason."""
    for count, found in enumerate(BREAK.finditer(line.plain)):
        if count == BREAK_LIMIT:
            return None
        if not found.start() or found.end() == len(line.plain):
            continue
        reply = _look_up(line.part(0, found.start()), names)
        if reply is not None:
            tail = line.part(found.end(), len(line.plain))
            clear = not reply.approves and _is_reason(tail, names)
            return msgspec.structs.replace(reply, reason=tail.written.strip()) if clear else None
    return None


def _is_reason(tail: Line, names: Names) -> bool:
    """Refuse a reason of which any part is consent (`no, go ahead`), a number (`No. 1`) or a question."""
    if "?" in tail.plain or tail.plain.endswith(("吗", "么", "呢")):
        return False
    pieces = [piece for piece in REASON_BREAK.split(tail.plain) if piece.strip()]
    if any(piece.strip().isdecimal() for piece in pieces[:1]):
        return False
    readings = (read for piece in (tail.plain, *pieces) if (read := read_line(piece)) is not None)
    return not any((reply := _read(each, names)) is not None and reply.approves for each in readings)


@lru_cache(64)
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


@lru_cache(64)
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


@lru_cache(64)
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

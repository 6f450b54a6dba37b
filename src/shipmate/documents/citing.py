"""Split documents into passages, each with the place to cite it by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from shipmate.documents.document import Unit

# About so many characters are one passage: a few paragraphs, little enough to be quoted whole.
PASSAGE_SIZE = 1_200
HEADING = re.compile(r"#{1,6}\s+(\S.*)")
HEADING_LIMIT = 120
# Where a long unit is cut best: behind a paragraph, a line, a sentence, a word.
ENDS = ("\n\n", "\n", "。", ". ", " ")


class CitedPassage(msgspec.Struct, frozen=True):
    """A stretch of a document that stands for itself."""

    path: str
    # "page 3", "sheet Plan, rows 2–40", "lines 10–31, Annual leave".
    place: str
    text: str

    @property
    def citation(self) -> str:
        """Return how to cite it."""
        return f"{self.path}, {self.place}"


def split_units(path: str, units: Iterable[Unit], unit_name: str) -> Iterator[CitedPassage]:
    """Join short units of one group and cut long ones; of a sheet, each passage begins with the first row."""
    gathered: list[Unit] = []
    heading, first = "", None
    for unit in units:
        found = HEADING.match(unit.text) if not unit.group else None
        is_other = bool(gathered) and gathered[0].group != unit.group
        is_full = sum(len(each.text) for each in gathered) + len(unit.text) > PASSAGE_SIZE
        if gathered and (is_other or is_full or found):
            yield from _make(path, gathered, unit_name, heading, first)
            gathered = []
        if unit.row and (first is None or first.group != unit.group):
            first = unit
        if found:
            heading = " ".join(found[1].split())[:HEADING_LIMIT]
        gathered.append(unit)
    if gathered:
        yield from _make(path, gathered, unit_name, heading, first)


def split_text(path: str, text: str) -> Iterator[CitedPassage]:
    """Split a text file by its lines."""
    lines = (Unit(number, "", 0, line) for number, line in enumerate(text.splitlines(), 1))
    return split_units(path, (line for line in lines if line.text.strip()), "line")


def _make(
    path: str, units: list[Unit], unit_name: str, heading: str, first: Unit | None
) -> Iterator[CitedPassage]:
    begin, end = units[0], units[-1]
    if begin.row:
        place = f"{begin.group}, {_span('row', begin.row, end.row)}"
    else:
        place = begin.group or _span(unit_name, begin.number, end.number)
    if heading and not begin.group:
        place += f", {heading}"
    text = "\n".join(unit.text for unit in units).strip()
    is_headed = first is not None and begin.row and first.group == begin.group and first is not begin
    head = f"{first.text[: PASSAGE_SIZE // 4]}\n" if is_headed and first is not None else ""
    for piece in _cut(text):
        yield CitedPassage(path, place, head + piece)


def _span(name: str, begin: int, end: int) -> str:
    return f"{name} {begin}" if begin == end else f"{name}s {begin}–{end}"


def _cut(text: str) -> Iterator[str]:
    """Cut a text that is too long for one passage, where it is best cut."""
    while len(text) > PASSAGE_SIZE * 1.5:
        ends = (text.rfind(mark, PASSAGE_SIZE // 2, PASSAGE_SIZE) + len(mark) for mark in ENDS)
        at = next((end for end, mark in zip(ends, ENDS, strict=True) if end >= len(mark)), PASSAGE_SIZE)
        yield text[:at].strip()
        text = text[at:].strip()
    if text:
        yield text

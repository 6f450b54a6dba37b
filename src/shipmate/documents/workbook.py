"""Read the rows of a workbook's sheets as people see them: dates as dates, shares as percentages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from shipmate.documents.archive import Archive, Attributes
from shipmate.documents.extract import UNIT_LIMIT, Found

COLUMN_LIMIT = 256
# Formats that every program knows by number and that show a day or a time; those of East Asia among them.
DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
SHARE_FORMATS = frozenset({9, 10})
# What a format says literally, in colours or as conditions.
LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
COLUMN = re.compile(r"[A-Z]{1,3}")
# Days are counted from here; in the first two months of 1900 one more, since it is taken for a leap year.
EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)


class Workbook:
    """A workbook; a sheet is taken apart when it is asked for."""

    def __init__(self, data: bytes, name: str) -> None:
        self._archive = Archive(data, name)
        main = self._archive.find_main()
        self._book = _Book()
        self._archive.parse(main, self._book)
        self._relations = self._archive.relations(main)
        self._texts, self._styles = _Texts(), _Styles()
        for each in self._relations.values():
            handler = {"sharedStrings": self._texts, "styles": self._styles}.get(each.kind)
            if handler is not None and self._archive.has(each.target):
                self._archive.parse(each.target, handler)

    def read(self) -> Iterator[Found]:
        """Go over the rows of all sheets that hold something."""
        for title, relation in self._book.sheets:
            found = self._relations.get(relation)
            # A sheet may be one chart.
            if found is None or found.kind != "worksheet" or not self._archive.has(found.target):
                continue
            sheet = _Sheet(self._texts.texts, self._styles, EPOCH_1904 if self._book.is_1904 else EPOCH)
            for _ in self._archive.walk(found.target, sheet):
                rows, sheet.rows = sheet.rows, []
                yield from ((f"sheet {title}", number, row) for number, row in rows)


class _Book:
    """The order of the sheets."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.is_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            hidden = "" if attributes.get("state", "visible") == "visible" else " (hidden)"
            self.sheets.append((attributes.get("name", "") + hidden, attributes.get("id", "")))
        elif name == "workbookPr":
            self.is_1904 = attributes.get("date1904") in ("1", "true")

    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...


class _Texts:
    """The texts that cells name by their place."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._pieces: list[str] = []
        self._is_text = False
        self._is_reading = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "rPh":
            # How it is pronounced, written beside it.
            self._is_reading = True
        self._is_text = name == "t" and not self._is_reading

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "si":
            self.texts.append("".join(self._pieces)[:UNIT_LIMIT])
            self._pieces = []
        elif name == "rPh":
            self._is_reading = False

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)


class _Styles:
    """Which styles of cells show a number as a day or as a share."""

    def __init__(self) -> None:
        self.dates: set[int] = set()
        self.shares: set[int] = set()
        self._own: dict[int, str] = {}
        self._count = 0
        self._is_cell = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "numFmt":
            self._own[_number(attributes.get("numFmtId"))] = attributes.get("formatCode", "")
        elif name == "cellXfs":
            self._is_cell = True
        elif name == "xf" and self._is_cell:
            self._note(_number(attributes.get("numFmtId")))

    def _note(self, number: int) -> None:
        said = LITERAL.sub("", self._own.get(number, "")[:1000]).casefold()
        if number in DATE_FORMATS or (number in self._own and any(each in said for each in "ymdhs")):
            self.dates.add(self._count)
        elif number in SHARE_FORMATS or "%" in said:
            self.shares.add(self._count)
        self._count += 1

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_cell = False

    def text(self, text: str) -> None: ...


class _Sheet:
    """Gathers the rows of one sheet."""

    def __init__(self, texts: list[str], styles: _Styles, epoch: datetime) -> None:
        self.rows: list[tuple[int, str]] = []
        self._texts = texts
        self._styles = styles
        self._epoch = epoch
        self._number = 0
        self._cells: list[str] = []
        self._kind = ""
        self._style = 0
        self._column = 0
        self._value: list[str] = []
        self._size = 0
        self._is_value = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            place = COLUMN.match(attributes.get("r", ""))
            self._column = _column(place[0]) if place else len(self._cells)
            self._kind, self._style = attributes.get("t", "n"), _number(attributes.get("s"))
            self._value, self._size = [], 0
        elif name == "row":
            self._number = _number(attributes.get("r")) or self._number + 1
            self._cells = []
        self._is_value = name in ("v", "t")

    def end(self, name: str) -> None:
        self._is_value = False
        if name == "c" and self._value and self._column < COLUMN_LIMIT:
            self._cells += [""] * (self._column + 1 - len(self._cells))
            self._cells[self._column] = " ".join(self._show("".join(self._value)).split())
        elif name == "row" and any(self._cells):
            self.rows.append((self._number, " | ".join(self._cells)))

    def text(self, text: str) -> None:
        if self._is_value and self._size < UNIT_LIMIT:
            self._size += len(text)
            self._value.append(text)

    def _show(self, value: str) -> str:
        match self._kind:
            case "s":
                place = _number(value)
                return self._texts[place] if 0 <= place < len(self._texts) else ""
            case "b":
                return "TRUE" if value == "1" else "FALSE"
            case "n":
                return self._show_number(value)
            case _:
                return value

    def _show_number(self, value: str) -> str:
        try:
            number = float(value)
        except ValueError:
            return value
        if self._style in self._styles.dates and 0 <= number < 2_958_466:
            return self._show_date(number)
        if self._style in self._styles.shares:
            return f"{number * 100:.10g}%"
        return f"{number:.15g}" if "." in value or "E" in value.upper() else value

    def _show_date(self, number: float) -> str:
        early = self._epoch == EPOCH and 1 <= number < 60
        moment = self._epoch + timedelta(days=number + early)
        # Fractions of days are never exact.
        moment = (moment + timedelta(milliseconds=500)).replace(microsecond=0)
        if number < 1:
            return f"{moment:%H:%M:%S}"
        return f"{moment:%Y-%m-%d}" if number.is_integer() else f"{moment:%Y-%m-%d %H:%M:%S}"


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0


def _column(letters: str) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1

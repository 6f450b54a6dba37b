"""Take a document apart, in the child process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from shipmate.errors import DecodingError

# What one unit may hold, and when a stretch that has something to show ends: before the process is ended.
UNIT_LIMIT = 100_000
SECONDS = 7.0
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

# The number of a unit is its place in the order; group, row and text as in `Unit`.
Found = tuple[str, int, str]


def extract(data: bytes, *, kind: str, name: str, first: int, limit: int, room: int) -> bytes:
    """Return units from the `first` on as JSON, at most `limit` and about `room` characters."""
    title, unit, total, found = _open(data, kind, name, first)
    units: list[tuple[int, str, int, str]] = []
    following, until = None, time.monotonic() + SECONDS
    for number, (group, row, text) in found:
        if units and (len(units) >= limit or len(text) > room or time.monotonic() > until):
            following = number
            break
        room -= len(text) + 1
        units.append((number, group, row, text[:UNIT_LIMIT]))
    told = {"kind": title, "unit": unit, "units": units, "total": total, "following": following}
    # Halves of characters that a file names cannot be sent.
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


def _open(
    data: bytes, kind: str, name: str, first: int
) -> tuple[str, str, int | None, Iterator[tuple[int, Found]]]:
    match kind:
        case "pdf":
            from shipmate.documents.pdf import Pdf

            pdf = Pdf(data, name)
            return "PDF", "page", pdf.total, pdf.read(first)
        case "pptx":
            from shipmate.documents.slide import Slides

            slides = Slides(data, name)
            return "slides", "slide", slides.total, slides.read(first)
        case "xlsx":
            from shipmate.documents.workbook import Workbook

            return "workbook", "row", None, _from(first, Workbook(data, name).read())
        case "docx":
            from shipmate.documents.word import read_word

            return "Word document", "paragraph", None, _from(first, read_word(data, name))
        case _:
            why = "is encrypted" if ENCRYPTED in data else "has an old format of Office, or is encrypted"
            raise DecodingError(f"{name} {why}. Save it as .docx, .xlsx or .pptx without a password.")


def _from(first: int, found: Iterator[Found]) -> Iterator[tuple[int, Found]]:
    return ((number, each) for number, each in enumerate(found, 1) if number >= first)

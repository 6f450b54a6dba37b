"""Read a document as text, a page, slide, row or paragraph at a time; strangers' files in a child process."""

from __future__ import annotations

from typing import Literal

import msgspec

from shipmate.decoding.worker import Work, call, call_aside

Kind = Literal["pdf", "docx", "xlsx", "pptx", "old"]

# Longer files are not read: they would be held in memory twice.
DOCUMENT_LIMIT = 30_000_000
EXTRACT = Work(
    function="shipmate.documents.extract:extract", subject="The document", seconds=12.0, memory=300_000_000
)
MEDIA_TYPES: dict[Kind, str] = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "old": "application/x-ole-storage",
}
# Names of parts stand in an archive as they are, whatever else is compressed.
PARTS: tuple[tuple[bytes, Kind], ...] = (
    (b"word/document", "docx"),
    (b"xl/workbook", "xlsx"),
    (b"ppt/presentation", "pptx"),
)
ARCHIVE = b"PK\x03\x04"
# What Word 97 wrote, and what wraps an encrypted document of today.
STORAGE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
PDF = b"%PDF-"


class Unit(msgspec.Struct, frozen=True, array_like=True):
    """One page, slide, row or paragraph."""

    number: int
    # "page 3", "slide 2", "sheet Plan"; empty where a document has no such parts.
    group: str
    # The row within its sheet; 0 where the group says all.
    row: int
    text: str


class DocumentText(msgspec.Struct, frozen=True):
    """A stretch of a document."""

    kind: str
    unit: str
    units: list[Unit]
    # How many units there are, when that is known without reading them all.
    total: int | None
    # The unit with which the document goes on.
    following: int | None


_decoder = msgspec.json.Decoder(DocumentText)


def may_be_document(start: bytes) -> bool:
    """Return whether a file that begins so must be looked at whole to tell what it is."""
    return start.startswith((ARCHIVE, STORAGE)) or _begins_pdf(start)


def _begins_pdf(start: bytes) -> bool:
    # Some programs write a mark or empty lines before it.
    return start[:1024].lstrip(b"\xef\xbb\xbf\r\n\t \0").startswith(PDF)


def kind_of(data: bytes) -> Kind | None:
    """Return which document a file is, by its bytes; None when it is none of those that can be read."""
    if _begins_pdf(data):
        return "pdf"
    if data.startswith(STORAGE):
        return "old"
    if not data.startswith(ARCHIVE):
        return None
    return next((kind for mark, kind in PARTS if mark in data), None)


async def read_document(
    data: bytes, kind: Kind, name: str, *, first: int = 1, limit: int = 100_000, room: int = 16_000
) -> DocumentText:
    """Read units from the `first` on, about `room` characters; raises DecodingError in plain words."""
    stretch = {"first": first, "limit": limit, "room": room}
    return _decoder.decode(await call_aside(EXTRACT, data, kind=kind, name=name, **stretch))


def read_whole(data: bytes, kind: Kind, name: str, room: int) -> tuple[str, list[Unit]]:
    """Wait for all units of a document, as far as about `room` characters go, and what they are called."""
    units: list[Unit] = []
    first: int | None = 1
    found = None
    while first is not None and room > 0:
        stretch = {"first": first, "limit": 100_000, "room": room}
        found = _decoder.decode(call(EXTRACT, data, kind=kind, name=name, **stretch))
        units += found.units
        room -= sum(len(unit.text) for unit in found.units)
        first = found.following
    return found.unit if found else "", units


def write_units(document: DocumentText, name: str) -> str:
    """Write a stretch as a model reads it: each line below what says where it stands."""
    count = document.total
    total = f", {count:,} {document.unit}{'' if count == 1 else 's'}" if count is not None else ""
    lines = [f"[{name}: {document.kind}{total}]"]
    if not document.units:
        lines.append("[nothing to read from here on]")
    group = ""
    for unit in document.units:
        if unit.group != group:
            group = unit.group
            lines.append(f"[{group}]")
        lines.append(f"{unit.row}: {unit.text}" if unit.row else unit.text)
    if document.following is not None:
        lines.append(f"[the document goes on: read with offset {document.following}]")
    return "\n".join(lines)

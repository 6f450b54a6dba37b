"""Change one key of ship.json or member.json; every other byte of the file stays as it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from shipmate.errors import WorkspaceError
from shipmate.values.message import JsonObject
from shipmate.workspace.disk.private import make_private, write_private
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import decode_object

BLANKS = " \t\r\n"


class _Entry(NamedTuple):
    """Where one key of an object stands, and its value."""

    key: str
    start: int
    value: int
    end: int


def read_object(path: Path) -> JsonObject:
    """Return what a settings file holds, nothing when it is not there."""
    data = _read(path)
    return decode_object(data, path) if data and data.strip() else {}


def write_key(layout: Layout, path: Path, key: str, value: Any) -> bool:
    """Set a key, or take it out with None; tell whether the file changed. Its old text becomes a revision."""
    place = _find_place(layout, path)
    before = _read(place)
    if before and before.strip():
        decode_object(before, path)
    text = (before or b"").decode("utf-8")
    changed = put_key(text if text.strip() else "{}\n", key, value)
    if changed == text or (value is None and not text.strip()):
        return False
    try:
        if before is not None:
            kept = make_private(layout.revisions(layout.name_of(path)))
            write_private(kept / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}.json", before)
        write_private(place, changed.encode())
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror}. Nothing was kept.") from None
    return True


def _find_place(layout: Layout, path: Path) -> Path:
    """Return where a settings file lies; raise WorkspaceError when a link leads it out of the workspace."""
    place = path.resolve()
    if not any(place.is_relative_to(home.resolve()) for home in (layout.root, path.parent)):
        name = layout.name_of(path)
        problem = f"{name} is a link that leads out of the workspace."
        raise WorkspaceError(f"{problem} Change the file it leads to, or put the file here.")
    return place


def put_key(text: str, key: str, value: Any) -> str:
    """Return the text of a JSON object with one key set, or without it when the value is None."""
    entries, inner = _find_entries(text)
    # Of a key given twice the last one counts.
    found = next((each for each in reversed(entries) if each.key == key), None)
    if value is None:
        return text if found is None else _remove(text, entries, entries.index(found))
    indent = _find_indent(text, entries)
    if found is not None:
        return text[: found.value] + _write(value, indent) + text[found.end :]
    written = f"{json.dumps(key)}: {_write(value, indent)}"
    if not entries:
        close = text.index("}", inner)
        return f"{text[:inner]}\n  {json.dumps(key)}: {_write(value, '  ')}\n{text[close:]}"
    gap = f"\n{indent}" if indent is not None else " "
    return f"{text[: entries[-1].end]},{gap}{written}{text[entries[-1].end :]}"


def _find_entries(text: str) -> tuple[list[_Entry], int]:
    """Return the keys of an object, and the place behind its first brace."""
    decoder = json.JSONDecoder()
    at = inner = text.index("{") + 1
    entries: list[_Entry] = []
    while (at := _skip(text, at)) < len(text) and text[at] != "}":
        if text[at] == ",":
            at += 1
            continue
        key, end = decoder.raw_decode(text, at)
        value = _skip(text, _skip(text, end) + 1)
        _, stop = decoder.raw_decode(text, value)
        entries.append(_Entry(str(key), at, value, stop))
        at = stop
    return entries, inner


def _remove(text: str, entries: list[_Entry], at: int) -> str:
    if at + 1 < len(entries):
        return text[: entries[at].start] + text[entries[at + 1].start :]
    if not at:
        return text[: text.index("{") + 1] + text[text.index("}", entries[at].end) :]
    return text[: entries[at - 1].end] + text[entries[at].end :]


def _find_indent(text: str, entries: list[_Entry]) -> str | None:
    """Return what stands before the first key on its line; None when the object is on one line."""
    if not entries:
        return "  "
    before = text[: entries[0].start]
    blank = before[before.rfind("\n") + 1 :]
    return blank if "\n" in before[before.index("{") :] and not blank.strip() else None


def _write(value: Any, indent: str | None) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=indent or "  ").split("\n")
    return "\n".join([lines[0], *(f"{indent}{line}" for line in lines[1:])])


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANKS:
        at += 1
    return at


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror}. Mend its permissions.") from None

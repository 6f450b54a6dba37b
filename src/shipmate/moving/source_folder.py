"""Read the folder of another program: bounded, never through a link that leads out, and never written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting
from shipmate.workspace.foreign.foreign_file import HEAD_LIMIT, is_broken, is_file, read_bytes, read_settings

# A message with a picture inside takes a few megabytes; nobody says more at once.
LINE_LIMIT = 32 * 1024 * 1024
FILE_LIMIT = 16 * 1024 * 1024
# More files than this are no memory and no skills.
COUNT_LIMIT = 20_000


class ForeignRows(msgspec.Struct):
    """What a file of lines held, and what of it could not be taken."""

    rows: list[JsonObject]
    # Lines that are no JSON object, lines that are far too long, and lines with bytes that are no UTF-8.
    broken: int = 0
    long: int = 0
    mended: int = 0
    # The last line breaks off: the file was cut, or is being written.
    is_cut: bool = False


class SourceFolder:
    """A folder of another program."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        # What was seen and not followed.
        self.links: list[str] = []

    def has(self, name: str) -> bool:
        """Return whether there is such a file in the folder itself."""
        return self._stays(name) and is_file(self.root / name)

    def folders(self, name: str = "") -> list[str]:
        """Return the sorted names of the folders in a folder."""
        return [each for each, is_folder in self._entries(name) if is_folder]

    def names(self, name: str, ending: str) -> list[str]:
        """Return the sorted names of the files in a folder that end so."""
        return [each for each, is_folder in self._entries(name) if not is_folder and each.endswith(ending)]

    def walk(self, name: str, ending: str = "") -> list[str]:
        """Return the files in a folder and below it, by their path from the source."""
        found: list[str] = []
        waiting = [name]
        while waiting and len(found) < COUNT_LIMIT:
            folder = waiting.pop(0)
            for each, is_folder in self._entries(folder):
                path = f"{folder}/{each}" if folder else each
                if is_folder:
                    waiting.append(path)
                elif each.endswith(ending):
                    found.append(path)
        return sorted(found)[:COUNT_LIMIT]

    def _entries(self, name: str) -> Iterator[tuple[str, bool]]:
        if not self._stays(name):
            return
        try:
            entries = sorted(os.scandir(self.root / name), key=lambda each: each.name)
        except OSError:
            return
        for entry in entries:
            if entry.is_symlink():
                self.links.append(f"{name}/{entry.name}" if name else entry.name)
            elif entry.name.isprintable() and (entry.is_dir() or entry.is_file()):
                yield entry.name, entry.is_dir()

    def read(self, name: str, limit: int = FILE_LIMIT) -> bytes | None:
        """Return what a file holds; None where there is none, or far too much."""
        if not self.has(name):
            return None
        data = read_bytes(self.root / name, limit + 1)
        return data if len(data) <= limit else None

    def text(self, name: str) -> str:
        """Return the text of a file, bytes that are no UTF-8 replaced."""
        return (self.read(name) or b"").decode("utf-8-sig", "replace")

    def settings(self, name: str) -> JsonObject:
        """Return the object a JSON file holds; nothing where it is missing or broken."""
        return read_settings(self.root / name) if self.has(name) else {}

    def is_broken(self, name: str) -> bool:
        """Return whether settings are there and cannot be read."""
        return self.has(name) and is_broken(self.root / name)

    def document(self, name: str) -> JsonObject | None:
        """Return the object a JSON file holds, however long; None where it is cut off or no JSON."""
        data = self.read(name, LINE_LIMIT * 8)
        found, _ = _decode(data) if data else (None, False)
        return found

    def head(self, name: str) -> JsonObject:
        """Return the object in the first line of a file; nothing where there is none."""
        found, _ = _decode(
            read_bytes(self.root / name, HEAD_LIMIT).partition(b"\n")[0] if self.has(name) else b""
        )
        return found or {}

    def rows(self, name: str) -> ForeignRows:
        """Return the JSON objects a file of lines holds; whatever is wrong with a line spoils no other."""
        found = ForeignRows([])
        if not self.has(name):
            return found
        with open(self.root / name, "rb") as file:  # noqa: PTH123  # `has` told that it is a plain file
            while line := file.readline(LINE_LIMIT):
                if len(line) == LINE_LIMIT and not line.endswith(b"\n"):
                    found.long += 1
                    while (rest := file.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
                        pass
                elif line.strip():
                    self._take(found, line)
        return found

    def _take(self, found: ForeignRows, line: bytes) -> None:
        row, is_mended = _decode(line)
        if row is not None:
            found.rows.append(row)
            found.mended += is_mended
        elif not line.endswith(b"\n"):
            found.is_cut = True
        else:
            found.broken += 1

    def _stays(self, name: str) -> bool:
        """Return whether a name leads to a place in this folder, also through links."""
        try:
            return (self.root / name).resolve().is_relative_to(self.root)
        except (OSError, ValueError, RuntimeError):
            return False


def _decode(data: bytes) -> tuple[JsonObject | None, bool]:
    """Return the object some bytes are, and whether they had to be mended; None for anything else."""
    for is_mended in (False, True):
        try:
            text = data.decode("utf-8", "replace").encode() if is_mended else data
            found: Any = msgspec.json.decode(check_nesting(text))
        except (ValueError, msgspec.MsgspecError, RecursionError):
            continue
        return (found, is_mended) if isinstance(found, dict) else (None, False)
    return None, False

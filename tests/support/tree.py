"""Write down a folder and all in it, to compare it with another."""

from __future__ import annotations

import os
import stat
from pathlib import Path

Entry = tuple[str, int, bytes]


def read_tree(root: Path, *, without: tuple[str, ...] = (".ship",)) -> dict[str, Entry]:
    """Return what every path below a folder is: its kind, its mode and its content."""
    found: dict[str, Entry] = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in os.scandir(root / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in without:
                continue
            found[path] = _read(root / path)
            if found[path][0] == "folder":
                waiting.append(path)
    return found


def _read(path: Path) -> Entry:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "link", 0, os.fsencode(path.readlink())
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return "folder", mode, b""
    if stat.S_ISREG(status.st_mode):
        return "file", mode, path.read_bytes()
    return "special", mode, b""

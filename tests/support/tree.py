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
        for name in os.listdir(root / folder):
            path = f"{folder}/{name}" if folder else name
            if path in without:
                continue
            found[path] = entry = _read(root / path)
            if entry[0] == "folder":
                waiting.append(path)
    return found


def _read(path: Path) -> Entry:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "link", 0, os.fsencode(os.readlink(path))
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return "folder", mode, b""
    if stat.S_ISREG(status.st_mode):
        return "file", mode, path.read_bytes()
    return "special", mode, b""

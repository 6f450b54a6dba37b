"""Read text files once per change: what was read is kept until the file's stat says otherwise."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

# More than a prompt can hold many times over; past it only both ends of a file are read.
READ_LIMIT = 1024 * 1024
TAIL = READ_LIMIT // 4
ENTRY_LIMIT = 8192
# Two writes within one tick of the kernel's clock leave the same stat, so a file this young is read again.
YOUNG_NS = 50_000_000

Stamp: TypeAlias = tuple[int, int, int, int]
# Equal to no real stamp: what was read under it is read again.
DOUBTED: Stamp = (-1, -1, -1, -1)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class FileText:
    """A file's text, or why there is none; the same object is given until the file changes."""

    path: str
    text: str = ""
    size: int = 0
    # What is wrong, in words for a person; the text may still be usable.
    problem: str = ""
    is_missing: bool = False
    # Something of this name is there, and what it says was not read.
    is_unread: bool = False


class FileCache:
    """The files and folders below one root, each read once per change."""

    def __init__(self, root: Path) -> None:
        # Links are judged by where they lead, so the root is compared in its resolved form.
        self.root = os.path.realpath(root)
        self._texts: dict[str, tuple[Stamp | None, FileText]] = {}
        self._names: dict[str, tuple[Stamp | None, tuple[str, ...]]] = {}
        self._made: dict[tuple[str, str], tuple[FileText, object]] = {}

    def read(self, path: str | Path) -> FileText:
        """Return a file's text as it is now."""
        place = os.fspath(path)
        stamp = _stamp(place)
        known = self._texts.get(place)
        if known is not None and known[0] == stamp:
            return known[1]
        found = _missing(place) if stamp is None else _load(place, self.root)
        if len(self._texts) >= ENTRY_LIMIT:
            self._texts.clear()
            self._made.clear()
        self._texts[place] = (None if found.is_missing else _trusted(stamp), found)
        return found

    def names(self, folder: str | Path) -> tuple[str, ...]:
        """Return the sorted names in a folder, none when it does not exist."""
        place = os.fspath(folder)
        stamp = _stamp(place)
        known = self._names.get(place)
        if known is not None and known[0] == stamp:
            return known[1]
        found = _list(place) if stamp is not None else ()
        self._names[place] = (None if stamp is None else _trusted(stamp), found)
        return found

    def look(self, paths: Sequence[str], known: Sequence[Stamp | None]) -> list[Stamp | None]:
        """Return the stamps of files, for comparing with those known before; cheaper than reading them."""
        # Asking whether a file that was missing has come costs a third of a stat.
        access, exists, stamp_of = os.access, os.F_OK, _stamp
        return [
            None if stamp is None and not access(path, exists) else stamp_of(path)
            for path, stamp in zip(paths, known, strict=True)
        ]

    def settle(self, stamps: Sequence[Stamp | None]) -> list[Stamp | None]:
        """Return the stamps to know files by later; one too young to be trusted will equal no other."""
        return [None if stamp is None else _trusted(stamp) for stamp in stamps]

    def make(self, path: str | Path, kind: str, maker: Callable[[FileText], T]) -> T:
        """Return what `maker` makes of a file's text, made once per change; `kind` names the result."""
        file = self.read(path)
        known = self._made.get((file.path, kind))
        if known is not None and known[0] is file:
            return known[1]  # pyright: ignore[reportReturnType]  # one kind is always made by one maker
        made = maker(file)
        self._made[file.path, kind] = (file, made)
        return made


def _stamp(place: str) -> Stamp | None:
    try:
        status = os.stat(place)  # noqa: PTH116  # asked hundreds of times a turn; a Path costs as much again
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def _trusted(stamp: Stamp | None) -> Stamp:
    """Return the stamp to remember: no real one for a file so young that it may change without a trace."""
    if stamp is None or time.time_ns() - max(stamp[0], stamp[1]) < YOUNG_NS:
        return DOUBTED
    return stamp


def _missing(place: str) -> FileText:
    if os.path.islink(place):  # noqa: PTH114  # is_symlink() raises for a name too long to exist
        return _unread(place, "a link that leads nowhere; remove it or mend its target")
    return FileText(place, is_missing=True)


def _unread(place: str, problem: str) -> FileText:
    return FileText(place, problem=problem, is_unread=True)


def _list(place: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in Path(place).iterdir()))
    except OSError:
        return ()


def _load(place: str, root: str) -> FileText:
    """Read a file that exists; whatever stands in the way becomes its problem."""
    real = os.path.realpath(place)
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        return _unread(place, f"a link to {real}, outside the workspace; copy the file in")
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
        with os.fdopen(
            os.open(place, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)), "rb"
        ) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return _unread(place, "not a file; put a text file in its place")
            data = file.read(READ_LIMIT + 1)
            tail = b""
            if len(data) > READ_LIMIT:
                file.seek(-TAIL, os.SEEK_END)
                data, tail = data[: READ_LIMIT - TAIL], file.read(TAIL)
    except OSError as error:
        return _unread(place, f"cannot be read: {error.strerror or error}; mend its permissions")
    return _decode(place, data, tail, status.st_size)


def _decode(place: str, data: bytes, tail: bytes, size: int) -> FileText:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data[: len(data) & ~1].decode("utf-16", "replace")
        return FileText(place, text, size, "UTF-16, not UTF-8; save it as UTF-8")
    if b"\0" in data:
        return FileText(place, size=size, problem="binary, not text; put a UTF-8 text file in its place")
    problem = ""
    if tail:
        # Both ends of the gap may fall inside a character; the halves are dropped.
        data, tail = _drop_broken_end(data), tail.lstrip(bytes(range(0x80, 0xC0)))
        left = size - len(data) - len(tail)
        problem = f"{size:,} bytes, only both ends are read; split it into smaller files"
        data += f"\n\n[… {left:,} bytes of this file are left out here …]\n\n".encode() + tail
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        problem = f"not UTF-8 at byte {error.start:,}; save it as UTF-8"
    return FileText(
        place, text, size, problem or ("" if text.strip() else "empty; write something or remove it")
    )


def _drop_broken_end(data: bytes) -> bytes:
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            wanted = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= wanted else data[:-back]
    return data

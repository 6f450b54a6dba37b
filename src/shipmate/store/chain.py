"""An append-only log whose entries are chained by hashes: a cut, an edit or a swapped line shows.

Each line is the canonical JSON of one entry with `seq`, `prev` (the hash before it) and `hash` (SHA-256 over
the rest). `head` names the newest entry. The lines are the truth: after a crash the head may lag, never lead.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from shipmate.errors import StorageError
from shipmate.store.link import NOTHING, Link, decode, encode, link_of, seal
from shipmate.store.verification import FileCheck, Verification, check_file, compare_end, join_checks
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.layout import make_private, sync_folder

# A file is named after its first entry and its month; a new one begins with the month or at this size.
FILE_NAME = re.compile(r"(\d{10})-\d{4}-\d{2}\.jsonl")
FILE_LIMIT = 2 * 1024 * 1024
HEAD = re.compile(rb"(\d{20}) ([0-9a-f]{64})\n")
TAIL = 8 * 1024

# macOS has no fdatasync.
_sync = getattr(os, "fdatasync", os.fsync)


class Chain:
    """The chained log in one folder; several processes may append."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Files that were checked before and have not changed since, by their stat.
        self._checked: dict[Path, tuple[tuple[int, ...], FileCheck]] = {}

    def append(self, entry: JsonObject) -> JsonObject:
        """Put an entry at the end, on disk before this returns; what is not as it was left is noted first."""
        try:
            make_private(self._folder)
            with self._lock(fcntl.LOCK_EX):
                end, trouble = self._find_end()
                for note in trouble:
                    end = link_of(self._write(end, {**note, "at": timestamp()}))
                return self._write(end, {"at": timestamp(), **entry})
        except OSError as error:
            raise StorageError(
                f"cannot write {self._folder}: {error.strerror}. What cannot be recorded does not run."
            ) from error

    def backward(self) -> Iterator[JsonObject]:
        """Go over the entries, newest first; what cannot be read is left out."""
        for path in reversed(self._files()):
            for line in reversed(path.read_bytes().split(b"\n")):
                entry = decode(line)
                if entry is not None:
                    yield entry

    def verify(self) -> Verification:
        """Check every line, the order of the files, and that the end is the one that was written."""
        if not self._folder.is_dir():
            return Verification()
        with self._lock(fcntl.LOCK_SH):
            files = self._files()
            return join_checks([self._check(path) for path in files], self._read_head(), self._find)

    def _check(self, path: Path) -> FileCheck:
        status = path.stat()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._checked.get(path)
        if known is None or known[0] != stamp:
            known = self._checked[path] = (stamp, check_file(path))
        return known[1]

    @contextmanager
    def _lock(self, kind: int) -> Generator[None]:
        """Lock the folder itself: nothing that could be deleted stands between two processes."""
        handle = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)

    def _files(self) -> list[Path]:
        """List the files of the log in the order of their entries."""
        if not self._folder.is_dir():
            return []
        return sorted(path for path in self._folder.iterdir() if FILE_NAME.fullmatch(path.name))

    def _find_end(self) -> tuple[Link, list[JsonObject]]:
        """Return what the next entry follows, and notes on what is not as it was left."""
        trouble: list[JsonObject] = []
        files = self._files()
        if files and (cut := _cut_torn_line(files[-1])):
            trouble.append({"event": "mended", "what": f"cut off {cut} bytes that a crash left unfinished"})
        last, is_readable = _last_link(files)
        head = self._read_head()
        words = compare_end(head, last, self._find, begun=bool(files))
        if head is None and not files:
            self._write_head(NOTHING)
        if not is_readable:
            words = f"the last line of {files[-1].name} cannot be read"
        if words:
            trouble.append({"event": "broken", "what": words})
        # What was written last counts, whether it is still there or not: so the gap stays visible.
        return (head if head is not None and head.seq >= last.seq else last), trouble

    def _find(self, seq: int) -> Link | None:
        for path in reversed(self._files()):
            if int(path.name[:10]) <= seq:
                entries = filter(None, map(decode, path.read_bytes().split(b"\n")))
                return next((link_of(entry) for entry in entries if entry["seq"] == seq), None)
        return None

    def _write(self, end: Link, entry: JsonObject) -> JsonObject:
        sealed = seal(entry, end)
        line = encode(sealed) + b"\n"
        path, is_new = self._place(sealed, len(line))
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_line(handle, line)
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self._folder)
        self._write_head(link_of(sealed))
        return sealed

    def _place(self, entry: JsonObject, length: int) -> tuple[Path, bool]:
        """Choose the file an entry goes to."""
        files, month = self._files(), str(entry["at"])[:7]
        if files:
            newest = files[-1]
            size = newest.stat().st_size
            if not size or (newest.stem[11:] == month and size + length <= FILE_LIMIT):
                return newest, False
        return self._folder / f"{entry['seq']:010d}-{month}.jsonl", True

    def _read_head(self) -> Link | None:
        try:
            found = HEAD.fullmatch((self._folder / "head").read_bytes())
        except FileNotFoundError:
            return None
        return Link(int(found[1]), found[2].decode()) if found else None

    def _write_head(self, link: Link) -> None:
        path = self._folder / "head"
        is_new = not path.exists()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # One small write in place. It is not synced: the line is, and a head that lags behind is no harm.
            os.pwrite(handle, f"{link.seq:020d} {link.hash}\n".encode(), 0)
            if is_new:
                os.fsync(handle)
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self._folder)


def _last_link(files: list[Path]) -> tuple[Link, bool]:
    """Return the link of the last line that can be read, and whether that is the last line."""
    is_readable = True
    for path in reversed(files):
        for line in _last_lines(path):
            if (entry := decode(line)) is not None:
                return link_of(entry), is_readable
            is_readable = False
    return NOTHING, is_readable


def _last_lines(path: Path) -> Iterator[bytes]:
    """Go over the lines of a file from its end; the whole file is read only when its last line is odd."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        lines = file.read().split(b"\n")
        if size > TAIL:
            # The first piece may be the end of a line.
            yield from reversed(lines[1:-1])
            file.seek(0)
            lines = file.read(size).split(b"\n")
        yield from reversed(lines[:-1])


def _cut_torn_line(path: Path) -> int:
    """Cut off what stands behind the last newline; return how many bytes that were."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if file.read() in (b"", b"\n"):
            return 0
        file.seek(0)
        whole = file.read(size).rfind(b"\n") + 1
        file.truncate(whole)
        os.fsync(file.fileno())
        return size - whole


def _write_line(handle: int, line: bytes) -> None:
    size = os.fstat(handle).st_size
    try:
        view = memoryview(line)
        while view:
            view = view[os.write(handle, view) :]
        _sync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise

"""An append-only log whose entries are chained by hashes: a cut, an edit or a swapped line shows.

Each line is the canonical JSON of one entry with `seq`, `prev` (the hash before it) and `hash` (SHA-256 over
the rest). `head` names the newest entry. The lines are the truth: after a crash the head may lag, never lead.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, unquote

import msgspec

from shipmate.errors import StorageError
from shipmate.store.verification import (
    BREAK_LIMIT,
    NOTHING,
    ChainLink,
    FileCheck,
    Verification,
    check_file,
    compare_end,
    decode,
    encode,
    join_checks,
    link_of,
    seal,
)
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.disk.disk import (
    DISK,
    Disk,
    append_to,
    cut_torn_tail,
    exists,
    make_folder,
    name_of,
    names_in,
    opened,
    read_file,
    read_from,
    settle,
    write_all,
)

# A file is named after its first entry and its month; a new one begins with the month or at this size.
FILE_NAME = re.compile(r"(\d{10})-\d{4}-\d{2}\.jsonl")
FILE_LIMIT = 2 * 1024 * 1024
HEAD = re.compile(rb"(\d{20}) ([0-9a-f]{64})\n")
TAIL = 8 * 1024
# How the folder of another worker's chain is named.
WORKER = "worker-"


class ChainedLog(Protocol):
    """A log of entries chained by hashes, wherever it is kept; what is appended is durable."""

    def append(self, entry: JsonObject) -> JsonObject: ...
    def backward(self) -> Iterator[JsonObject]: ...
    def verify(self) -> Verification: ...


class Chain:
    """The chained log in one folder; several processes may append."""

    def __init__(self, folder: Path, disk: Disk = DISK) -> None:
        self._folder = folder
        self._disk = disk
        # Files that were checked before and have not changed since, by their stat.
        self._checked: dict[Path, tuple[tuple[int, ...], FileCheck]] = {}

    def append(self, entry: JsonObject) -> JsonObject:
        """Put an entry at the end, on disk before this returns; what is not as it was left is noted first."""
        try:
            make_folder(self._disk, self._folder)
            with self._lock(fcntl.LOCK_EX):
                end, trouble = self._find_end()
                for note in trouble:
                    end = link_of(self._write(end, {**note, "at": timestamp()}))
                return self._write(end, {"at": timestamp(), **entry})
        except OSError as error:
            raise StorageError(
                f"cannot write {name_of(self._folder, self._folder.parent.parent)}: {error.strerror}. "
                "What cannot be recorded does not run."
            ) from error

    def backward(self) -> Iterator[JsonObject]:
        """Go over the entries, newest first; what cannot be read is left out."""
        for path in reversed(self._files()):
            for line in reversed(read_file(self._disk, path).split(b"\n")):
                entry = decode(line)
                if entry is not None:
                    yield entry

    def lines(self) -> list[tuple[int, str, bytes]]:
        """Return every entry that can be read as it stands: its number, its time, its line."""
        found: list[tuple[int, str, bytes]] = []
        for path in self._files():
            for line in read_file(self._disk, path).split(b"\n"):
                if (entry := decode(line)) is not None:
                    found.append((entry["seq"], str(entry.get("at", "")), line))
        return found

    def head(self) -> ChainLink | None:
        """Return what the head says is the newest entry."""
        return self._read_head()

    def verify(self) -> Verification:
        """Check every line, the order of the files, and that the end is the one that was written."""
        if not exists(self._disk, self._folder):
            return Verification()
        with self._lock(fcntl.LOCK_SH):
            files = self._files()
            return join_checks([self._check(path) for path in files], self._read_head(), self._find)

    def _check(self, path: Path) -> FileCheck:
        status = self._disk.stat(path)
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._checked.get(path)
        if known is None or known[0] != stamp:
            known = self._checked[path] = (stamp, check_file(path.name, read_file(self._disk, path)))
        return known[1]

    @contextmanager
    def _lock(self, kind: int) -> Generator[None]:
        """Lock the folder itself: nothing that could be deleted stands between two processes."""
        with opened(self._disk, self._folder, os.O_RDONLY) as handle:
            self._disk.flock(handle, kind)
            yield

    def _files(self) -> list[Path]:
        """List the files of the log in the order of their entries."""
        names = names_in(self._disk, self._folder)
        return [self._folder / name for name in names if FILE_NAME.fullmatch(name)]

    def _find_end(self) -> tuple[ChainLink, list[JsonObject]]:
        """Return what the next entry follows, and notes on what is not as it was left."""
        trouble: list[JsonObject] = []
        files = self._files()
        if files and (cut := self._cut_torn_line(files[-1])):
            trouble.append({"event": "mended", "what": f"cut off {cut} bytes that a crash left unfinished"})
        last, is_readable = self._last_link(files)
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

    def _find(self, seq: int) -> ChainLink | None:
        for path in reversed(self._files()):
            if int(path.name[:10]) <= seq:
                entries = filter(None, map(decode, read_file(self._disk, path).split(b"\n")))
                return next((link_of(entry) for entry in entries if entry["seq"] == seq), None)
        return None

    def _write(self, end: ChainLink, entry: JsonObject) -> JsonObject:
        sealed = seal(entry, end)
        line = encode(sealed) + b"\n"
        append_to(self._disk, self._place(sealed, len(line)), line)
        self._write_head(link_of(sealed))
        return sealed

    def _place(self, entry: JsonObject, length: int) -> Path:
        """Choose the file an entry goes to."""
        files, month = self._files(), str(entry["at"])[:7]
        if files:
            newest = files[-1]
            size = self._disk.stat(newest).st_size
            if not size or (newest.stem[11:] == month and size + length <= FILE_LIMIT):
                return newest
        return self._folder / f"{entry['seq']:010d}-{month}.jsonl"

    def _read_head(self) -> ChainLink | None:
        try:
            found = HEAD.fullmatch(read_file(self._disk, self._folder / "head"))
        except FileNotFoundError:
            return None
        return ChainLink(int(found[1]), found[2].decode()) if found else None

    def _write_head(self, link: ChainLink) -> None:
        path = self._folder / "head"
        is_new = not exists(self._disk, path)
        with opened(self._disk, path, os.O_WRONLY | os.O_CREAT) as handle:
            # One small write in place. It is not synced: the line is, and a head that lags behind is no harm.
            write_all(self._disk, handle, encode_head(link))
            if is_new:
                self._disk.fsync(handle)
        settle(self._disk, path, is_new=is_new)

    def _last_link(self, files: list[Path]) -> tuple[ChainLink, bool]:
        """Return the link of the last line that can be read, and whether that is the last line."""
        is_readable = True
        for path in reversed(files):
            for line in self._last_lines(path):
                if (entry := decode(line)) is not None:
                    return link_of(entry), is_readable
                is_readable = False
        return NOTHING, is_readable

    def _last_lines(self, path: Path) -> Iterator[bytes]:
        """Go over the lines of a file from its end; all of it is read only when its last line is odd."""
        with opened(self._disk, path, os.O_RDONLY) as handle:
            size = self._disk.fstat(handle).st_size
            lines = self._disk.pread(handle, TAIL, max(0, size - TAIL)).split(b"\n")
            if size > TAIL:
                # The first piece may be the end of a line.
                yield from reversed(lines[1:-1])
                lines = read_from(self._disk, handle).split(b"\n")
            yield from reversed(lines[:-1])

    def _cut_torn_line(self, path: Path) -> int:
        """Cut off what stands behind the last newline; return how many bytes that were."""
        with opened(self._disk, path, os.O_RDWR) as handle:
            size = self._disk.fstat(handle).st_size
            whole = cut_torn_tail(self._disk, handle)
            if whole < size:
                self._disk.fsync(handle)
            return size - whole


class JoinedChains(Chain):
    """The chain of a workspace, and those of workers that it had when it lay in PostgreSQL."""

    def backward(self) -> Iterator[JsonObject]:
        """Go over the entries of all chains, newest first; what cannot be read is left out."""
        others = [chain.backward() for _, chain in self._others()]
        if not others:
            return super().backward()
        return heapq.merge(super().backward(), *others, key=lambda entry: str(entry.get("at")), reverse=True)

    def verify(self) -> Verification:
        """Check every chain."""
        found = super().verify()
        for name, chain in self._others():
            other = chain.verify()
            breaks = [msgspec.structs.replace(each, file=f"{name}/{each.file}") for each in other.breaks]
            found = Verification(
                entries=found.entries + other.entries,
                breaks=(*found.breaks, *breaks)[:BREAK_LIMIT],
                torn=found.torn or other.torn,
            )
        return found

    def _others(self) -> list[tuple[str, Chain]]:
        return [(path.name, Chain(path, self._disk)) for _, path in worker_folders(self._folder, self._disk)]


def worker_folders(folder: Path, disk: Disk = DISK) -> list[tuple[str, Path]]:
    """List the workers whose chains lie in folders of their own within an audit folder."""
    names = [name for name in names_in(disk, folder) if name.startswith(WORKER)]
    return [(unquote(name.removeprefix(WORKER)), folder / name) for name in names]


def worker_folder(folder: Path, worker: str) -> Path:
    """Return where the chain of a worker lies within an audit folder."""
    return folder / f"{WORKER}{quote(worker, safe='')}"


def encode_head(link: ChainLink) -> bytes:
    """Return the file that names the newest entry."""
    return f"{link.seq:020d} {link.hash}\n".encode()


def cut_pages(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Go over the files that lines of a chain make: their names and what they hold."""
    name, page = "", b""
    for line in lines:
        entry = decode(line)
        if entry is None:
            continue
        month, full = str(entry.get("at", ""))[:7], line + b"\n"
        if not name or name[11:18] != month or len(page) + len(full) > FILE_LIMIT:
            if name:
                yield name, page
            name, page = f"{entry['seq']:010d}-{month}.jsonl", b""
        page += full
    if name:
        yield name, page

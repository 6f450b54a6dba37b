"""Keep the rows of threads: on disk as JSONL, or in memory for tests."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from shipmate.errors import NotFoundError, ThreadIdError, UserError
from shipmate.thread.mark import decode_mark
from shipmate.thread.row import RowProblem, decode_row, encode_row, split_lines
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import (
    DISK,
    Disk,
    append_to,
    create_file,
    exists,
    make_folder,
    move_file,
    names_in,
    opened,
    read_file,
    read_from,
    refusals,
    remove_file,
)
from shipmate.workspace.disk.pace import pace_of
from shipmate.workspace.layout import Layout

LOCK_POLL_SECONDS = 0.02
SUFFIX = ".jsonl"
CUT = "the file is empty: its rows were cut off, or a crash came before the first was written"


class Position(msgspec.Struct, frozen=True):
    """How far a log has been read."""

    offset: int = 0
    line: int = 0
    inode: int = 0


class Tail(msgspec.Struct, frozen=True):
    """The rows after a position. `restarted` says the log was replaced and was read from its start."""

    rows: list[UIMessage]
    problems: list[RowProblem]
    position: Position
    restarted: bool = False


class Log(Protocol):
    """Rows kept durably and in order; `append` returns only once they would survive a power cut."""

    def lock(self, thread_id: ThreadId) -> AbstractAsyncContextManager[None]: ...
    async def exists(self, thread_id: ThreadId) -> bool: ...
    async def ids(self) -> list[ThreadId]: ...
    async def read(self, thread_id: ThreadId, position: Position) -> Tail: ...
    async def append(self, thread_id: ThreadId, rows: Sequence[UIMessage], *, waits: bool = True) -> None:
        """Append rows; what does not wait for the disk survives a crash of the process, not a power cut."""
        ...

    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None: ...
    async def is_binned(self, thread_id: ThreadId) -> bool: ...
    async def bin(self, thread_id: ThreadId) -> None: ...
    async def restore(self, thread_id: ThreadId) -> None: ...
    async def remove(self, thread_id: ThreadId) -> None: ...


class FileLog:
    """A log that keeps each thread as one JSONL file of the workspace."""

    def __init__(self, layout: Layout, disk: Disk = DISK) -> None:
        self._layout = layout
        self._disk = disk
        # Where the rows lie that end a file and did not wait for the disk.
        self._loose: dict[ThreadId, range] = {}

    @asynccontextmanager
    async def lock(self, thread_id: ThreadId) -> AsyncGenerator[None]:
        """Hold a thread alone, also against other processes on this machine; a dead holder's lock is free."""
        path = self._layout.thread_lock(thread_id)
        with self._refusals(path):
            if not exists(self._disk, path.parent):
                make_folder(self._disk, path.parent)
            handle = self._disk.open(path, os.O_RDWR | os.O_CREAT)
        try:
            while True:
                try:
                    self._disk.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    # The kernel offers no awaitable lock; a blocking one in a thread could not be cancelled.
                    await asyncio.sleep(LOCK_POLL_SECONDS)
            yield
        finally:
            self._disk.close(handle)

    async def exists(self, thread_id: ThreadId) -> bool:
        return exists(self._disk, self._layout.thread(thread_id))

    async def ids(self) -> list[ThreadId]:
        """List the threads on disk; a foreign file in the folder is no thread."""
        with self._refusals(self._layout.threads):
            return thread_ids(names_in(self._disk, self._layout.threads))

    async def read(self, thread_id: ThreadId, position: Position) -> Tail:
        """Read the complete lines after a position; a last line still being written is left for later."""
        path = self._layout.thread(thread_id)
        try:
            with self._refusals(path), opened(self._disk, path, os.O_RDONLY) as handle:
                status = self._disk.fstat(handle)
                restarted = position.offset > 0 and not self._goes_on(handle, status, position)
                start = Position() if restarted else position
                data = read_from(self._disk, handle, start.offset)
        except FileNotFoundError:
            return Tail([], [], Position(), restarted=position.offset > 0)
        data = data[: data.rfind(b"\n") + 1]
        rows, problems, lines = split_lines(data, start.line + 1)
        if status.st_size == 0 and start.line == 0 and not self._is_new(thread_id):
            problems = [RowProblem(0, CUT)]
        end = Position(start.offset + len(data), start.line + lines, status.st_ino)
        return Tail(rows, problems, end, restarted)

    def _goes_on(self, handle: int, status: os.stat_result, position: Position) -> bool:
        """Return whether a file is the one that was read up to a position; others may bear its number."""
        is_same = status.st_ino == position.inode and status.st_size >= position.offset
        return is_same and self._disk.pread(handle, 1, position.offset - 1) == b"\n"

    def _is_new(self, thread_id: ThreadId) -> bool:
        """Return whether a thread was made without words and has none yet."""
        try:
            return decode_mark(read_file(self._disk, self._layout.mark(thread_id))).is_new
        except (OSError, ValueError):
            return False

    async def append(self, thread_id: ThreadId, rows: Sequence[UIMessage], *, waits: bool = True) -> None:
        """Append rows and put them on disk; a failed write leaves the file as it was."""
        path = self._layout.thread(thread_id)
        data = b"".join(map(encode_row, rows))
        loose = self._loose.pop(thread_id, range(0))
        with self._refusals(path):
            write = partial(append_to, self._disk, path, data, waits=waits, is_whole=_is_row, loose=loose)
            if waits:
                await pace_of(self._disk).wait(write)
                return
            start = write()
        self._loose[thread_id] = range(start, start + len(data))

    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
        """Make a thread with all its first rows, or none."""
        path = self._layout.thread(thread_id)
        try:
            with self._refusals(path):
                create_file(self._disk, path, b"".join(map(encode_row, rows)))
        except FileExistsError as error:
            raise UserError(f"thread {thread_id} exists already; choose another id") from error

    async def is_binned(self, thread_id: ThreadId) -> bool:
        return exists(self._disk, self._layout.thread_bin(thread_id))

    async def bin(self, thread_id: ThreadId) -> None:
        """Move a thread to the bin, from where it can be restored."""
        self._move(self._layout.thread(thread_id), self._layout.thread_bin(thread_id))

    async def restore(self, thread_id: ThreadId) -> None:
        """Bring a thread back from the bin."""
        self._move(self._layout.thread_bin(thread_id), self._layout.thread(thread_id))

    async def remove(self, thread_id: ThreadId) -> None:
        """Remove a thread for good, with what lies beside it."""
        for path in (
            self._layout.thread(thread_id),
            self._layout.sidecar(thread_id),
            self._layout.thread_lock(thread_id),
        ):
            with self._refusals(path):
                remove_file(self._disk, path)

    def _move(self, source: Path, target: Path) -> None:
        with self._refusals(source):
            if not exists(self._disk, source):
                raise NotFoundError(f"no such thread file: {source.name}")
            if exists(self._disk, target):
                raise UserError(f"{target.name} exists already in the {target.parent.name}; remove it first")
            move_file(self._disk, source, target)

    def _refusals(self, path: Path) -> AbstractContextManager[None]:
        return refusals(path, self._layout.root)


def thread_ids(names: Sequence[str]) -> list[ThreadId]:
    """Return the threads whose files have these names; other names are left out."""
    found: list[ThreadId] = []
    for name in names:
        if name.endswith(SUFFIX) and not name.startswith("."):
            with contextlib.suppress(ThreadIdError):
                found.append(ThreadId.decode(name.removesuffix(SUFFIX)))
    return found


def _is_row(line: bytes) -> bool:
    try:
        decode_row(line)
    except ValueError:
        return False
    return True

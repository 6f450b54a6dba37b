"""Keep the rows of threads: on disk as JSONL, or in memory for tests."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from shipmate.errors import NotFoundError, StorageError, ThreadIdError, UserError
from shipmate.thread.row import RowProblem, decode_row, encode_row, split_lines
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout, make_private, sync_folder

LOCK_POLL_SECONDS = 0.02


class Position(msgspec.Struct, frozen=True):
    """Mark how far a log has been read."""

    offset: int = 0
    line: int = 0
    inode: int = 0


class Tail(msgspec.Struct, frozen=True):
    """Carry the rows after a position. `restarted` says the log was replaced and was read from its start."""

    rows: list[UIMessage]
    problems: list[RowProblem]
    position: Position
    restarted: bool = False


class Log(Protocol):
    """Store rows durably and in order; `append` returns only once they would survive a power cut."""

    def lock(self, thread_id: ThreadId) -> AbstractAsyncContextManager[None]: ...
    async def exists(self, thread_id: ThreadId) -> bool: ...
    async def ids(self) -> list[ThreadId]: ...
    async def read(self, thread_id: ThreadId, position: Position) -> Tail: ...
    async def append(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None: ...
    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None: ...
    async def is_binned(self, thread_id: ThreadId) -> bool: ...
    async def bin(self, thread_id: ThreadId) -> None: ...
    async def restore(self, thread_id: ThreadId) -> None: ...


class FileLog:
    """Keep each thread as one JSONL file of the workspace."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @asynccontextmanager
    async def lock(self, thread_id: ThreadId) -> AsyncGenerator[None]:
        """Hold a thread alone, also against other processes on this machine; a dead holder's lock is free."""
        path = self._layout.thread_lock(thread_id)
        with _storage(path):
            make_private(path.parent)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    # The kernel offers no awaitable lock; a blocking one in a thread could not be cancelled.
                    await asyncio.sleep(LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(handle)

    async def exists(self, thread_id: ThreadId) -> bool:
        return self._layout.thread(thread_id).exists()

    async def ids(self) -> list[ThreadId]:
        """List the threads on disk; a foreign file in the folder is no thread."""
        found: list[ThreadId] = []
        if self._layout.threads.is_dir():
            for path in sorted(self._layout.threads.glob("*.jsonl")):
                with contextlib.suppress(ThreadIdError):
                    found.append(ThreadId.decode(path.stem))
        return found

    async def read(self, thread_id: ThreadId, position: Position) -> Tail:
        """Read the complete lines after a position; a last line still being written is left for later."""
        path = self._layout.thread(thread_id)
        try:
            with _storage(path), path.open("rb") as file:
                status = os.fstat(file.fileno())
                is_same = status.st_ino == position.inode and status.st_size >= position.offset
                restarted = position.offset > 0 and not is_same
                start = Position() if restarted else position
                file.seek(start.offset)
                data = file.read()
        except FileNotFoundError:
            return Tail([], [], Position(), restarted=position.offset > 0)
        data = data[: data.rfind(b"\n") + 1]
        rows, problems, lines = split_lines(data, start.line + 1)
        end = Position(start.offset + len(data), start.line + lines, status.st_ino)
        return Tail(rows, problems, end, restarted)

    async def append(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
        """Append rows and put them on disk; a failed write leaves the file as it was."""
        path = self._layout.thread(thread_id)
        data = b"".join(map(encode_row, rows))
        with _storage(path):
            is_new = not path.exists()
            if is_new:
                make_private(path.parent)
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                size = cut_torn_tail(handle)
                _write_all(handle, data, size)
            finally:
                os.close(handle)
            if is_new:
                sync_folder(path.parent)

    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
        """Make a thread with all its first rows, or none."""
        path = self._layout.thread(thread_id)
        with _storage(path):
            make_private(path.parent)
            # A link makes the file appear whole or not at all, and refuses an existing name.
            temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                try:
                    _write_all(handle, b"".join(map(encode_row, rows)), 0)
                finally:
                    os.close(handle)
                os.link(temporary, path)
            except FileExistsError as error:
                raise UserError(f"thread {thread_id} exists already; choose another id") from error
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(path.parent)

    async def is_binned(self, thread_id: ThreadId) -> bool:
        return self._layout.thread_bin(thread_id).exists()

    async def bin(self, thread_id: ThreadId) -> None:
        """Move a thread to the bin, from where it can be restored."""
        _move(self._layout.thread(thread_id), self._layout.thread_bin(thread_id))

    async def restore(self, thread_id: ThreadId) -> None:
        """Bring a thread back from the bin."""
        _move(self._layout.thread_bin(thread_id), self._layout.thread(thread_id))


def cut_torn_tail(handle: int) -> int:
    """Cut off a last line that a crash left unfinished; give the file's size."""
    size = os.fstat(handle).st_size
    end = size
    while end > 0:
        start = max(0, end - 65536)
        block = os.pread(handle, end - start, start)
        at = block.rfind(b"\n")
        if at >= 0:
            end = start + at + 1
            break
        end = start
    if end == size:
        return size
    if _is_row(os.pread(handle, size - end, end)):
        # A whole row that only lacks its newline, as an editor may leave it.
        os.write(handle, b"\n")
        return size + 1
    os.ftruncate(handle, end)
    return end


def _is_row(line: bytes) -> bool:
    try:
        decode_row(line)
    except ValueError:
        return False
    return True


def _write_all(handle: int, data: bytes, size: int) -> None:
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        _sync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise


# macOS has no fdatasync.
_sync = getattr(os, "fdatasync", os.fsync)


def _move(source: Path, target: Path) -> None:
    with _storage(source):
        make_private(target.parent)
        if not source.exists():
            raise NotFoundError(f"no such thread file: {source.name}")
        if target.exists():
            raise UserError(f"{target.name} exists already in the {target.parent.name}; remove it first")
        source.rename(target)
        sync_folder(target.parent)


@contextlib.contextmanager
def _storage(path: Path) -> Generator[None]:
    """Turn a refusal of the disk into a StorageError that names the file; absence passes through."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StorageError(
            f"cannot use {path}: {reason}. Nothing stored was lost; mend this and try again."
        ) from error

"""The calls on a disk that what must last is written with, and the few ways of writing made of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol
from weakref import WeakKeyDictionary

from shipmate.errors import StorageError

BLOCK = 65536
# The folder of a workspace whose own entries are put on disk as well.
SHIP = ".ship"


class Disk(Protocol):
    """The system's calls on files, and no more: a simulated disk can lose whatever was not synced."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int: ...
    def close(self, handle: int) -> None: ...
    def write(self, handle: int, data: bytes) -> int: ...
    def pread(self, handle: int, size: int, offset: int) -> bytes: ...
    def ftruncate(self, handle: int, size: int) -> None: ...
    def fstat(self, handle: int) -> os.stat_result: ...
    def stat(self, path: Path) -> os.stat_result: ...
    def fdatasync(self, handle: int) -> None: ...
    def fsync(self, handle: int) -> None: ...
    def rename(self, source: Path, target: Path) -> None: ...
    def link(self, source: Path, target: Path) -> None: ...
    def unlink(self, path: Path) -> None: ...
    def mkdir(self, path: Path, mode: int = 0o700) -> None: ...
    def listdir(self, path: Path) -> list[str]: ...
    def flock(self, handle: int, operation: int) -> None: ...


class OsDisk:
    """The disk of this machine."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, handle: int) -> None:
        os.close(handle)

    def write(self, handle: int, data: bytes) -> int:
        return os.write(handle, data)

    def pread(self, handle: int, size: int, offset: int) -> bytes:
        return os.pread(handle, size, offset)

    def ftruncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def fstat(self, handle: int) -> os.stat_result:
        return os.fstat(handle)

    def stat(self, path: Path) -> os.stat_result:
        return os.stat(path)  # noqa: PTH116  # asked dozens of times a turn; a Path costs as much again

    # macOS has no fdatasync.
    def fdatasync(self, handle: int) -> None:
        getattr(os, "fdatasync", os.fsync)(handle)

    def fsync(self, handle: int) -> None:
        os.fsync(handle)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def link(self, source: Path, target: Path) -> None:
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        path.mkdir(mode=mode)

    def listdir(self, path: Path) -> list[str]:
        return [entry.name for entry in path.iterdir()]

    def flock(self, handle: int, operation: int) -> None:
        fcntl.flock(handle, operation)


DISK = OsDisk()


# This and `refusals` are entered dozens of times a turn; a generator would cost several times as much.
class opened:  # noqa: N801
    """Holds a file open."""

    __slots__ = ("_disk", "_flags", "_handle", "_mode", "_path")

    def __init__(self, disk: Disk, path: Path, flags: int, mode: int = 0o600) -> None:
        self._disk = disk
        self._path = path
        self._flags = flags
        self._mode = mode

    def __enter__(self) -> int:
        self._handle = self._disk.open(self._path, self._flags, self._mode)
        return self._handle

    def __exit__(self, *_: object) -> None:
        self._disk.close(self._handle)


def read_from(disk: Disk, handle: int, offset: int = 0) -> bytes:
    """Return what a file holds from a place on."""
    pieces: list[bytes] = []
    # Less than was asked for need not be all there is: a disk that fails further on gives what lies before.
    while piece := disk.pread(handle, BLOCK * 16, offset):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


def read_file(disk: Disk, path: Path) -> bytes:
    """Return what a file holds."""
    with opened(disk, path, os.O_RDONLY) as handle:
        return read_from(disk, handle)


def write_all(disk: Disk, handle: int, data: bytes) -> None:
    """Write all of some bytes; one write may take only a part of them."""
    while data:
        data = data[disk.write(handle, data) :]


def exists(disk: Disk, path: Path) -> bool:
    """Return whether there is something at a path."""
    return stat_of(disk, path) is not None


def stat_of(disk: Disk, path: Path) -> os.stat_result | None:
    """Return what the system says of a path, or None when nothing is there."""
    try:
        return disk.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def names_in(disk: Disk, folder: Path) -> list[str]:
    """List what lies in a folder, in order; nothing when there is none."""
    try:
        return sorted(disk.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


# The entries that are known to be on disk, by the disk. A process that was killed may have left a name that
# no power cut survives, so each process puts the name of what it writes to on disk once.
_settled: WeakKeyDictionary[Disk, set[Path]] = WeakKeyDictionary()
SETTLED_LIMIT = 10_000


def make_folder(disk: Disk, folder: Path) -> None:
    """Create a folder and its parents, readable by the owner alone, each on disk before this returns."""
    if not exists(disk, folder):
        make_folder(disk, folder.parent)
        with contextlib.suppress(FileExistsError):
            disk.mkdir(folder)
        settle(disk, folder, is_new=True)
    elif SHIP in folder.parent.parts:
        make_folder(disk, folder.parent)
        settle(disk, folder)
    elif folder.name == SHIP:
        settle(disk, folder)


def settle(disk: Disk, path: Path, *, is_new: bool = False) -> None:
    """Put the name of a file or folder on disk, once a process unless it is new."""
    known = _settled.setdefault(disk, set())
    if is_new or path not in known:
        sync_entries(disk, path.parent)
        if len(known) >= SETTLED_LIMIT:
            known.clear()
        known.add(path)


def sync_entries(disk: Disk, folder: Path) -> None:
    """Put a folder's entries on disk, so that a new name survives a power cut."""
    with opened(disk, folder, os.O_RDONLY) as handle:
        disk.fsync(handle)


def replace_file(disk: Disk, path: Path, data: bytes) -> None:
    """Replace a file in one step, readable by its owner alone, on disk before this returns."""
    make_folder(disk, path.parent)
    temporary = write_beside(disk, path, data)
    try:
        disk.rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)
        raise
    settle(disk, path, is_new=True)


def create_file(disk: Disk, path: Path, data: bytes) -> None:
    """Make a file appear whole or not at all; raise FileExistsError when the name is taken."""
    make_folder(disk, path.parent)
    temporary = write_beside(disk, path, data)
    try:
        disk.link(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)
    settle(disk, path, is_new=True)


def write_beside(disk: Disk, path: Path, data: bytes) -> Path:
    """Put some bytes on disk under a passing name beside a path; nothing is left when the disk refuses."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with opened(disk, temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as handle:
            write_all(disk, handle, data)
            disk.fsync(handle)
    except OSError:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)
        raise
    return temporary


def cut_torn_tail(disk: Disk, handle: int, is_whole: Callable[[bytes], bool] | None = None) -> int:
    """Cut off a last line that a crash left unfinished; return the file's size.

    A line that lacks only its newline, as an editor may leave it, is whole and gets one.
    """
    size = end = disk.fstat(handle).st_size
    if size == 0 or disk.pread(handle, 1, size - 1) == b"\n":
        return size
    while end > 0:
        start = max(0, end - BLOCK)
        place = disk.pread(handle, end - start, start).rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if is_whole is not None and is_whole(read_from(disk, handle, end)):
        write_all(disk, handle, b"\n")
        return size + 1
    disk.ftruncate(handle, end)
    return end


def append_to(
    disk: Disk,
    path: Path,
    data: bytes,
    *,
    waits: bool = True,
    is_shared: bool = False,
    is_whole: Callable[[bytes], bool] | None = None,
    loose: range = range(0),
) -> int:
    """Append whole lines to a file and return where they begin; it stays as it was when the disk refuses.

    What `waits` is on disk before this returns; what does not survives a crash of the process, not a power
    cut. A file that `is_shared` is locked meanwhile: two processes may append to it. What ends the file and
    is still `loose`, because it did not wait, is put on disk first, or a power cut could leave the new
    lines without it; it goes too when the disk refuses.
    """
    is_new = False
    try:
        handle = disk.open(path, os.O_RDWR | os.O_APPEND)
    except (FileNotFoundError, NotADirectoryError):
        is_new = True
        make_folder(disk, path.parent)
        # Another file may have had the name before; this one's is put on disk with its first line that waits.
        _settled.setdefault(disk, set()).discard(path)
        handle = disk.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        if is_shared:
            disk.flock(handle, fcntl.LOCK_EX)
        size = cut_torn_tail(disk, handle, is_whole)
        is_loose = bool(loose) and size == loose.stop
        try:
            if is_loose:
                disk.fdatasync(handle)
            write_all(disk, handle, data)
            if waits:
                disk.fdatasync(handle)
        except OSError:
            # What others appended behind it meanwhile stays.
            if disk.fstat(handle).st_size <= size + len(data):
                disk.ftruncate(handle, loose.start if is_loose else size)
            raise
    finally:
        disk.close(handle)
    if waits and (is_new or path not in _settled.get(disk, ())):
        make_folder(disk, path.parent)
        settle(disk, path, is_new=is_new)
    return size


def move_file(disk: Disk, source: Path, target: Path) -> None:
    """Move a file to another folder; both folders are on disk before this returns."""
    make_folder(disk, target.parent)
    disk.rename(source, target)
    settle(disk, target, is_new=True)
    sync_entries(disk, source.parent)


def remove_file(disk: Disk, path: Path) -> bool:
    """Remove a file, and its name from disk; tell whether it was there."""
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return False
    sync_entries(disk, path.parent)
    return True


@contextmanager
def locked(disk: Disk, path: Path, kind: int = fcntl.LOCK_EX) -> Generator[None]:
    """Keep other processes out while this holds; the lock's own file need not last."""
    if not exists(disk, path.parent):
        make_folder(disk, path.parent)
    with opened(disk, path, os.O_RDWR | os.O_CREAT) as handle:
        disk.flock(handle, kind)
        yield


class refusals:  # noqa: N801
    """Turns a refusal of the disk into a StorageError that names the file; absence passes through."""

    __slots__ = ("_path", "_root")

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._root = root

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if not isinstance(error, OSError) or isinstance(error, FileNotFoundError | FileExistsError):
            return
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StorageError(
            f"cannot use {name_of(self._path, self._root)}: {reason}. "
            "Mend this, or free some space, and try again."
        ) from error


def name_of(path: Path, root: Path) -> str:
    """Return how a file is named to people: by its place in the workspace, never by one on the machine."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name

"""Tell how a path of a workspace stands: what is there, its mode and a digest of its content."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

CHUNK = 1 << 20
# With O_PATH a folder can be passed through that may be entered but not listed.
STEP_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
# The digest of a file that cannot be read; its size has to do.
UNREADABLE = "?"
SET_ID = 0o6000

Kind = Literal["absent", "file", "folder", "link", "special", "unreachable"]


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one path stands; `digest` is the SHA-256 of a file's content and the target of a link."""

    kind: Kind = "absent"
    mode: int = 0
    size: int = 0
    digest: str = ""

    def matches(self, other: State) -> bool:
        """Return whether two looks at a path saw the same."""
        if self.kind == other.kind == "folder":
            # What a folder inherits from its parent is nobody's change.
            return self.mode & ~SET_ID == other.mode & ~SET_ID
        if UNREADABLE in (self.digest, other.digest):
            return (self.kind, self.mode, self.size) == (other.kind, other.mode, other.size)
        return self == other


ABSENT = State()
UNREACHABLE = State("unreachable")


@contextmanager
def reach(root: Path, parts: Sequence[str]) -> Generator[int]:
    """Open the folder that holds a path, never through a link; raise OSError when it cannot be."""
    handle = os.open(root, STEP_FLAGS & ~os.O_NOFOLLOW)
    try:
        for part in parts[:-1]:
            inner = os.open(part, STEP_FLAGS, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def look(root: Path, path: str) -> State:
    """Return how a path stands; `unreachable` when its parents are no folders of the workspace."""
    parts = path.split("/")
    try:
        with reach(root, parts) as folder:
            return look_at(folder, parts[-1])
    except OSError:
        return UNREACHABLE


def look_at(folder: int, name: str) -> State:
    """Return how a name in an opened folder stands."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ABSENT
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return State("folder", mode)
    if stat.S_ISLNK(status.st_mode):
        return State("link", digest=os.readlink(name, dir_fd=folder))
    if not stat.S_ISREG(status.st_mode):
        return State("special", mode)
    return State("file", mode, status.st_size, _digest(folder, name))


def list_names(root: Path, path: str) -> list[str]:
    """Return the sorted names in a folder of the workspace."""
    parts = [*(path.split("/") if path else []), "."]
    with reach(root, parts) as folder:
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            return sorted(os.listdir(handle))  # noqa: PTH208 - of an opened folder
        finally:
            os.close(handle)


def read_file(root: Path, path: str, limit: int) -> bytes | None:
    """Return a file's content; None for one that is larger than `limit` or cannot be read."""
    parts = path.split("/")
    with contextlib.suppress(OSError), reach(root, parts) as folder, _opened(folder, parts[-1]) as handle:
        if os.fstat(handle).st_size <= limit:
            with os.fdopen(os.dup(handle), "rb") as file:
                data = file.read(limit + 1)
            return data if len(data) <= limit else None
    return None


@contextmanager
def open_at(root: Path, path: str) -> Generator[int]:
    """Open a file for reading, never through a link."""
    parts = path.split("/")
    with reach(root, parts) as folder, _opened(folder, parts[-1]) as handle:
        yield handle


@contextmanager
def _opened(folder: int, name: str) -> Generator[int]:
    handle = os.open(name, READ_FLAGS, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a file", name)
        yield handle
    finally:
        os.close(handle)


def _digest(folder: int, name: str) -> str:
    try:
        with _opened(folder, name) as handle:
            return digest_of(handle)
    except PermissionError:
        return UNREADABLE


def digest_of(handle: int) -> str:
    """Return the SHA-256 of what is left to read in an opened file."""
    digest = hashlib.sha256()
    while piece := os.read(handle, CHUNK):
        digest.update(piece)
    return digest.hexdigest()

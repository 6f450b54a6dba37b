"""Reach files inside a folder without ever leaving it, even while someone swaps the path underneath.

Every step opens one name relative to an already opened folder and never lets the kernel follow a link. Links
are read and walked by hand, so a link that leads outside is refused, and one that is swapped in after it was
looked at fails to open. What a caller then reads or writes is the opened file itself, not its path.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.file.protection import Check, names_state, refuse_reading

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
LINK_LIMIT = 40
PATH_LIMIT = 4096
DEPTH_LIMIT = 100

# Folders on the way that do not exist are an error, are made, or are only named.
Parents = Literal["needed", "made", "named"]


@dataclass(frozen=True, slots=True)
class Place:
    """A name in an opened folder; links on the way are resolved, the name itself is no link."""

    root: Path
    # The opened folder the name stands in; without a parent, the last one on the way that exists.
    folder: int
    name: str
    parts: tuple[str, ...]
    has_parent: bool = True

    @property
    def path(self) -> str:
        """Return the path from the confining folder."""
        return "/".join(self.parts) or "."


@contextmanager
def locate(
    root: Path,
    path: str,
    check: Check = refuse_reading,
    *,
    parents: Parents = "needed",
    expected: str | None = None,
) -> Generator[Place, None, None]:
    """Walk to a path inside `root`, to end at the `expected` real path; the last name need not exist."""
    steps = split(root, path)
    with ExitStack() as opened, explain(path):
        walk = _Walk(root, path, opened, check, parents, expected)
        place = walk.go(steps)
        walk.refuse(place.parts)
        if names_state(place.parts) and not names_state(steps):
            # What a path says decides whether what it gives is trusted.
            raise ToolError(f"{path} is a link to {place.path}. Use that path itself.")
        walk.compare(place.parts)
        yield place


def is_reached(place: Place) -> bool:
    """Return whether the real path of a place, walked anew, still leads to the folder that was opened."""
    with ExitStack() as opened:
        try:
            folder = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, folder)
            for part in place.parts[:-1]:
                folder = os.open(part, FOLDER_FLAGS, dir_fd=folder)
                opened.callback(os.close, folder)
        except OSError:
            return False
        return os.path.samestat(os.fstat(folder), os.fstat(place.folder))


@contextmanager
def open_file(root: Path, path: str) -> Generator[tuple[int, os.stat_result, Place], None, None]:
    """Open a file or a folder inside `root` for reading."""
    with locate(root, path) as place:
        handle = os.open(place.name or ".", FILE_FLAGS, dir_fd=place.folder)
        try:
            status = os.fstat(handle)
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                raise ToolError(f"{path} is neither a file nor a folder.")
            yield handle, status, place
        finally:
            os.close(handle)


def read_bytes(root: Path, path: str, limit: int) -> bytes:
    """Read a whole file inside `root`; more than `limit` bytes are an error."""
    with locate(root, path) as place:
        return read_place(place, limit)


def read_place(place: Place, limit: int) -> bytes:
    """Read the whole file at a place; more than `limit` bytes are an error."""
    handle = os.open(place.name or ".", FILE_FLAGS, dir_fd=place.folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ToolError(f"{place.path} is a folder or a special file; give the path of a file.")
        data = read_up_to(handle, limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise ToolError(f"{place.path} is larger than {limit:,} bytes, the most this tool takes.")
    return data


def read_up_to(handle: int, limit: int) -> bytes:
    """Read at most `limit` bytes."""
    pieces: list[bytes] = []
    while limit > 0 and (piece := os.read(handle, min(limit, 1 << 20))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def split(root: Path, path: str) -> list[str]:
    """Break a path as a model writes it into steps from `root`."""
    if not path or "\0" in path:
        raise ToolError("The path is empty or holds a NUL character. Give a path inside the workspace.")
    if len(path.encode("utf-8", "surrogatepass")) > PATH_LIMIT:
        raise ToolError(f"The path is longer than {PATH_LIMIT} bytes.")
    if path == "~" or path.startswith("~/"):
        raise ToolError("The home folder is out of reach. Give a path inside the workspace.")
    steps = _steps(_inside(root, path))
    if len(steps) > DEPTH_LIMIT:
        raise ToolError(f"The path is deeper than {DEPTH_LIMIT} folders.")
    return steps


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _inside(root: Path, path: str) -> str:
    """Turn an absolute path under `root` into a relative one."""
    if not path.startswith("/"):
        return path
    for base in (root, root.resolve()):
        if PurePosixPath(path).is_relative_to(base):
            return path[len(str(base)) :]
    raise _outside(path)


def _outside(path: str) -> ToolError:
    return ToolError(f"{path} leaves the workspace. Give a path inside it, such as notes/plan.md.")


@contextmanager
def explain(path: str) -> Generator[None, None, None]:
    """Turn what the system says about a path into words a model can act on."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ToolError("The path holds characters no file name can have.") from error
    except OSError as error:
        raise ToolError(f"{path}: {_words_for(error)}") from error


def _words_for(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT:
            return "there is no such file or folder. Use glob to see what exists."
        case errno.ENOTDIR:
            return "a file stands where the path needs a folder."
        case errno.ELOOP | errno.EMLINK:
            return "the path changed while it was being opened, or its links run in a circle."
        case errno.ENAMETOOLONG:
            return "a name in the path is too long."
        case errno.EACCES | errno.EPERM:
            return "the system does not permit it."
        case _:
            return f"{(error.strerror or 'it cannot be used').lower()}."


class _Walk:
    """Steps from folder to folder, resolving links by hand."""

    def __init__(
        self, root: Path, path: str, opened: ExitStack, check: Check, parents: Parents, expected: str | None
    ) -> None:
        self.root = root
        self.path = path
        self.opened = opened
        self.check = check
        self.parents = parents
        self.expected = expected
        self.links = 0
        self.folders = [self._keep(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))]
        self.names: list[str] = []

    def go(self, steps: Sequence[str]) -> Place:
        """Take all steps and give where they end."""
        ahead = deque(steps)
        while ahead:
            step = ahead.popleft()
            if step == "..":
                self._leave()
            elif (target := self._link(step)) is not None:
                # A name that is closed to tools stays closed when it is a link to another.
                self.refuse((*self.names, step, *ahead))
                ahead.extendleft(reversed(self._follow(target)))
            elif not ahead:
                return Place(self.root, self.folders[-1], step, (*self.names, step))
            elif not self._enter(step, ahead):
                rest = (*self.names, step, *ahead)
                return Place(self.root, self.folders[-1], rest[-1], rest, has_parent=False)
        return Place(self.root, self.folders[-1], "", tuple(self.names))

    def refuse(self, parts: Sequence[str]) -> None:
        """Stop where tools have no business."""
        if reason := self.check(parts):
            raise ToolError(f"{self.path}: not available to tools: {reason}.")

    def compare(self, parts: Sequence[str]) -> None:
        """Stop where the path no longer leads to what a person approved."""
        if self.expected is not None and self.expected != "/".join(parts):
            raise TargetChangedError(
                f"{self.path} leads elsewhere than when it was shown: to {'/'.join(parts)}. Nothing was done."
            )

    def _keep(self, handle: int) -> int:
        self.opened.callback(os.close, handle)
        return handle

    def _link(self, step: str) -> str | None:
        try:
            return os.readlink(step, dir_fd=self.folders[-1])
        except OSError as error:
            # EINVAL: exists and is no link. ENOENT: the opening that follows will say so, or create it.
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _follow(self, target: str) -> list[str]:
        self.links += 1
        if self.links > LINK_LIMIT:
            raise OSError(errno.ELOOP, "too many links")
        if target.startswith("/"):
            del self.folders[1:], self.names[:]
        try:
            return _steps(_inside(self.root, target))
        except ToolError as error:
            raise _outside(self.path) from error

    def _leave(self) -> None:
        if not self.names:
            raise _outside(self.path)
        self.names.pop()
        self.folders.pop()

    def _enter(self, step: str, ahead: Sequence[str]) -> bool:
        """Go into a folder; False when it is missing and is only to be named."""
        folder = self.folders[-1]
        try:
            handle = os.open(step, FOLDER_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            if self.parents == "needed" or ".." in ahead:
                raise
            # Nothing exists from here on, so the rest of the path is what it says.
            self.refuse((*self.names, step, *ahead))
            self.compare((*self.names, step, *ahead))
            if self.parents == "named":
                return False
            os.mkdir(step, 0o755, dir_fd=folder)
            # What is put into it would be lost with it.
            os.fsync(folder)
            handle = os.open(step, FOLDER_FLAGS, dir_fd=folder)
        self.folders.append(self._keep(handle))
        self.names.append(step)
        return True

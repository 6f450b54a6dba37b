"""Put new content in place of a file, only while the file stands as it was read."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from functools import cache
from typing import TYPE_CHECKING

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.file.confine import Place, is_reached
from shipmate.tools.file.target import FileState, read_state_of

if TYPE_CHECKING:
    from collections.abc import Callable

NEW_FILE_MODE = 0o644
NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# The call that takes flags, by system.
CALLS = {"linux": "renameat2", "darwin": "renameatx_np"}
INTO_FREE = 4 if sys.platform == "darwin" else 1
IN_EXCHANGE = 2
# How systems and file systems say that they cannot rename this way.
LACKING = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def replace_bytes(place: Place, data: bytes, before: FileState | None) -> None:
    """Put a file's new content in place in one step, on disk before this returns; keeps the file's mode.

    Raises `TargetChangedError`, with everything as it was, when the file is no longer what `before` says.
    """
    if not place.name:
        raise ToolError("The workspace itself is a folder, not a file.")
    new = _New(place, data, before)
    try:
        is_done = new.put() if before is None else new.swap(before)
    finally:
        new.clear()
    if not is_done:
        raise TargetChangedError(f"{place.path} has changed since it was read. Nothing was written.")
    os.fsync(place.folder)


class _New:
    """New content under a name of its own beside the file, until it takes the file's place."""

    def __init__(self, place: Place, data: bytes, before: FileState | None) -> None:
        self._place = place
        self._folder = place.folder
        self._name = f".{secrets.token_hex(8)}.tmp"
        handle = os.open(self._name, NEW_FILE_FLAGS, 0o600, dir_fd=self._folder)
        # Only what this object made, or took out and found to be as expected, may be deleted.
        self._owned = {_identity(os.fstat(handle))}
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), before.mode & 0o777 if before else NEW_FILE_MODE)
                os.fsync(file.fileno())
        except OSError:
            self.clear()
            raise

    def put(self) -> bool:
        """Take a name nobody has; False when somebody has it, or the path leads elsewhere by now."""
        try:
            _insert(self._folder, self._name, self._place.name)
        except FileExistsError:
            return False
        if is_reached(self._place):
            return True
        self._take_out()
        return False

    def swap(self, before: FileState) -> bool:
        """Change places with the file; change back and give False when that was not what is expected."""
        try:
            exchange(self._folder, self._name, self._place.name)
        except FileNotFoundError:
            return False
        except LackingError:
            return self._overwrite(before)
        taken = self._at(self._name)
        if self._holds(self._name, before) and is_reached(self._place):
            self._own(taken)
            return True
        self._swap_back(taken)
        return False

    def clear(self) -> None:
        """Delete what is left under the name of its own; what is not ours is left alone."""
        if self._at(self._name) in self._owned:
            os.unlink(self._name, dir_fd=self._folder)

    def _swap_back(self, taken: tuple[int, int] | None) -> None:
        try:
            exchange(self._folder, self._name, self._place.name)
            if self._at(self._name) not in self._owned:
                # Somebody replaced our file meanwhile: theirs is the newest, and stands for what we took out.
                exchange(self._folder, self._name, self._place.name)
                self._own(taken)
        except FileNotFoundError:
            # Somebody removed our file meanwhile; what we took out goes back unless the name is taken again.
            _insert(self._folder, self._name, self._place.name)

    def _own(self, taken: tuple[int, int] | None) -> None:
        if taken is not None:
            self._owned.add(taken)

    def _take_out(self) -> None:
        _insert(self._folder, self._place.name, self._name)
        if self._at(self._name) not in self._owned:
            _insert(self._folder, self._name, self._place.name)

    def _overwrite(self, before: FileState) -> bool:
        """Replace the file where the file system cannot exchange two: checked first, then renamed."""
        if not (self._holds(self._place.name, before) and is_reached(self._place)):
            return False
        os.rename(self._name, self._place.name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return True

    def _holds(self, name: str, before: FileState) -> bool:
        try:
            found = read_state_of(self._folder, name, name)
        except (OSError, ToolError):
            return False
        return (found.digest, found.mode) == (before.digest, before.mode)

    def _at(self, name: str) -> tuple[int, int] | None:
        try:
            return _identity(os.stat(name, dir_fd=self._folder, follow_symlinks=False))
        except FileNotFoundError:
            return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _insert(folder: int, name: str, free: str) -> None:
    """Put a file under a free name, by a second link where the file system cannot rename so."""
    try:
        insert(folder, name, free)
    except LackingError:
        try:
            os.link(name, free, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise
            _insert_unlinked(folder, name, free)
        else:
            os.unlink(name, dir_fd=folder)


def _insert_unlinked(folder: int, name: str, free: str) -> None:
    """Put a file under a free name where there are no links either: looked at first, then renamed."""
    try:
        os.stat(free, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(name, free, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), free)


class LackingError(OSError):
    """This file system cannot rename in that way."""


def insert(folder: int, name: str, free: str) -> None:
    """Rename a file to a name that must be free, or raise `FileExistsError`."""
    _rename(folder, name, free, INTO_FREE)


def exchange(folder: int, name: str, other: str) -> None:
    """Let two names change places in one step; neither is followed when it is a link."""
    _rename(folder, name, other, IN_EXCHANGE)


def _rename(folder: int, name: str, other: str, flags: int) -> None:
    call = _call()
    if call is None:
        raise LackingError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    number = call(folder, os.fsencode(name), folder, os.fsencode(other), flags)
    if number in LACKING:
        raise LackingError(number, os.strerror(number))
    if number:
        raise OSError(number, os.strerror(number), other)


@cache
def _call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """Return the system's call, made to return the error's number; None where there is none."""
    # Only what changes files pays for loading it.
    import ctypes

    if sys.platform not in CALLS:
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), CALLS[sys.platform], None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def call(folder: int, name: bytes, other_folder: int, other: bytes, flags: int) -> int:
        return 0 if function(folder, name, other_folder, other, flags) == 0 else ctypes.get_errno()

    return call

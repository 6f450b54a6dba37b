"""Rename so that nothing is overwritten unseen: into a free name alone, or in exchange for what is there."""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The call that takes flags, by system.
CALLS = {"linux": "renameat2", "darwin": "renameatx_np"}
INTO_FREE = 4 if sys.platform == "darwin" else 1
IN_EXCHANGE = 2
# How systems and file systems say that they cannot rename this way.
LACKING = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


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

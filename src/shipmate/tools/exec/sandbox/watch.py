"""Learn from the kernel which folders changed, so that not all have to be asked each time."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from pathlib import Path

# Entries made, removed or moved, and the folder itself removed or moved. Links are not followed.
CHANGES = 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
ONLY_FOLDERS, NO_LINKS, OVERFLOW = 0x01000000, 0x02000000, 0x4000
EVENT = struct.Struct("iIII")
READ_BYTES = 1 << 18
# Elsewhere others may change files without this machine's knowing.
LOCAL = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})


class TreeWatch:
    """A watch on many folders."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._handle = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            raise OSError(ctypes.get_errno(), "inotify is not available")
        weakref.finalize(self, os.close, self._handle)
        self._paths: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def add(self, path: str) -> bool:
        """Watch a folder from now on; False when no more can be watched."""
        mask = CHANGES | ONLY_FOLDERS | NO_LINKS
        number = self._library.inotify_add_watch(self._handle, os.fsencode(path), mask)
        if number < 0:
            # One that is gone, or no folder any more, is found out when it is read.
            return ctypes.get_errno() in (2, 20, 40)
        self._paths[number] = path
        self._numbers[path] = number
        return True

    def remove(self, path: str) -> None:
        """Watch a folder no more."""
        number = self._numbers.pop(path, None)
        if number is not None and self._paths.get(number) == path:
            del self._paths[number]
            self._library.inotify_rm_watch(self._handle, number)

    def take(self) -> set[str] | None:
        """Return the folders that changed since the last time; None when too many did to be told."""
        changed: set[str] = set()
        is_known = True
        while True:
            try:
                data = os.read(self._handle, READ_BYTES)
            except BlockingIOError:
                return changed if is_known else None
            at = 0
            while at < len(data):
                number, mask, _, size = EVENT.unpack_from(data, at)
                at += EVENT.size + size
                is_known = is_known and not mask & OVERFLOW
                if (path := self._paths.get(number)) is not None:
                    changed.add(path)


def is_local(root: str) -> bool:
    """Return whether all files below a folder lie on file systems that report every change."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return False
    mounts = [(line.split(" ")[4], line.partition(" - ")[2].split(" ")[0]) for line in lines]
    below = {kind for place, kind in mounts if place.startswith(root + "/") or place == root}
    around = [(place, kind) for place, kind in mounts if (root + "/").startswith(place.rstrip("/") + "/")]
    nearest = max(around, key=lambda mount: len(mount[0]), default=("", ""))[1]
    return nearest in LOCAL and below <= LOCAL

"""Record what is put on disk, so that tests can tell what a power cut would leave."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shipmate.workspace.disk.disk import OsDisk


class Disk:
    """What was synced: of each file how long it was then, of each folder which names it had."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._names: dict[int, set[str]] = {}

    def record(self, sync: Callable[[int], None]) -> Callable[[int], None]:
        """Return a function that syncs and takes note of it."""

        def recorded(handle: int) -> None:
            sync(handle)
            status = os.fstat(handle)
            if os.path.isdir(f"/proc/self/fd/{handle}"):  # noqa: PTH112 - a link to what has no path
                self._names[status.st_ino] = set(os.listdir(handle))
            else:
                self._sizes[status.st_ino] = status.st_size

        return recorded

    def names(self, folder: Path) -> set[str]:
        """Return the names that a folder would have after a power cut."""
        return self._names.get(folder.stat().st_ino, set())

    def holds(self, path: Path) -> bool:
        """Tell whether all of a file, and its name in its folder, would be there after a power cut."""
        status = path.lstat()
        is_named = path.name in self.names(path.parent)
        return is_named and (path.is_dir() or self._sizes.get(status.st_ino) == status.st_size)


def record_syncs(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Record every sync from now on."""
    disk = Disk()
    for module, name in ((os, "fsync"), (os, "fdatasync")):
        monkeypatch.setattr(module, name, disk.record(getattr(module, name)))
    return disk


class ImpatientDisk(OsDisk):
    """A disk that raises BlockingIOError instead of waiting for a lock that somebody holds."""

    def flock(self, handle: int, operation: int) -> None:
        """Take a lock that is free."""
        super().flock(handle, operation | fcntl.LOCK_NB)

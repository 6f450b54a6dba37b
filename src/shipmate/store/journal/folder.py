"""Notice that a folder's entries changed, without reading them."""

from __future__ import annotations

import time
from pathlib import Path

from shipmate.workspace.disk.disk import Disk, stat_of

# Two changes within one tick of the system's clock bear one time.
TICK_NANOSECONDS = 100_000_000


class FolderWatch:
    """One folder whose files are only ever replaced, made or removed whole."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder
        self._seen: tuple[int, int] | None = None

    def look(self) -> bool:
        """Return whether the folder may have changed since the last look."""
        status = stat_of(self._disk, self._folder)
        if status is None:
            self._seen = None
            return True
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp == self._seen:
            return False
        is_settled = time.time_ns() - status.st_mtime_ns > TICK_NANOSECONDS
        self._seen = stamp if is_settled else None
        return True

    def forget(self) -> None:
        """Take the folder as changed."""
        self._seen = None

"""Threads that may differ from the index although all were compared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shipmate.store.entry import stamp_of
from shipmate.thread.log import thread_ids
from shipmate.workspace.disk.disk import Disk, names_in, refusals, stat_of
from shipmate.workspace.layout import Layout


class Overlooked:
    """The threads the disk refused to read, and those that a process moved before it was killed."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk
        self.refused: set[str] = set()
        # How the folder of the bin was when it was last looked at.
        self._stamp = ""

    def find(self, binned: Callable[[], Iterable[str]]) -> set[str]:
        """Return the threads to read anew; `binned` lists those the index has in the bin."""
        with refusals(self._layout.bin, self._layout.root):
            status = stat_of(self._disk, self._layout.bin)
            stamp = stamp_of(status) if status else ""
            if stamp == self._stamp:
                return set(self.refused)
            names = names_in(self._disk, self._layout.bin)
        self._stamp = stamp
        return self.refused | (set(map(str, thread_ids(names))) ^ set(binned()))

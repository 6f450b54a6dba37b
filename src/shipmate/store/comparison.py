"""Find the threads whose files differ from the index: all of them, or those that may have been overlooked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from shipmate.store.entry import stamp_of
from shipmate.store.journal.mark import MarkFiles
from shipmate.thread.log import thread_ids
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk, names_in, refusals, stat_of
from shipmate.workspace.layout import Layout

Item = TypeVar("Item")
# How long the event loop is kept at a time.
TURN_SECONDS = 0.005


class ThreadFile(NamedTuple):
    """One thread's file, as it lies there."""

    thread_id: ThreadId
    binned: bool
    stamp: str
    at: int


async def compare_files(
    layout: Layout, disk: Disk, marks: MarkFiles, stamps: Callable[[], Mapping[str, tuple[str, str, bool]]]
) -> tuple[list[ThreadFile], list[str]]:
    """Return the threads whose files differ from `stamps`, the oldest first, and those without one."""
    found: dict[str, ThreadFile] = {}
    for folder, binned in ((layout.bin, True), (layout.threads, False)):
        with refusals(folder, layout.root):
            ids = thread_ids(names_in(disk, folder))
        async for parsed in _in_turns(ids):
            path = layout.thread_bin(parsed) if binned else layout.thread(parsed)
            with refusals(path, layout.root):
                status = stat_of(disk, path)
            if status is not None:
                found[str(parsed)] = ThreadFile(parsed, binned, stamp_of(status), status.st_mtime_ns)
    known = stamps()
    marked = set(names_in(disk, layout.marks))
    todo: list[ThreadFile] = []
    async for name, each in _in_turns(list(found.items())):
        has_mark = layout.mark(each.thread_id).name in marked
        mark_stamp = marks.stamp(each.thread_id) if has_mark else ""
        if known.get(name) != (each.stamp, mark_stamp, each.binned):
            todo.append(each)
    todo.sort(key=lambda each: each.at)
    return todo, [name for name in known if name not in found]


async def _in_turns(items: Sequence[Item]) -> AsyncGenerator[Item]:
    """Go over items without keeping the event loop for long."""
    began = time.monotonic()
    for item in items:
        yield item
        if time.monotonic() - began > TURN_SECONDS:
            await asyncio.sleep(0)
            began = time.monotonic()


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

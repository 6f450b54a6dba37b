"""Marks of threads: `.ship/marks/<thread>.json` is the truth of given title, member, archive and settings."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from shipmate.thread.mark import ThreadMark, decode_mark, encode_mark
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import (
    Disk,
    locked,
    move_file,
    read_file,
    refusals,
    remove_file,
    replace_file,
    stat_of,
)
from shipmate.workspace.layout import Layout

log = logging.getLogger(__name__)


class MarkFiles:
    """The marks of all threads; several processes may change them."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk

    def read(self, thread_id: ThreadId) -> ThreadMark | None:
        """Return the marks of a thread, or None when it has none; an unreadable file is set aside."""
        path = self._layout.mark(thread_id)
        with refusals(path, self._layout.root):
            try:
                return decode_mark(read_file(self._disk, path))
            except FileNotFoundError:
                return None
            except ValueError:
                self._set_aside(thread_id)
                return None

    def stamp(self, thread_id: ThreadId) -> str:
        """Return what changes with the file; empty when there is none."""
        path = self._layout.mark(thread_id)
        with refusals(path, self._layout.root):
            status = stat_of(self._disk, path)
        return "" if status is None else f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"

    def create(self, thread_id: ThreadId, mark: ThreadMark) -> None:
        """Put the first marks of a thread on disk."""
        with self._lock():
            self._write(thread_id, mark)

    def change(self, thread_id: ThreadId, values: Mapping[str, Any]) -> ThreadMark:
        """Change some marks of a thread, alone among all processes; they are on disk when this returns."""
        with self._lock():
            known = self.read(thread_id) or ThreadMark()
            changed = msgspec.structs.replace(known, **values)
            if changed != known:
                self._write(thread_id, changed)
            return changed

    def remove(self, thread_id: ThreadId) -> None:
        """Remove the marks of a thread."""
        path = self._layout.mark(thread_id)
        with refusals(path, self._layout.root):
            remove_file(self._disk, path)

    @contextmanager
    def _lock(self) -> Generator[None]:
        path = self._layout.marks / ".lock"
        with refusals(path, self._layout.root), locked(self._disk, path):
            yield

    def _write(self, thread_id: ThreadId, mark: ThreadMark) -> None:
        path = self._layout.mark(thread_id)
        with refusals(path, self._layout.root):
            replace_file(self._disk, path, encode_mark(mark))

    def _set_aside(self, thread_id: ThreadId) -> None:
        path = self._layout.mark(thread_id)
        stamp = timestamp().replace(":", "").replace(".", "")
        kept = self._layout.damaged / f"mark-{stamp}-{path.name}"
        move_file(self._disk, path, kept)
        names = self._layout.name_of(path), self._layout.name_of(kept)
        log.warning("%s cannot be read; it was set aside as %s", *names)

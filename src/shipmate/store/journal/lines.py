"""An append-only file of JSON lines that one process writes; what cannot be read is set aside and named."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from shipmate.errors import StorageError
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import Disk, append_to, read_file, refusals, replace_file
from shipmate.workspace.disk.pace import pace_of
from shipmate.workspace.layout import Layout

log = logging.getLogger(__name__)
# A file is written anew when it has this many lines for each one it needs, and is not small.
WASTE = 4
SMALL = 500


class LineFile:
    """The lines of one journal, each a struct."""

    def __init__(self, layout: Layout, path: Path, disk: Disk) -> None:
        self._layout = layout
        self._path = path
        self._disk = disk
        self._count = 0
        self._next_compaction = SMALL
        # Set when the disk refused a line: whether it is there, and stays, is not known. The file is read and
        # written anew before it is used again.
        self.is_doubtful = False

    def load(self, apply: Callable[[bytes], None]) -> bool:
        """Apply each line; return whether any had to be set aside. A torn last line never counted.

        `apply` raises a msgspec error for a line it cannot read.
        """
        with refusals(self._path, self._layout.root):
            try:
                data = read_file(self._disk, self._path)
            except FileNotFoundError:
                data = b""
        lines = data.split(b"\n")[:-1]
        self._count, self._next_compaction = len(lines), SMALL
        broken: list[bytes] = []
        for line in lines:
            try:
                apply(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                broken.append(line)
        if broken:
            self._set_aside(broken)
        return bool(broken)

    def append(self, *lines: msgspec.Struct, waits: bool) -> None:
        """Append lines; what `waits` is on disk before this returns."""
        self._append(_encode(lines), waits=waits)
        self._count += len(lines)

    async def append_durably(self, *lines: msgspec.Struct) -> None:
        """Append lines that are on disk before this returns; others may append meanwhile."""
        await pace_of(self._disk).wait(partial(self._append, _encode(lines), waits=True))
        self._count += len(lines)

    def settle(self) -> None:
        """Put on disk what a process wrote that ended before it had waited for it."""
        self._append(b"", waits=True)

    def _append(self, data: bytes, *, waits: bool) -> None:
        try:
            with refusals(self._path, self._layout.root):
                append_to(self._disk, self._path, data, waits=waits)
        except BaseException:
            self.is_doubtful = True
            raise

    def replace(self, lines: Sequence[msgspec.Struct]) -> None:
        """Put other lines in the place of all there are, in one step."""
        with refusals(self._path, self._layout.root):
            replace_file(self._disk, self._path, _encode(lines))
        self.is_doubtful = False
        self._count = len(lines)

    def compact(self, needed: int, lines: Callable[[], Sequence[msgspec.Struct]]) -> None:
        """Write the file anew when it is much longer than what it holds."""
        if self._count < max(self._next_compaction, WASTE * needed):
            return
        # The old file still says all; when the disk refuses, it is tried again after as many lines.
        with contextlib.suppress(StorageError):
            self.replace(lines())
        self._next_compaction = self._count + SMALL

    def _set_aside(self, broken: Sequence[bytes]) -> None:
        """Keep lines that cannot be read in a file of their own, and say where."""
        stamp = timestamp().replace(":", "").replace(".", "")
        kept = self._layout.damaged / f"{self._path.stem}-{stamp}{self._path.suffix}"
        with refusals(kept, self._layout.root):
            append_to(self._disk, kept, b"".join(line + b"\n" for line in broken))
        log.warning(
            "%d lines of %s cannot be read; they were set aside in %s",
            len(broken),
            self._layout.name_of(self._path),
            self._layout.name_of(kept),
        )


def _encode(lines: Sequence[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)

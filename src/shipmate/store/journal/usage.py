"""What runs used: `.ship/usage/YYYY-MM.jsonl` is the truth, a line a step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from shipmate.store.port import StepUsage
from shipmate.workspace.disk.disk import Disk, append_to, names_in, opened, read_from, refusals, stat_of
from shipmate.workspace.layout import Layout

_decoder = msgspec.json.Decoder(StepUsage)


class UsagePlace(NamedTuple):
    """Where a line stands."""

    path: Path
    start: int
    end: int


class UsageFiles:
    """The months of one workspace; several processes may append."""

    def __init__(self, layout: Layout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk

    def append(self, usage: StepUsage) -> UsagePlace:
        """Note what a step used. A power cut may take the last lines; the answer does not wait for them."""
        path = self._layout.usage / f"{usage.at[:7]}.jsonl"
        line = msgspec.json.encode(usage) + b"\n"
        with refusals(path, self._layout.root):
            start = append_to(self._disk, path, line, waits=False, is_shared=True)
        return UsagePlace(path, start, start + len(line))

    def is_last(self, place: UsagePlace) -> bool:
        """Return whether nothing was written behind a line."""
        with refusals(place.path, self._layout.root):
            status = stat_of(self._disk, place.path)
        return status is not None and status.st_size == place.end

    def months(self) -> Iterator[tuple[str, int, int]]:
        """Go over the files: name, inode and size."""
        with refusals(self._layout.usage, self._layout.root):
            for name in names_in(self._disk, self._layout.usage):
                status = stat_of(self._disk, self._layout.usage / name)
                if name.endswith(".jsonl") and status is not None:
                    yield name, status.st_ino, status.st_size

    def read(self, name: str, offset: int) -> tuple[list[StepUsage], int]:
        """Return the steps behind a place in a file, and the place behind them."""
        whole = self._read_lines(name, offset)
        return [step for line in whole.splitlines() if (step := _decode(line))], offset + len(whole)

    def read_run(self, name: str, offset: int, run_id: str) -> list[StepUsage]:
        """Return the steps of one run behind a place in a file."""
        mark = msgspec.json.encode(run_id)
        lines = (line for line in self._read_lines(name, offset).splitlines() if mark in line)
        return [step for line in lines if (step := _decode(line)) and step.run_id == run_id]

    def _read_lines(self, name: str, offset: int) -> bytes:
        path = self._layout.usage / name
        with refusals(path, self._layout.root), opened(self._disk, path, os.O_RDONLY) as handle:
            data = read_from(self._disk, handle, offset)
        return data[: data.rfind(b"\n") + 1]


def _decode(line: bytes) -> StepUsage | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None

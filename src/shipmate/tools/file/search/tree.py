"""Walk the files below a folder of the workspace, by opened folders, never through links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shipmate.tools.file.confine import DEPTH_LIMIT, FILE_FLAGS, FOLDER_FLAGS, open_file
from shipmate.tools.file.protection import fold, refuse_reading

# Folders that machines fill; a person who looks for something seldom means them.
SKIPPED = frozenset({".git", "node_modules", ".venv", ".ship", "__pycache__"})

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """An opened file: its names from the workspace, and from where the walk began."""

    parts: Parts
    below: Parts
    handle: int

    @property
    def path(self) -> str:
        return "/".join(self.parts)


def files_below(root: Path, path: str) -> Iterator[File]:
    """Go over the files at or below a path in sorted order, each open until the next is asked for."""
    with open_file(root, path) as (handle, status, place):
        if stat.S_ISREG(status.st_mode):
            yield File(place.parts, place.parts[-1:], handle)
        else:
            for parts, opened in _walk(handle, place.parts):
                yield File(parts, parts[len(place.parts) :], opened)


def list_folder(handle: int, parts: Parts) -> list[str]:
    """List the names in an opened folder that tools may see; folders end in a slash."""
    return [f"{name}/" if is_folder else name for name, is_folder in _entries(handle, parts)]


def _walk(folder: int, parts: Parts) -> Iterator[tuple[Parts, int]]:
    if len(parts) > DEPTH_LIMIT:
        return
    for name, is_folder in _entries(folder, parts):
        if is_folder and fold(name) in SKIPPED:
            continue
        try:
            handle = os.open(name, FOLDER_FLAGS if is_folder else FILE_FLAGS, dir_fd=folder)
        except OSError:
            # Gone, swapped for a link, or not ours to read since it was listed: as if it were not there.
            continue
        try:
            if is_folder:
                yield from _walk(handle, (*parts, name))
            elif stat.S_ISREG(os.fstat(handle).st_mode):
                yield (*parts, name), handle
        finally:
            os.close(handle)


def _entries(folder: int, parts: Sequence[str]) -> list[tuple[str, bool]]:
    """List names with whether each is a folder; links and what tools may not read are left out."""
    with os.scandir(folder) as entries:
        found = [
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in entries
            if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
        ]
    return sorted((name, kind) for name, kind in found if _is_visible((*parts, name), kind))


def _is_visible(parts: Parts, is_folder: bool) -> bool:
    # `.ship` itself is listed, so that a member finds the folders in it that are open to it.
    return refuse_reading(parts) is None or (is_folder and fold(parts[-1]) == ".ship")

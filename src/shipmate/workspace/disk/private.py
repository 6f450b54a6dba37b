"""Write files and folders that only their owner can read."""

from __future__ import annotations

from pathlib import Path

from shipmate.workspace.disk.disk import DISK, make_folder, replace_file, sync_entries


def make_private(folder: Path) -> Path:
    """Create a folder (and its parents) readable by its owner alone."""
    if not folder.is_dir():
        make_folder(DISK, folder)
    return folder


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step, readable by its owner alone, on disk before this returns."""
    replace_file(DISK, path, data)


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on disk, so that a new file survives a power cut."""
    sync_entries(DISK, folder)

"""Copies of the folders of other programs, and a look at whether they were left alone."""

from __future__ import annotations

import shutil
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures" / "foreign"
# Those that no program of a registry makes: written after public sources or documentation.
BY_HAND = ("cursor", "zyhive", "shipmyagent")


def copy_folder(name: str, to: Path) -> Path:
    """Copy the folder of a program, with the modes its files have."""
    shutil.copytree(FIXTURES / name, to)
    return to


def take_picture(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file, folder and link outside `.ship/`, with its mode and what it holds."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        if ".ship" in path.relative_to(folder).parts:
            continue
        held = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, held)
    return found

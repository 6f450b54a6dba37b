"""Keep a copy of the machine's settings that commands may read, so that one mount shows them all."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from shipmate.tools.exec.sandbox.room import ROOM_PREFIX, remove_folder

Stamp = tuple[int, ...]


class SettingsCopy:
    """Copies of single files in a private folder; folders have an empty place there to be mounted on."""

    def __init__(self, place: Path) -> None:
        # Named like a room, so that it is removed as one when this process is killed.
        self.folder = place / f"{ROOM_PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
        self.folder.mkdir(mode=0o700)
        weakref.finalize(self, _remove, self.folder, os.getpid())
        self._stamps: dict[Path, Stamp] = {}
        self._lock = threading.Lock()

    def refresh(self, places: Iterable[Path], base: Path) -> Path:
        """Bring the copy up to date with places below a base folder, and return its own folder."""
        with self._lock:
            for place in places:
                if (stamp := _stamp_of(place)) != self._stamps.get(place):
                    _copy(place, self.folder / place.relative_to(base))
                    self._stamps[place] = stamp
        return self.folder


def _stamp_of(place: Path) -> Stamp:
    """Return by what a change of a file shows, of a link that of where it leads to."""
    try:
        status = os.stat(place)  # noqa: PTH116 - asked for two dozen files a command
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _copy(place: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        copy.mkdir(exist_ok=True)
        return
    # Put in place whole: a command that runs already sees the old or the new one.
    beside = copy.with_name(f".{copy.name}-{secrets.token_hex(4)}")
    try:
        beside.write_bytes(place.read_bytes())
        beside.replace(copy)
    except OSError:
        # What is gone or closed by now is not there for a command either.
        for path in (beside, copy):
            path.unlink(missing_ok=True)


def settings_copy(place: Path) -> SettingsCopy:
    """Return this process's copy below a place."""
    # A process that was split off from another, perhaps as another user, makes its own.
    return _settings_copy(place, os.getpid(), os.geteuid())


@cache
def _settings_copy(place: Path, owner: int, user: int) -> SettingsCopy:
    return SettingsCopy(place)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        remove_folder(folder)

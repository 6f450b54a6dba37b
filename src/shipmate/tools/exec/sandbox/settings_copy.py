"""Keep a copy of the machine's settings that commands may read, so that one mount shows them all."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import weakref
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from shipmate.tools.exec.sandbox.room import name_folder, remove_folder

# Of a folder more than this is shown by a mount of its own.
ENTRY_LIMIT, SIZE_LIMIT = 2_000, 8_000_000

Stamp = tuple[int, ...]


class SettingsCopy:
    """Copies of files and small folders in a private folder; of a large one only the place to mount it on."""

    def __init__(self, place: Path) -> None:
        # Named like a room, so that it is removed as one when this process is killed.
        self.folder = place / name_folder()
        self.folder.mkdir(mode=0o700)
        weakref.finalize(self, _remove, self.folder, os.getpid())
        # Of each place by what a change of it shows: of a folder, of all that is in it.
        self._stamps: dict[Path, dict[str, Stamp]] = {}
        self._lock = threading.Lock()
        # The folders that are too large to be copied.
        self.apart: frozenset[Path] = frozenset()

    def refresh(self, places: Iterable[Path], base: Path) -> Path:
        """Bring the copy up to date with places below a base folder, and return its own folder."""
        with self._lock:
            for place in places:
                known = self._stamps.get(place)
                if known is None or any(_stamp_of(path) != stamp for path, stamp in known.items()):
                    self._stamps[place] = self._copy(place, self.folder / place.relative_to(base))
        return self.folder

    def _copy(self, place: Path, copy: Path) -> dict[str, Stamp]:
        copy.parent.mkdir(parents=True, exist_ok=True)
        self.apart -= {place}
        if not place.is_dir():
            stamps = {str(place): _stamp_of(str(place))}
            _copy_file(place, copy)
            return stamps
        beside = copy.with_name(f".{copy.name}-{secrets.token_hex(4)}")
        stamps = _copy_folder(place, beside)
        if stamps is None:
            self.apart |= {place}
            remove_folder(beside)
            beside.mkdir()
            stamps = {}
        _replace_folder(beside, copy)
        return stamps


def _stamp_of(path: str) -> Stamp:
    """Return by what a change of a file shows, of a link that of where it leads to."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked for some dozen files a command
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _copy_file(place: Path, copy: Path) -> None:
    # Put in place whole: a command that runs already sees the old or the new one.
    beside = copy.with_name(f".{copy.name}-{secrets.token_hex(4)}")
    try:
        beside.write_bytes(place.read_bytes())
        beside.replace(copy)
    except OSError:
        # What is gone or closed by now is not there for a command either.
        for path in (beside, copy):
            path.unlink(missing_ok=True)


def _copy_folder(place: Path, copy: Path) -> dict[str, Stamp] | None:
    """Copy a folder with its links as they are, and return the stamps of it; None when it is too large."""
    stamps: dict[str, Stamp] = {}
    count = size = 0
    waiting = [(place, copy)]
    while waiting:
        source, goal = waiting.pop()
        stamps[str(source)] = _stamp_of(str(source))
        goal.mkdir()
        for entry in _list_entries(source):
            count += 1
            if entry.is_symlink():
                (goal / entry.name).symlink_to(os.readlink(entry.path))  # noqa: PTH115 - kept as it is
            elif entry.is_dir():
                waiting.append((Path(entry.path), goal / entry.name))
            elif entry.is_file():
                stamps[entry.path] = _stamp_of(entry.path)
                size += entry.stat().st_size
                _copy_file(Path(entry.path), goal / entry.name)
            if count > ENTRY_LIMIT or size > SIZE_LIMIT:
                return None
    return stamps


def _list_entries(folder: Path) -> list[os.DirEntry[str]]:
    # A folder that is closed to us is closed to a command as well.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _replace_folder(new: Path, old: Path) -> None:
    if not old.is_dir():
        old.unlink(missing_ok=True)
        new.rename(old)
        return
    gone = old.with_name(f".{old.name}-{secrets.token_hex(4)}")
    old.rename(gone)
    new.rename(old)
    remove_folder(gone)


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

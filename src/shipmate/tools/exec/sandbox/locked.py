"""Find what of a workspace commands must not change and must not see, wherever it lies."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from shipmate.tools.file.protection import fold, is_locked, refuse_reading

# Rules about a place, such as the top of the workspace or of a project, reach no deeper than this;
# below it a name alone decides, so that one judgement serves every file of that name.
PLACED_DEPTH = 3
# A folder changed within this time before it was read may have changed again without a new time stamp.
SETTLING_NS = 50_000_000
# Each mount costs a fraction of a millisecond; with more to close, a folder around them is closed whole.
MOUNT_LIMIT = 100


class LockedEntry(msgspec.Struct, frozen=True):
    """One file, folder or link that commands must not change."""

    path: str
    inode: tuple[int, int]
    is_folder: bool
    is_hidden: bool
    # Where a link leads; a link cannot be covered, so it is put back when it was replaced.
    link: str | None = None


class _Folder:
    """What was last seen in one folder."""

    __slots__ = ("entries", "folders", "stamp")

    def __init__(
        self, stamp: tuple[int, int] | None, entries: Sequence[LockedEntry], folders: Sequence[str]
    ) -> None:
        # None when it has to be read again in any case.
        self.stamp = stamp
        self.entries = entries
        self.folders = folders


class LockedTree:
    """Everything locked in a workspace; after the first look only folders that changed are read again."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders: dict[str, _Folder] = {}
        self._lock = threading.Lock()
        # What the last look found.
        self.latest: tuple[LockedEntry, ...] = ()

    def look(self) -> tuple[LockedEntry, ...]:
        """Return what is locked now, parents before what lies in them."""
        with self._lock:
            if self._root not in self._folders:
                self._read(self._root)
            for path in self._changed():
                if path in self._folders:
                    self._read(path)
            found = [entry for folder in self._folders.values() for entry in folder.entries]
            self.latest = tuple(sorted(found, key=lambda entry: entry.path.split("/")))
            return self.latest

    def _changed(self) -> list[str]:
        changed: list[str] = []
        for path, folder in self._folders.items():
            try:
                status = os.lstat(path)
            except OSError:
                changed.append(path)
                continue
            # The change time, unlike the modification time, cannot be set back by a command.
            if (status.st_ino, status.st_ctime_ns) != folder.stamp:
                changed.append(path)
        return changed

    def _read(self, start: str) -> None:
        waiting = [start]
        while waiting:
            path = waiting.pop()
            before = self._folders.get(path)
            folder = self._read_one(path)
            if folder is None:
                self._forget([path])
                continue
            self._folders[path] = folder
            known = set(folder.folders)
            if before is not None:
                self._forget(set(before.folders) - known)
                known -= set(before.folders)
            waiting += known

    def _forget(self, paths: Iterable[str]) -> None:
        waiting = list(paths)
        while waiting:
            folder = self._folders.pop(waiting.pop(), None)
            waiting += folder.folders if folder else ()

    def _read_one(self, path: str) -> _Folder | None:
        now = time.time_ns()
        parts = tuple(path[len(self._root) + 1 :].split("/")) if path != self._root else ()
        try:
            status = os.lstat(path)
            with os.scandir(path) as found:
                children = list(found)
        except FileNotFoundError:
            return None
        except OSError:
            # What cannot be looked through is covered whole.
            entry = LockedEntry(path, (0, 0), is_folder=True, is_hidden=True)
            return _Folder(None, [entry] if parts else [], [])
        entries = [entry for child in children if (entry := _judge(parts, child))]
        folders = [inner for child in children if (inner := _folder_to_read(child))]
        is_settled = now - status.st_ctime_ns > SETTLING_NS
        stamp = (status.st_ino, status.st_ctime_ns) if is_settled else None
        return _Folder(stamp, entries, folders)


def _judge(parts: tuple[str, ...], child: os.DirEntry[str]) -> LockedEntry | None:
    if len(parts) >= PLACED_DEPTH:
        locked, hidden = _judge_name(child.name)
    else:
        locked, hidden = _judge_place((*parts, child.name))
    if not locked:
        return None
    is_folder = child.is_dir(follow_symlinks=False)
    link = os.readlink(child.path) if child.is_symlink() else None
    status = child.stat(follow_symlinks=False)
    return LockedEntry(child.path, (status.st_dev, status.st_ino), is_folder, hidden, link)


def _folder_to_read(child: os.DirEntry[str]) -> str | None:
    """Return the folder to look through: of what is closed whole only what commands may write."""
    if not child.is_dir(follow_symlinks=False) or child.name == ".git":
        return None
    if child.name != ".ship":
        return child.path
    scratch = f"{child.path}/scratch"
    return scratch if os.path.isdir(scratch) else None  # noqa: PTH112 - a string like all others here


@lru_cache(maxsize=65_536)
def _judge_name(name: str) -> tuple[bool, bool]:
    return _judge_place((*("_",) * PLACED_DEPTH, name))


def _judge_place(parts: tuple[str, ...]) -> tuple[bool, bool]:
    hidden = refuse_reading(parts) is not None
    return hidden or is_locked(parts), hidden


def closed_places(entries: Iterable[LockedEntry], root: Path, limit: int = MOUNT_LIMIT) -> list[str]:
    """Return the files and folders to close to writing, none inside another."""
    places = (find_goal(entry) for entry in entries if not entry.is_hidden)
    return _join(_without_inner(place for place in places if place), str(root), limit)


def pinned_folders(entries: Iterable[LockedEntry], root: Path) -> list[str]:
    """Return the folders that must keep their names: elsewhere what lies in them would not be locked."""
    placed = (entry.path for entry in entries if not _judge_name(Path(entry.path).name)[0])
    return sorted({parent for path in placed for parent in _parents_below(path, str(root))})


def hidden_places(entries: Iterable[LockedEntry]) -> list[str]:
    """Return what to cover, of a link the file it leads to; state folders are not in it."""
    places = (find_goal(entry) for entry in entries if entry.is_hidden and not _is_state(entry))
    return sorted({place for place in places if place})


def state_folders(entries: Iterable[LockedEntry]) -> list[Path]:
    """Return the folders of Shipmate's own state."""
    return [Path(entry.path) for entry in entries if entry.is_folder and _is_state(entry)]


def find_goal(entry: LockedEntry) -> str | None:
    """Return what to cover: the entry, or what a link leads to, if that is there."""
    if entry.link is None:
        return entry.path
    real = os.path.realpath(entry.path)
    return real if os.path.exists(real) else None  # noqa: PTH110 - a string like all others here


def _is_state(entry: LockedEntry) -> bool:
    return fold(Path(entry.path).name) == ".ship"


def _without_inner(places: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for place in sorted(set(places), key=lambda path: path.split("/")):
        if not (kept and (place + "/").startswith(kept[-1] + "/")):
            kept.append(place)
    return kept


def _join(places: list[str], root: str, limit: int) -> list[str]:
    """Close whole folders where the places inside would be too many; the workspace itself stays open."""
    while len(places) > limit:
        parents = Counter(parent for place in places for parent in _parents_below(place, root))
        several = {parent: count for parent, count in parents.items() if count > 1}
        if not several:
            break
        wanted = min(len(places) - limit + 1, max(several.values()))
        chosen = max((parent for parent, count in several.items() if count >= wanted), key=len)
        places = _without_inner([*places, chosen])
    return places


def _parents_below(place: str, root: str) -> Iterator[str]:
    return (parent for parent in map(str, Path(place).parents) if parent.startswith(root + "/"))

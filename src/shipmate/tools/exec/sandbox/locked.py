"""Find what of a workspace commands must not change and must not see, wherever it lies."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from shipmate.tools.file.protection import fold, is_locked, is_placed, refuse_reading

# Entries made, removed or moved, and the folder itself removed or moved. Links are not followed.
CHANGES = 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
ONLY_FOLDERS, NO_LINKS, OVERFLOW = 0x01000000, 0x02000000, 0x4000
EVENT = struct.Struct("iIII")
READ_BYTES = 1 << 18
# Elsewhere others may change files without this machine's knowing.
LOCAL = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})


class TreeWatch:
    """A watch on many folders."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._handle = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            raise OSError(ctypes.get_errno(), "inotify is not available")
        weakref.finalize(self, os.close, self._handle)
        self._paths: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def add(self, path: str) -> bool:
        """Watch a folder from now on; False when no more can be watched."""
        mask = CHANGES | ONLY_FOLDERS | NO_LINKS
        number = self._library.inotify_add_watch(self._handle, os.fsencode(path), mask)
        if number < 0:
            # One that is gone, or no folder any more, is found out when it is read.
            return ctypes.get_errno() in (2, 20, 40)
        self._paths[number] = path
        self._numbers[path] = number
        return True

    def remove(self, path: str) -> None:
        """Watch a folder no more."""
        number = self._numbers.pop(path, None)
        if number is not None and self._paths.get(number) == path:
            del self._paths[number]
            self._library.inotify_rm_watch(self._handle, number)

    def take(self) -> set[str] | None:
        """Return the folders that changed since the last time; None when too many did to be told."""
        changed: set[str] = set()
        is_known = True
        while True:
            try:
                data = os.read(self._handle, READ_BYTES)
            except BlockingIOError:
                return changed if is_known else None
            at = 0
            while at < len(data):
                number, mask, _, size = EVENT.unpack_from(data, at)
                at += EVENT.size + size
                is_known = is_known and not mask & OVERFLOW
                if (path := self._paths.get(number)) is not None:
                    changed.add(path)


def is_local(root: str) -> bool:
    """Return whether all files below a folder lie on file systems that report every change."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return False
    mounts = [(line.split(" ")[4], line.partition(" - ")[2].split(" ")[0]) for line in lines]
    below = {kind for place, kind in mounts if place.startswith(root + "/") or place == root}
    around = [(place, kind) for place, kind in mounts if (root + "/").startswith(place.rstrip("/") + "/")]
    nearest = max(around, key=lambda mount: len(mount[0]), default=("", ""))[1]
    return nearest in LOCAL and below <= LOCAL


# Rules about a place, such as the top of the workspace or of a project, reach no deeper than this;
# below it a name alone decides, so that one judgement serves every file of that name.
PLACED_DEPTH = 4
# A folder changed within this time before it was read may have changed again without a new time stamp.
SETTLING_NS = 50_000_000
# Each mount costs a fraction of a millisecond; with more to close, a folder around them is closed whole.
MOUNT_LIMIT = 100
# From so many folders on the kernel is asked to tell of changes; below it is cheaper to ask for each.
WATCHED_FOLDERS = 200


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

    def __init__(self, entries: Sequence[LockedEntry], folders: dict[str, int]) -> None:
        self.entries = entries
        # The folders in it, by path, with their numbers: another may have come in the place of one.
        self.folders = folders
        # None when it changed so lately that the next change might not show.
        self.stamp: tuple[int, int] | None = None


class LockedTree:
    """Everything locked in a workspace; after the first look only folders that changed are read again."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders: dict[str, _Folder] = {}
        # Those that could not be read, and have to be tried again.
        self._unread: set[str] = set()
        self._watch: TreeWatch | None = None
        # Until it is known whether there are many folders.
        self._may_watch = True
        self._lock = threading.Lock()
        # What the last look found.
        self.latest: tuple[LockedEntry, ...] = ()

    @property
    def closed(self) -> frozenset[str]:
        """Return the folders that could not be looked through; of what lies in them nothing is known."""
        return frozenset(self._unread)

    def look(self) -> tuple[LockedEntry, ...]:
        """Return what is locked now, parents before what lies in them."""
        with self._lock:
            if self._root in self._folders:
                changed = self._changed()
                for path in changed:
                    if path in self._folders:
                        self._read(path)
                is_same = not changed
            else:
                self._read(self._root)
                is_same = False
            for ship in state_folders(self.latest):
                # A state folder is not looked through, so its own change does not show.
                if str(ship / "scratch") not in self._folders:
                    self._read(str(ship / "scratch"))
                    is_same = False
            if not is_same:
                found = [entry for folder in self._folders.values() for entry in folder.entries]
                self.latest = tuple(sorted(found, key=lambda entry: entry.path.split("/")))
            return self.latest

    def _begin_watch(self) -> bool:
        """Let the kernel tell what changes, where there is too much to ask for each time."""
        self._may_watch = False
        if sys.platform != "linux" or not is_local(self._root):
            return False
        try:
            self._watch = TreeWatch()
        except OSError:
            return False
        return True

    def _changed(self) -> list[str]:
        told = self._watch.take() if self._watch else None
        if told is None:
            return [path for path, folder in self._folders.items() if _has_changed(path, folder)]
        # Parents first: what is gone with them is not read any more.
        return sorted(told | self._unread)

    def _read(self, start: str) -> None:
        waiting = [start]
        while waiting:
            path = waiting.pop()
            if self._watch and not self._watch.add(path):
                self._watch = None
            before = self._folders.get(path)
            folder = self._read_one(path)
            if folder is None:
                self._forget([path])
                continue
            self._folders[path] = folder
            if self._may_watch and len(self._folders) >= WATCHED_FOLDERS and self._begin_watch():
                # Read anew, each folder after its watch began.
                self._folders.clear()
                waiting = [self._root]
                continue
            known = before.folders.items() if before else ()
            self._forget(inner for inner, number in known if folder.folders.get(inner) != number)
            waiting += (inner for inner in folder.folders if inner not in self._folders)

    def _forget(self, paths: Iterable[str]) -> None:
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            folder = self._folders.pop(path, None)
            self._unread.discard(path)
            if self._watch:
                self._watch.remove(path)
            waiting += folder.folders if folder else ()

    def _read_one(self, path: str) -> _Folder | None:
        now = time.time_ns()
        number = (0, 0)
        parts = tuple(path[len(self._root) + 1 :].split("/")) if path != self._root else ()
        try:
            status = os.lstat(path)
            number = (status.st_dev, status.st_ino)
            with os.scandir(path) as found:
                children = list(found)
            judge = _choose_judge(parts)
            entries = [entry for child in children if (entry := _make_entry(child, judge(child.name)))]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            # What cannot be looked through is covered whole.
            entry = LockedEntry(path, number, is_folder=True, is_hidden=True)
            self._unread.add(path)
            return _Folder([entry] if parts else [], {})
        self._unread.discard(path)
        inner = ((_folder_to_read(child), child.inode()) for child in children)
        folder = _Folder(entries, {place: number for place, number in inner if place})
        if now - status.st_ctime_ns > SETTLING_NS:
            folder.stamp = (status.st_ino, status.st_ctime_ns)
        return folder


def _has_changed(path: str, folder: _Folder) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return True
    # The change time, unlike the modification time, cannot be set back by a command.
    return (status.st_ino, status.st_ctime_ns) != folder.stamp


def _make_entry(child: os.DirEntry[str], judgement: tuple[bool, bool]) -> LockedEntry | None:
    is_locked_too, is_hidden = judgement
    if not is_locked_too:
        return None
    link = os.readlink(child.path) if child.is_symlink() else None  # noqa: PTH115 - a string like all others
    status = child.stat(follow_symlinks=False)
    is_folder = child.is_dir(follow_symlinks=False)
    return LockedEntry(child.path, (status.st_dev, status.st_ino), is_folder, is_hidden, link)


def _folder_to_read(child: os.DirEntry[str]) -> str | None:
    """Return the folder to look through: of what is covered whole only what commands may write."""
    if not child.is_dir(follow_symlinks=False) or child.name == ".git":
        return None
    if child.name == ".ship":
        scratch = f"{child.path}/scratch"
        return scratch if os.path.isdir(scratch) else None  # noqa: PTH112 - a string like all others here
    return None if _judge_name(child.name)[1] else child.path


def _choose_judge(parts: tuple[str, ...]) -> Callable[[str], tuple[bool, bool]]:
    """Return how the names in a folder are judged: what is locked, and what of it hidden as well."""
    if ".ship" in parts:
        return _judge_name
    if parts and is_locked(parts):
        # It is closed as a whole; only what must not even be seen counts.
        return partial(_judge_secret, parts[-1])
    if len(parts) >= PLACED_DEPTH or not is_placed(parts):
        return _judge_name
    return lambda name: _judge_place((*parts, name))


@lru_cache(maxsize=65_536)
def _judge_name(name: str) -> tuple[bool, bool]:
    return _judge_place((*("_",) * PLACED_DEPTH, name))


@lru_cache(maxsize=65_536)
def _judge_secret(folder: str, name: str) -> tuple[bool, bool]:
    # Some settings that hold keys are known by the folder they lie in.
    is_hidden = _judge_place((*("_",) * PLACED_DEPTH, folder, name))[1]
    return is_hidden, is_hidden


def _judge_place(parts: tuple[str, ...]) -> tuple[bool, bool]:
    is_hidden = refuse_reading(parts) is not None
    return is_hidden or is_locked(parts), is_hidden


def closed_places(
    entries: Iterable[LockedEntry], root: Path, limit: int = MOUNT_LIMIT, also: Iterable[str] = ()
) -> list[str]:
    """Return the files and folders to close to writing, none inside another; `also` names further ones."""
    places = (find_goal(entry) for entry in entries if not entry.is_hidden)
    return _join(_without_inner([*(place for place in places if place), *also]), str(root), limit)


def pinned_folders(entries: Iterable[LockedEntry], root: Path) -> list[str]:
    """Return the folders that must keep their names: elsewhere what lies in them would not be locked."""
    return list(_pinned_folders(tuple(entries), str(root)))


@lru_cache(maxsize=16)
def _pinned_folders(entries: tuple[LockedEntry, ...], root: str) -> tuple[str, ...]:
    placed = (entry.path for entry in entries if not _judge_name(entry.path.rpartition("/")[2])[0])
    return tuple(sorted({parent for path in placed for parent in _parents_below(path, root)}))


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
    return fold(entry.path.rpartition("/")[2]) == ".ship"


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

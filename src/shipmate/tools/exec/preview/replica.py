"""A copy of the workspace for a command to change, where no overlay can be laid over it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from functools import cached_property
from pathlib import Path

from shipmate.tools.exec.preview.effect import Effects, TooMuchError, check_depth, join
from shipmate.tools.exec.preview.upper import open_up, state_of
from shipmate.tools.file.change.state import ABSENT, look
from shipmate.tools.file.protection import fold, refuse_reading

FILE_LIMIT = 20_000
SIZE_LIMIT = 200_000_000
CONFIG = "ship.json"

# What tells that a file was touched: the kernel moves the last of them with every change.
Stamp = tuple[int, int, int, int, int]


class Replica:
    """A copy of what commands can see of a workspace, and how each file of it stood when it was made."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self._stamps: dict[str, Stamp] = {}
        self._size = 0

    def make(self) -> None:
        """Copy the workspace; raise TooMuchError when it is too large for that."""
        self.folder.mkdir(mode=0o700)
        self.folder.chmod(stat.S_IMODE(self.root.stat().st_mode))
        self._copy_folder("")
        if not self.root.joinpath(CONFIG).exists():
            # A sandbox makes one where there is none, and that is no doing of the command's.
            self.folder.joinpath(CONFIG).write_text("{}\n")
            self._stamps[CONFIG] = _stamp(self.folder / CONFIG)

    def read(self) -> Effects:
        """Return what a command did to the copy."""
        effects = Effects(self.root)
        self._compare_folder("", effects)
        return effects

    def _copy_folder(self, path: str) -> None:
        check_depth(path)
        with os.scandir(self.root / path) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                inner = join(path, entry.name)
                if is_hidden(inner):
                    self._hold_place(entry, inner)
                else:
                    self._copy(entry, inner)

    def _hold_place(self, entry: os.DirEntry[str], path: str) -> None:
        """Make something empty, for the sandbox to cover, in place of what commands cannot see."""
        if entry.is_dir(follow_symlinks=False):
            (self.folder / path).mkdir(mode=0o700)
        else:
            (self.folder / path).touch(mode=0o600)

    def _copy(self, entry: os.DirEntry[str], path: str) -> None:
        status = entry.stat(follow_symlinks=False)
        copy = self.folder / path
        if stat.S_ISDIR(status.st_mode):
            copy.mkdir(mode=0o700)
            self._copy_folder(path)
            copy.chmod(stat.S_IMODE(status.st_mode))
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(entry.path), copy)  # noqa: PTH115, PTH211 - a Path would tidy the text
        elif stat.S_ISREG(status.st_mode):
            self._count(status.st_size)
            copy.touch(mode=0o600)
            # What its mode keeps from us it keeps from the command as well.
            with contextlib.suppress(PermissionError):
                copy_content(Path(entry.path), copy)
            copy.chmod(stat.S_IMODE(status.st_mode))
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        else:
            return
        self._stamps[path] = _stamp(copy)

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > SIZE_LIMIT or len(self._stamps) >= FILE_LIMIT:
            raise TooMuchError(
                f"the workspace is larger than {FILE_LIMIT:,} files or {SIZE_LIMIT // 1_000_000} MB, "
                "too large to be copied for a trial"
            )

    def _compare_folder(self, path: str, effects: Effects) -> None:
        check_depth(path)
        with os.scandir(open_up(self.folder / path)) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if not is_hidden(join(path, name)) or not (self.root / path / name).exists():
                self._compare(join(path, name), effects)
        for gone in self._names_in(path) - set(names):
            inner = join(path, gone)
            effects.remove(inner, look(self.root, inner))

    def _compare(self, path: str, effects: Effects) -> None:
        copy = self.folder / path
        known, stamp = self._stamps.get(path), _stamp(copy)
        status = copy.lstat()
        if not stat.S_ISDIR(status.st_mode) and known == stamp:
            return
        before, after = look(self.root, path), state_of(copy, status)
        if before.kind == "unreachable":
            # A file stood where the command made a folder.
            before = ABSENT
        if before.kind == "folder" and after.kind != "folder":
            effects.empty(path)
        effects.add(path, before, after, copy if after.kind in ("file", "link") else None)
        if after.kind == "folder":
            self._compare_folder(path, effects)

    def _names_in(self, path: str) -> set[str]:
        return self._by_folder.get(path, set())

    @cached_property
    def _by_folder(self) -> dict[str, set[str]]:
        names: dict[str, set[str]] = {}
        for path in self._stamps:
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, set()).add(name)
        return names


def is_hidden(path: str) -> bool:
    """Return whether commands cannot see a path: secrets and Shipmate's own state."""
    parts = path.split("/")
    return refuse_reading(parts) is not None or fold(parts[-1]) == ".ship"


def copy_content(source: Path, copy: Path) -> None:
    """Copy a file, sharing its blocks where the file system can."""
    old = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.fdopen(os.dup(old), "rb") as reader, copy.open("wb") as writer:
            try:
                while os.copy_file_range(old, writer.fileno(), SIZE_LIMIT):
                    pass
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                    raise
                shutil.copyfileobj(reader, writer)
    finally:
        os.close(old)


def _stamp(path: Path) -> Stamp:
    status = path.lstat()
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

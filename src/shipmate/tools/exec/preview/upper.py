"""Read what a command changed from the upper layer of an overlay; the workspace itself is not walked."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator
from pathlib import Path

from shipmate.errors import ToolError
from shipmate.tools.exec.preview.effect import Effects, TooMuchError, check_depth, join
from shipmate.tools.file.change.state import ABSENT, State, digest_of, look

# Overlays of an ordinary user keep their notes under `user.`, those of the real root under `trusted.`.
NOTES = ("user.overlay.", "trusted.overlay.")
# With these the upper layer does not hold all there is to know.
PARTIAL = ("redirect", "metacopy")


def read_upper(upper: Path, root: Path) -> Effects:
    """Return the effects an upper layer stands for."""
    effects = Effects(root)
    _Reader(effects, root).read_folder(upper, "", base_is_folder=True)
    return effects


class _Reader:
    """Walks an upper layer beside the workspace it lay over."""

    def __init__(self, effects: Effects, root: Path) -> None:
        self._effects = effects
        self._root = root

    def read_folder(self, upper: Path, path: str, *, base_is_folder: bool) -> None:
        check_depth(path)
        names = sorted(entry.name for entry in os.scandir(open_up(upper)))
        for name in names:
            inner = join(path, name)
            before = look(self._root, inner) if base_is_folder else ABSENT
            self._read(upper / name, inner, before)
        if base_is_folder and "opaque" in notes_of(upper):
            self._effects.empty(path, but=names)

    def _read(self, upper: Path, path: str, before: State) -> None:
        status = upper.lstat()
        notes = notes_of(upper)
        if notes & set(PARTIAL):
            raise TooMuchError("the overlay keeps its changes in a way that cannot be read")
        if _is_whiteout(status, notes):
            if before.kind != "absent":
                self._effects.remove(path, before)
            return
        after = state_of(upper, status)
        if before.kind == "folder" and after.kind != "folder":
            self._effects.empty(path)
        self._effects.add(path, before, after, upper if after.kind in ("file", "link") else None)
        if after.kind == "folder":
            self.read_folder(upper, path, base_is_folder=before.kind == "folder")


def state_of(path: Path, status: os.stat_result) -> State:
    """Return how a file that a command left stands, whatever mode it gave it."""
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return State("folder", mode)
    if stat.S_ISLNK(status.st_mode):
        return State("link", digest=os.readlink(path))  # noqa: PTH115 - a Path would tidy the text
    if not stat.S_ISREG(status.st_mode):
        return State("special", mode)
    with open_left(path) as handle:
        return State("file", mode, status.st_size, digest_of(handle))


@contextlib.contextmanager
def open_left(path: Path) -> Generator[int]:
    """Open a file that a command left; its owner may read it whatever its mode."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        handle = os.open(path, flags)
    except PermissionError:
        mode = stat.S_IMODE(path.lstat().st_mode)
        path.chmod(mode | stat.S_IRUSR)
        handle = os.open(path, flags)
        path.chmod(mode)
    try:
        yield handle
    finally:
        os.close(handle)


def open_up(folder: Path) -> Path:
    """Let us list a folder that a command closed; its mode has been noted by then."""
    if not os.access(folder, os.R_OK | os.X_OK):
        folder.chmod(0o700)
    return folder


def notes_of(path: Path) -> set[str]:
    """Return the names of the overlay's notes on a file."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        raise ToolError(f"the overlay cannot be read: {error.strerror}") from error
    return {name.removeprefix(prefix) for prefix in NOTES for name in names if name.startswith(prefix)}


def _is_whiteout(status: os.stat_result, notes: set[str]) -> bool:
    return (stat.S_ISCHR(status.st_mode) and status.st_rdev == 0) or "whiteout" in notes

"""Say which process keeps a workspace, by a lock that the system frees when its holder ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from shipmate.workspace.layout import Layout, make_private

FILE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class KeeperLock:
    """The lock of one workspace: on its own folder, and on a file that names the holder.

    The file alone would not do: it may be deleted, and whoever makes it anew locks another file.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._folder: int | None = None
        self._file: int | None = None

    def take(self) -> bool:
        """Take the lock if it is free."""
        make_private(self._layout.ship)
        try:
            self._folder = self._lock_folder(fcntl.LOCK_EX)
            self._file = self._lock_file()
        except BlockingIOError:
            self.release()
            return False
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        """Let another process have it."""
        for handle in (self._file, self._folder):
            if handle is not None:
                os.close(handle)
        self._file = self._folder = None

    def restore(self) -> None:
        """Make the file anew when it was deleted or replaced; the folder is still held."""
        if self._file is None or _is_same(self._file, self._layout.keeper_lock):
            return
        make_private(self._layout.ship)
        with contextlib.suppress(BlockingIOError):
            lost, self._file = self._file, self._lock_file()
            os.close(lost)

    def holder(self) -> int | None:
        """Return the process that holds it, 0 when that cannot be read, or None when none does."""
        path = self._layout.keeper_lock
        try:
            if (folder := self._lock_folder(fcntl.LOCK_SH)) is not None:
                os.close(folder)
            os.close(_lock(path, os.O_RDWR | os.O_CLOEXEC, fcntl.LOCK_SH))
        except BlockingIOError:
            return _read_number(path)
        except FileNotFoundError:
            return None
        return None

    def _lock_folder(self, kind: int) -> int | None:
        """Lock the workspace's folder; None where the file system locks no folders: the file must do."""
        try:
            return _lock(self._layout.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, kind)
        except BlockingIOError:
            raise
        except OSError:
            return None

    def _lock_file(self) -> int:
        handle = _lock(self._layout.keeper_lock, FILE, fcntl.LOCK_EX)
        # For people: who keeps. Nothing is decided by it, so that a full disk may refuse it.
        with contextlib.suppress(OSError):
            said = f"{os.getpid()}\n".encode()
            # Written before it is cut: nobody reads an empty one.
            os.pwrite(handle, said, 0)
            os.ftruncate(handle, len(said))
        return handle


def _lock(path: Path, flags: int, kind: int) -> int:
    handle = os.open(path, flags, 0o600)
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_same(handle: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _read_number(path: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text("ascii"))
    return 0

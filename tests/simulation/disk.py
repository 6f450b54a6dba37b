"""The calls that one simulated process makes on a shared volume."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.node import FileNode, FolderNode, Node
from tests.simulation.volume import Volume


class WouldWaitForeverError(AssertionError):
    """A process waits, without letting others go on, for a lock that another one holds."""


@dataclass(slots=True, eq=False)
class OpenFile:
    """One open file description."""

    node: Node
    path: str
    flags: int
    position: int = 0


class Locks:
    """Who holds which file: several readers, or one writer."""

    def __init__(self) -> None:
        self._held: dict[Node, dict[OpenFile, int]] = {}

    def take(self, file: OpenFile, operation: int) -> None:
        """Take or give back a lock."""
        holders = self._held.setdefault(file.node, {})
        holders.pop(file, None)
        wanted = operation & ~fcntl.LOCK_NB
        if wanted == fcntl.LOCK_UN:
            return
        if any(wanted == fcntl.LOCK_EX or kind == fcntl.LOCK_EX for kind in holders.values()):
            if operation & fcntl.LOCK_NB:
                raise BlockingIOError(errno.EAGAIN, "held by another", file.path)
            raise WouldWaitForeverError(file.path)
        holders[file] = wanted

    def drop(self, file: OpenFile) -> None:
        """Forget what a closed file held."""
        holders = self._held.get(file.node, {})
        holders.pop(file, None)
        if not holders:
            self._held.pop(file.node, None)


class SimDisk:
    """One process's hold on the volume; it ends with the process."""

    def __init__(self, volume: Volume, locks: Locks, before: Callable[[str, str], None]) -> None:
        self._volume = volume
        self._locks = locks
        # Told before every call; it may end the process there.
        self._before = before
        self._files: dict[int, OpenFile] = {}
        self._next = 3

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        self._before("open", str(path))
        folder, name = self._volume.parent(path)
        node = folder.entries.get(name)
        if node is None:
            if not flags & os.O_CREAT:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            self._volume.fail("open", str(path), grows=True)
            node = FileNode(self._volume.number(), self._volume.stamp())
            self._volume.rename((folder, name, node))
        else:
            self._check_open(node, path, flags)
        return self._hold(node, path, flags)

    def _check_open(self, node: Node, path: Path, flags: int) -> None:
        if flags & os.O_CREAT and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        if isinstance(node, FolderNode) and flags & (os.O_WRONLY | os.O_RDWR):
            raise IsADirectoryError(errno.EISDIR, "is a directory", str(path))
        self._volume.fail("open", str(path))
        if flags & os.O_TRUNC and isinstance(node, FileNode) and node.data:
            node.change(0, None)
            node.mtime = self._volume.stamp()

    def _hold(self, node: Node, path: Path, flags: int) -> int:
        if isinstance(node, FileNode):
            node.opened += 1
        self._next += 1
        self._files[self._next] = OpenFile(node, str(path), flags)
        return self._next

    def close(self, handle: int) -> None:
        self._let_go(self._opened("close", handle))
        del self._files[handle]

    def _let_go(self, file: OpenFile) -> None:
        self._locks.drop(file)
        if isinstance(file.node, FileNode):
            file.node.opened -= 1
            self._volume.release(file.node)

    def write(self, handle: int, data: bytes) -> int:
        file, node = self._file("write", handle)
        weather = self._volume.weather
        if data and weather.is_full and len(data) > 1 and self._volume.chance.random() < 0.3:
            # The last free bytes.
            data = data[: self._volume.chance.randrange(1, len(data))]
        else:
            self._volume.fail("write", file.path, grows=True)
        if weather.short and len(data) > 1 and self._volume.chance.random() < weather.short:
            data = data[: self._volume.chance.randrange(1, len(data))]
        position = len(node.data) if file.flags & os.O_APPEND else file.position
        node.change(position, data)
        node.mtime = self._volume.stamp()
        file.position = position + len(data)
        return len(data)

    def pread(self, handle: int, size: int, offset: int) -> bytes:
        file, node = self._file("pread", handle)
        self._volume.fail("pread", file.path)
        return bytes(node.data[offset : offset + size])

    def ftruncate(self, handle: int, size: int) -> None:
        file, node = self._file("ftruncate", handle)
        self._volume.fail("ftruncate", file.path)
        if size != len(node.data):
            node.change(size, None)
            node.mtime = self._volume.stamp()

    def fstat(self, handle: int) -> os.stat_result:
        return _status(self._opened("fstat", handle).node)

    def stat(self, path: Path) -> os.stat_result:
        self._before("stat", str(path))
        return _status(self._volume.find(path))

    def fdatasync(self, handle: int) -> None:
        self.fsync(handle)

    def fsync(self, handle: int) -> None:
        file = self._opened("fsync", handle)
        try:
            self._volume.fail("fsync", file.path)
        except OSError:
            if isinstance(file.node, FileNode):
                file.node.fail_sync(self._volume.chance)
            raise
        if isinstance(file.node, FileNode):
            file.node.sync()
        else:
            self._volume.sync(file.node)

    def is_folder(self, handle: int) -> bool:
        """Tell whether an open file is a folder."""
        return isinstance(self._files[handle].node, FolderNode)

    def rename(self, source: Path, target: Path) -> None:
        self._before("rename", str(target))
        node = self._volume.find(source)
        self._volume.fail("rename", str(target))
        folder, name = self._volume.parent(target)
        self._volume.rename((*self._volume.parent(source), None), (folder, name, node))

    def link(self, source: Path, target: Path) -> None:
        self._before("link", str(target))
        node = self._volume.find(source)
        folder, name = self._volume.parent(target)
        if name in folder.entries:
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        self._volume.fail("link", str(target), grows=True)
        self._volume.rename((folder, name, node))

    def unlink(self, path: Path) -> None:
        self._before("unlink", str(path))
        self._volume.find(path)
        self._volume.fail("unlink", str(path))
        self._volume.rename((*self._volume.parent(path), None))

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        self._before("mkdir", str(path))
        folder, name = self._volume.parent(path)
        if name in folder.entries:
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        self._volume.fail("mkdir", str(path), grows=True)
        self._volume.rename((folder, name, FolderNode(self._volume.number(), self._volume.stamp())))

    def listdir(self, path: Path) -> list[str]:
        self._before("listdir", str(path))
        node = self._volume.find(path)
        if not isinstance(node, FolderNode):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
        self._volume.fail("listdir", str(path))
        return list(node.entries)

    def flock(self, handle: int, operation: int) -> None:
        self._locks.take(self._opened("flock", handle), operation)

    def end(self) -> None:
        """Close all files, as the system does when a process ends."""
        for file in self._files.values():
            self._let_go(file)
        self._files.clear()

    def _opened(self, call: str, handle: int) -> OpenFile:
        file = self._files.get(handle)
        self._before(call, file.path if file else "")
        if file is None:
            raise OSError(errno.EBADF, "not open", str(handle))
        return file

    def _file(self, call: str, handle: int) -> tuple[OpenFile, FileNode]:
        file = self._opened(call, handle)
        if not isinstance(file.node, FileNode):
            raise IsADirectoryError(errno.EISDIR, "is a directory", file.path)
        return file, file.node


def _status(node: Node) -> os.stat_result:
    is_file = isinstance(node, FileNode)
    mode = stat.S_IFREG | 0o600 if is_file else stat.S_IFDIR | 0o700
    size = len(node.data) if is_file else 0
    seconds = node.mtime // 1_000_000_000
    values = (mode, node.number, 1, 1, 0, 0, size, seconds, seconds, seconds)
    return os.stat_result(values, {"st_mtime_ns": node.mtime, "st_ctime_ns": node.mtime})

"""A disk in memory, for what need not outlive the process."""

from __future__ import annotations

import errno
import os
import stat
from itertools import count
from pathlib import Path


class _Node:
    """One file or folder."""

    def __init__(self, inode: int, *, is_folder: bool) -> None:
        self.inode = inode
        self.is_folder = is_folder
        self.data = bytearray()
        # Counts the changes: two are never at one time.
        self.changed = inode


class MemoryDisk:
    """Files in memory; locks are always free, because no other process sees them."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._nodes: dict[Path, _Node] = {Path("/"): self._node(is_folder=True)}
        self._handles: dict[int, tuple[_Node, int]] = {}
        self._places: dict[int, int] = {}

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        node = self._nodes.get(path)
        if node is None:
            if not flags & os.O_CREAT:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            node = self._nodes[path] = self._node(is_folder=False)
            self._touch(self._folder(path))
        if flags & os.O_TRUNC:
            node.data.clear()
            self._touch(node)
        handle = next(self._numbers)
        self._handles[handle], self._places[handle] = (node, flags), 0
        return handle

    def close(self, handle: int) -> None:
        del self._handles[handle], self._places[handle]

    def write(self, handle: int, data: bytes) -> int:
        node, flags = self._handles[handle]
        place = len(node.data) if flags & os.O_APPEND else self._places[handle]
        node.data[place : place + len(data)] = data
        self._places[handle] = place + len(data)
        self._touch(node)
        return len(data)

    def pread(self, handle: int, size: int, offset: int) -> bytes:
        return bytes(self._handles[handle][0].data[offset : offset + size])

    def ftruncate(self, handle: int, size: int) -> None:
        node = self._handles[handle][0]
        del node.data[size:]
        self._touch(node)

    def fstat(self, handle: int) -> os.stat_result:
        return _status(self._handles[handle][0])

    def stat(self, path: Path) -> os.stat_result:
        return _status(self._at(path))

    def fdatasync(self, handle: int) -> None:
        """Do nothing: there is no other place to put it."""

    def fsync(self, handle: int) -> None:
        """Do nothing: there is no other place to put it."""

    def rename(self, source: Path, target: Path) -> None:
        node = self._at(source)
        self._touch(self._folder(target), self._folder(source))
        del self._nodes[source]
        self._nodes[target] = node

    def link(self, source: Path, target: Path) -> None:
        if target in self._nodes:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        self._touch(self._folder(target))
        self._nodes[target] = self._at(source)

    def unlink(self, path: Path) -> None:
        self._at(path)
        del self._nodes[path]
        self._touch(self._folder(path))

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        if path in self._nodes:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        self._touch(self._folder(path))
        self._nodes[path] = self._node(is_folder=True)

    def listdir(self, path: Path) -> list[str]:
        self._folder(path / "-")
        return [each.name for each in self._nodes if each.parent == path and each != path]

    def flock(self, handle: int, operation: int) -> None:
        """Do nothing: nobody else is there."""

    def _node(self, *, is_folder: bool) -> _Node:
        return _Node(next(self._numbers), is_folder=is_folder)

    def _at(self, path: Path) -> _Node:
        node = self._nodes.get(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return node

    def _folder(self, path: Path) -> _Node:
        node = self._at(path.parent)
        if not node.is_folder:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        return node

    def _touch(self, *nodes: _Node) -> None:
        for node in nodes:
            node.changed = next(self._numbers)


def _status(node: _Node) -> os.stat_result:
    mode = (stat.S_IFDIR | 0o700) if node.is_folder else (stat.S_IFREG | 0o600)
    values = (mode, node.inode, 0, 1, 0, 0, len(node.data), 0, 0, 0)
    return os.stat_result(values, {"st_mtime_ns": node.changed, "st_ctime_ns": node.changed})

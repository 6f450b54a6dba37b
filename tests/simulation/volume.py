"""A simulated volume that several processes share: names, files, locks, faults and power cuts."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.node import FileNode, FolderNode, Naming, Node

# A file system stamps times no finer than this.
GRAIN_NS = 4_000_000


@dataclass(slots=True)
class Weather:
    """How the disk behaves just now."""

    is_full: bool = False
    # How likely each call fails with EIO, and how likely a write takes only a part.
    trouble: float = 0.0
    short: float = 0.0


@dataclass(slots=True)
class Volume:
    """The files of one machine."""

    chance: random.Random
    now: Callable[[], int]
    weather: Weather = field(default_factory=Weather)
    root: FolderNode = field(default_factory=lambda: FolderNode(2, 0))
    _namings: list[Naming] = field(default_factory=list[Naming])
    _next: int = 11
    _free: list[int] = field(default_factory=list[int])

    def stamp(self) -> int:
        """Return the time as files are stamped with it."""
        return self.now() // GRAIN_NS * GRAIN_NS

    def number(self) -> int:
        """Return a number for a new file; one that a removed file had may come again."""
        if self._free and self.chance.random() < 0.7:
            return self._free.pop()
        self._next += 1
        return self._next

    def release(self, node: Node) -> None:
        """Give the number of a file back that has neither name nor reader."""
        if isinstance(node, FileNode) and not node.links and not node.opened:
            self._free.append(node.number)

    def find(self, path: Path) -> Node:
        """Return what lies at a path."""
        node: Node = self.root
        for name in _names(path):
            if not isinstance(node, FolderNode):
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
            found = node.entries.get(name)
            if found is None:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            node = found
        return node

    def parent(self, path: Path) -> tuple[FolderNode, str]:
        """Return the folder a path lies in, and its name there."""
        *names, last = _names(path)
        node: Node = self.root
        for name in names:
            found = node.entries.get(name)
            if found is None:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            if not isinstance(found, FolderNode):
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
            node = found
        return node, last

    def rename(self, *steps: tuple[FolderNode, str, Node | None]) -> None:
        """Change names, all of the steps or none; on disk once one of the folders is synced."""
        before = [folder.entries.get(name) for folder, name, _ in steps]
        naming = Naming(steps)
        naming.apply(is_on_disk=False)
        self._namings.append(naming)
        for folder, _, node in steps:
            folder.mtime = self.stamp()
            if isinstance(node, FileNode):
                node.links += 1
        for node in before:
            if isinstance(node, FileNode):
                node.links -= 1
                self.release(node)

    def make(self, path: Path) -> None:
        """Put a folder and its parents on disk, as they were before anything began."""
        node = self.root
        for name in _names(path):
            found = node.entries.get(name) or FolderNode(self.number(), self.stamp())
            assert isinstance(found, FolderNode)
            node.entries[name] = node.base[name] = found
            node = found

    def sync(self, folder: FolderNode) -> None:
        """Put the names of a folder on disk."""
        for naming in self._namings:
            if not naming.is_firm and any(each is folder for each, _, _ in naming.steps):
                naming.is_firm = True
        while self._namings and self._namings[0].is_firm:
            self._namings.pop(0).apply(is_on_disk=True)

    def cut_power(self) -> None:
        """Keep what was synced; of the rest, whatever chance leaves."""
        keeps = self.chance.choice((0.0, 0.3, 0.7, 1.0))
        for naming in self._namings:
            if naming.is_firm or self.chance.random() < keeps:
                naming.apply(is_on_disk=True)
        self._namings.clear()
        self._settle(self.root, keeps, set())

    def _settle(self, folder: FolderNode, keeps: float, seen: set[int]) -> None:
        folder.entries = dict(folder.base)
        for node in folder.entries.values():
            if isinstance(node, FolderNode):
                self._settle(node, keeps, seen)
                continue
            if id(node) not in seen:
                seen.add(id(node))
                node.cut(self.chance, keeps)
                node.links = 0
            node.links += 1

    def fail(self, call: str, path: str, *, grows: bool = False) -> None:
        """Refuse a call as the weather has it."""
        if grows and self.weather.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if self.weather.trouble and self.chance.random() < self.weather.trouble:
            raise OSError(errno.EIO, f"{os.strerror(errno.EIO)} at {call}", path)


def _names(path: Path) -> list[str]:
    return [name for name in str(path).split("/") if name]

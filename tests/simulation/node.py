"""Files and folders of a simulated volume: what is in memory, and what a power cut would leave."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True)
class Edit:
    """One change of a file's bytes; a cut to a size has no data."""

    offset: int
    data: bytes | None
    # On disk for certain.
    is_firm: bool = False
    # A sync failed: the system counts it as written, the disk may not have it.
    is_doubtful: bool = False

    def apply(self, content: bytearray, length: int | None = None) -> None:
        """Apply the change, or a first stretch of it."""
        size = self.offset
        if self.data is None:
            if len(content) > size:
                del content[size:]
            else:
                content.extend(bytes(size - len(content)))
            return
        data = self.data if length is None else self.data[:length]
        if size > len(content):
            content.extend(bytes(size - len(content)))
        content[size : size + len(data)] = data


@dataclass(slots=True, eq=False)
class FileNode:
    """One file, under whichever names."""

    number: int
    mtime: int
    data: bytearray = field(default_factory=bytearray)
    links: int = 0
    opened: int = 0
    # What is on disk for certain, and what came after.
    base: bytes = b""
    edits: list[Edit] = field(default_factory=list[Edit])

    def change(self, offset: int, data: bytes | None) -> None:
        """Change the file in memory."""
        edit = Edit(offset, data)
        edit.apply(self.data)
        self.edits.append(edit)

    def sync(self) -> None:
        """Put everything on disk that no failed sync has left in doubt."""
        if not any(edit.is_doubtful for edit in self.edits):
            self.base = bytes(self.data)
            self.edits.clear()
            return
        for edit in self.edits:
            edit.is_firm = not edit.is_doubtful

    def fail_sync(self, chance: random.Random) -> None:
        """Leave what was not on disk in doubt: no later sync looks at it again."""
        for edit in self.edits:
            if not edit.is_firm and not edit.is_doubtful:
                edit.is_firm = chance.random() < 0.5
                edit.is_doubtful = not edit.is_firm

    def cut(self, chance: random.Random, keeps: float) -> None:
        """Lose power: each change that is not on disk for certain is kept, lost or torn."""
        content = bytearray(self.base)
        for edit in self.edits:
            if edit.is_firm or chance.random() < keeps:
                edit.apply(content)
            elif edit.data and edit.offset >= len(content) and chance.random() < 0.3:
                # Only what makes a file longer is torn; a small place is overwritten whole or not at all.
                edit.apply(content, chance.randrange(len(edit.data)))
        self.data, self.base = content, bytes(content)
        self.edits.clear()
        self.opened = 0


@dataclass(slots=True, eq=False)
class FolderNode:
    """One folder."""

    number: int
    mtime: int
    entries: dict[str, Node] = field(default_factory=dict["str", "Node"])
    # The names that are on disk for certain.
    base: dict[str, Node] = field(default_factory=dict["str", "Node"])


Node: TypeAlias = FileNode | FolderNode


@dataclass(slots=True)
class Naming:
    """One change of names that happens whole or not at all: each folder, name, and what it names now."""

    steps: tuple[tuple[FolderNode, str, Node | None], ...]
    is_firm: bool = False

    def apply(self, *, is_on_disk: bool) -> None:
        """Apply the change to the names in memory, or to those on disk."""
        for folder, name, node in self.steps:
            names = folder.base if is_on_disk else folder.entries
            if node is None:
                names.pop(name, None)
            else:
                names[name] = node

"""List the memory of a member as files that can be read, and nothing beside them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from shipmate.workspace.file import FileCache
from shipmate.workspace.member import Member

FILES = 2_000


class MemoryPage(msgspec.Struct, frozen=True):
    """A file of a member's memory."""

    path: Path
    files: FileCache

    def read(self) -> str:
        """Return what it says by now; a link that leads out of the member's folder says nothing."""
        return self.files.read(self.path).text


def list_memory(member: Member) -> dict[str, MemoryPage]:
    """Return the files of a member's memory, by their paths from its folder; links are left out."""
    own = member.own
    cache = FileCache(own.root)
    places = [path for path in own.long_term_memory if path.is_file() and not path.is_symlink()]
    for folder, folders, names in os.walk(own.memory) if not own.memory.is_symlink() else ():
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found = (Path(folder, name) for name in sorted(names) if name.endswith(".md") and name[0] != ".")
        places += [path for path in found if path.is_file() and not path.is_symlink()]
        if len(places) > FILES:
            break
    return {path.relative_to(own.root).as_posix(): MemoryPage(path, cache) for path in places[:FILES]}

"""Read a member's memory: the index, long-term memory, today's note, the project's and the user's file."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date
from functools import lru_cache
from pathlib import Path

from shipmate.values.adapter_event import PERSON
from shipmate.values.event import surface_of
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.layout import Layout

# The tree document 003 describes; other folders follow by name.
FOLDERS = ("core", "projects", "daily", "topics")
# How many files of a memory are recalled from; three years of daily notes among them.
TREE_FILES = 2_000


def user_key(platform: str, user_id: str) -> str:
    """Return the key of a person; the same id on two platforms need not be the same person, unless joined."""
    if user_id.startswith(PERSON):
        return user_id.removeprefix(PERSON)
    return f"{platform}.{user_id}" if platform else user_id


@lru_cache(maxsize=64)
def _day_paths(own: Layout, day: date) -> tuple[str, ...]:
    return os.fspath(own.daily_note(day)), os.fspath(own.filed_daily_note(day))


@lru_cache(maxsize=256)
def _user_paths(layout: Layout, platform: str, user_id: str) -> tuple[str, ...]:
    # On a platform of others somebody may have chosen the name of another as their id.
    is_own = not platform or surface_of(platform).is_owner
    keys = [user_key(platform, user_id), user_id] if is_own else [user_key(platform, user_id)]
    return tuple(os.fspath(layout.user_memory(key)) for key in dict.fromkeys(keys))


@lru_cache(maxsize=256)
def _present(file: FileText) -> FileText:
    # The same object is given until the file changes; most say nothing of their entries.
    if not file.text.startswith("---"):
        return file
    from shipmate.memory.memory_entry import present

    return replace(file, text=present(file.text))


class MemoryReader:
    """Reads memory files, each once per change; a missing one is given as missing."""

    def __init__(self, layout: Layout, files: FileCache, own: Layout | None = None) -> None:
        self._layout = layout
        # The member's own files; the workspace's for the captain.
        self._own = own or layout
        self._files = files
        # Built once: a Path costs more to join than its file to stat.
        self._index = os.fspath(self._own.memory_index)
        self._long_term = [os.fspath(path) for path in self._own.long_term_memory]
        self._project = os.fspath(layout.project_memory)
        self._memory = os.fspath(self._own.memory)

    def index(self) -> FileText:
        """Return memory/INDEX.md."""
        return self._files.read(self._index)

    def long_term(self) -> FileText:
        """Return MEMORY.md, from memory/ or beside it."""
        return self._first(*self._long_term)

    def today(self, day: date) -> FileText:
        """Return the note of a day, as a prompt tells it."""
        return _present(self._first(*_day_paths(self._own, day)))

    def project(self) -> FileText:
        """Return what is known of the project, shared by all members, as a prompt tells it."""
        return _present(self._files.read(self._project))

    def user(self, platform: str, user_id: str) -> FileText:
        """Return what is known of a person: their file for this platform, else the one of their plain id."""
        return _present(self._first(*_user_paths(self._layout, platform, user_id)))

    def folders(self) -> list[str]:
        """Return the folders of the memory tree that exist, as paths from the workspace."""
        names = self._files.names(self._memory)
        if not names:
            return []
        known = [name for name in FOLDERS if name in names]
        others = [
            name for name in names if name not in FOLDERS and not name.startswith(".") and "." not in name
        ]
        place = os.path.relpath(self._memory, self._layout.root)
        return [f"{place}/{name}/" for name in known + others if Path(self._memory, name).is_dir()]

    def every(self, platform: str, user_id: str) -> list[FileText]:
        """Return all files that are recalled from, as they stand: the project's, a person's, the member's."""
        shared = [self._files.read(self._project)]
        if user_id:
            shared.append(self._first(*_user_paths(self._layout, platform, user_id)))
        return [each for each in (*shared, *self._tree()) if each.text]

    def _tree(self) -> list[FileText]:
        """Return the files of the member's own memory and its folders, none that begins with a dot."""
        found = [self._files.read(path) for path in self._long_term]
        folders = [self._memory]
        while folders and len(found) < TREE_FILES:
            folder = folders.pop()
            for name in self._files.names(folder):
                path = f"{folder}/{name}"
                if name.endswith(".md") and name[0] != ".":
                    found.append(self._files.read(path))
                elif "." not in name and os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
                    folders.append(path)
        return list({each.path: each for each in found}.values())

    def _first(self, *paths: str) -> FileText:
        """Return the first file that exists."""
        found = [self._files.read(path) for path in paths]
        return next((file for file in found if not file.is_missing), found[0])

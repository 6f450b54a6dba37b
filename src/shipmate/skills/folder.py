"""Look through one folder of skills, and read again only what changed in it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from shipmate.skills.skill import Origin, Skill, read_skill
from shipmate.workspace.file import FileCache, Stamp
from shipmate.workspace.finding import Finding

TEXT, CARD = "SKILL.md", "skill.json"
# Skills may lie in groups, as in `skills/office/letters/SKILL.md`; a folder with more in it is none.
GROUP_LIMIT = 100


@dataclass(slots=True)
class SkillFolder:
    """A folder of skills, with the stamps under which they were read."""

    path: str
    origin: Origin
    # What `read` takes before the name of a skill's folder.
    prefix: str
    files: FileCache
    skills: tuple[Skill, ...] = ()
    # The names of folders that hold no skill.
    empty: tuple[str, ...] = ()
    # The folders in which names may come and go, this one first, and what they held.
    _open: tuple[str, ...] = ()
    _names: tuple[tuple[str, ...], ...] = ()
    _paths: tuple[str, ...] = ()
    _stamps: list[Stamp | None] = field(default_factory=list[Stamp | None])

    def refresh(self) -> None:
        """Read the skills again if anything changed; those of the package never do."""
        if self.origin == "package" and self.skills:
            return
        is_same = bool(self._open) and self._names == self._list()
        if is_same and self.files.look(self._paths, self._stamps) == self._stamps:
            return
        self._look()
        self._stamps = self.files.settle(self.files.look(self._paths, [None] * len(self._paths)))
        self.skills = tuple(self._read())

    def findings(self) -> list[Finding]:
        """Return the folders that hold no skill."""
        return [self._describe_empty(name) for name in self.empty]

    def _list(self) -> tuple[tuple[str, ...], ...]:
        return tuple(map(self.files.names, self._open))

    def _look(self) -> None:
        """Find the folders that hold a skill or may come to hold one."""
        self._open = (self.path,)
        found: list[str] = []
        empty: list[str] = []
        for name in self._inner(self.path):
            found.append(name)
            folder = f"{self.path}/{name}"
            if os.path.lexists(f"{folder}/{TEXT}"):
                continue
            self._open += (folder,)
            # A link may lead round in a circle.
            inner = [] if os.path.islink(folder) else self._inner(folder)  # noqa: PTH114 - many in a row
            found += (f"{name}/{each}" for each in inner[:GROUP_LIMIT])
            if not any(os.path.lexists(f"{folder}/{each}/{TEXT}") for each in inner[:GROUP_LIMIT]):
                empty.append(name)
        self.empty = tuple(empty)
        self._names = self._list()
        self._paths = tuple(f"{self.path}/{name}/{file}" for name in found for file in (TEXT, CARD))

    def _inner(self, folder: str) -> list[str]:
        names = (name for name in self.files.names(folder) if not name.startswith("."))
        return [name for name in names if os.path.isdir(f"{folder}/{name}")]  # noqa: PTH112 - many in a row

    def _read(self) -> list[Skill]:
        found: list[Skill] = []
        for text_path, card_path in zip(self._paths[::2], self._paths[1::2], strict=True):
            text = self.files.read(text_path)
            if text.is_missing:
                continue
            name = text_path[len(self.path) + 1 : -len(TEXT) - 1]
            location = f"{self.prefix}{name}" if self.origin == "package" else f"{self.prefix}{name}/{TEXT}"
            card = self.files.read(card_path)
            found.append(read_skill(name.rpartition("/")[2], self.origin, location, text, card))
        return found

    def _describe_empty(self, name: str) -> Finding:
        place = f"{self.prefix}{name}"
        other = next(
            (each for each in self.files.names(f"{self.path}/{name}") if each.lower() == "skill.md"), ""
        )
        fix = f"rename {other} to {TEXT}" if other else f"put a {TEXT} into it, or move it elsewhere"
        return Finding("warn", f"skills: {place}", f"holds no {TEXT}, so it is no skill", fix)

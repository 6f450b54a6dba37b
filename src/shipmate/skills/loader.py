"""Find the skills of a member: its own, the workspace's and the package's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from shipmate.skills.location import BUILTIN, PREFIX
from shipmate.skills.requirement import Checker
from shipmate.skills.skill import Origin, Skill, read_skill
from shipmate.workspace.config import Skills
from shipmate.workspace.file import FileCache
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout


@dataclass(frozen=True, eq=False)
class SkillList:
    """Hold the skills a member has; the same object is given until something changes."""

    skills: tuple[Skill, ...]
    findings: tuple[Finding, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, Skill]:
        return {skill.name: skill for skill in self.skills}

    @cached_property
    def always(self) -> tuple[Skill, ...]:
        """Give the skills whose whole text is in every prompt."""
        return tuple(skill for skill in self.skills if skill.always and skill.is_available)

    @cached_property
    def listed(self) -> tuple[Skill, ...]:
        """Give the skills a prompt only names."""
        return tuple(skill for skill in self.skills if not (skill.always and skill.is_available))


@dataclass(slots=True)
class _Root:
    """Hold a folder of skills, with the stats under which its skills were read."""

    folder: str
    origin: Origin
    prefix: str
    files: FileCache
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    version: object = None
    skills: tuple[Skill, ...] = ()


@dataclass(slots=True)
class _Shelf:
    """Hold what was last found for one member."""

    roots: list[_Root]
    parts: tuple[object, ...] = ()
    found: SkillList = field(default_factory=lambda: SkillList(()))


class SkillsLoader:
    """List skills; each SKILL.md is read once per change."""

    def __init__(
        self, layout: Layout, settings: Skills, files: FileCache, environ: Mapping[str, str] | None = None
    ) -> None:
        self._layout = layout
        self._settings = settings
        self._files = files
        self._checker = Checker(os.environ if environ is None else environ)
        self._shelves: dict[str, _Shelf] = {}
        self._package = _Root(str(BUILTIN), "package", PREFIX, FileCache(BUILTIN))

    def find(self, member: str = CAPTAIN) -> SkillList:
        """Give a member's skills: its own first, then the workspace's, then the package's."""
        shelf = self._shelves.get(member)
        if shelf is None:
            shelf = self._shelves[member] = _Shelf(self._roots(member))
        self._checker.refresh()
        for root in shelf.roots:
            _refresh(root)
        needy = [skill for root in shelf.roots for skill in root.skills if skill.requirement]
        missing = {skill: self._checker.missing(skill.requirement) for skill in needy}
        parts = (*(root.skills for root in shelf.roots), tuple(missing.values()))
        if shelf.parts != parts:
            shelf.parts = parts
            shelf.found = _collect(shelf.roots, missing, frozenset(self._settings.disabled))
        return shelf.found

    def _roots(self, member: str) -> list[_Root]:
        places: list[tuple[Path, Origin]] = []
        if member != CAPTAIN:
            places.append((self._layout.member(member).skills, "member"))
        places.append((self._layout.skills, "workspace"))
        for path in self._settings.paths:
            places.append((self._layout.root / path, "workspace"))
        roots = [
            _Root(str(folder), origin, f"{os.path.relpath(folder, self._layout.root)}/", self._files)
            for folder, origin in places
        ]
        return [*roots, self._package]


def _refresh(root: _Root) -> None:
    """Read a root's skills again if anything in it changed."""
    if root.origin == "package" and root.skills:
        return
    names = root.files.names(root.folder)
    if names is not root.names:
        root.names = names
        root.paths = tuple(
            f"{root.folder}/{name}/{file}"
            for name in names
            if not name.startswith(".")
            for file in ("SKILL.md", "skill.json")
        )
        root.version = None
    version = root.files.version(root.paths)
    if version != root.version:
        root.version = root.files.settle(version)
        root.skills = tuple(_read(root))


def _read(root: _Root) -> list[Skill]:
    found: list[Skill] = []
    for at in range(0, len(root.paths), 2):
        text = root.files.read(root.paths[at])
        if text.is_missing:
            continue
        folder = root.paths[at].rsplit("/", 2)[1]
        location = f"{root.prefix}{folder}" if root.origin == "package" else f"{root.prefix}{folder}/SKILL.md"
        card = root.files.read(root.paths[at + 1])
        found.append(read_skill(folder, root.origin, location, text, card))
    return found


def _collect(
    roots: list[_Root], missing: dict[Skill, tuple[str, ...]], disabled: frozenset[str]
) -> SkillList:
    """Put the roots together: the first skill of a name wins, the others are reported."""
    chosen: dict[str, Skill] = {}
    findings: list[Finding] = []
    for root in roots:
        for skill in root.skills:
            findings += _findings(skill, missing.get(skill, ()))
            if not skill.enabled or skill.name in disabled or skill.folder in disabled:
                continue
            winner = chosen.setdefault(skill.name, skill)
            if winner is not skill:
                findings.append(_shadowed(skill, winner))
    skills = tuple(
        msgspec.structs.replace(skill, missing=missing[skill]) if missing.get(skill) else skill
        for skill in chosen.values()
    )
    return SkillList(skills, tuple(findings))


def _findings(skill: Skill, missing: tuple[str, ...]) -> list[Finding]:
    subject = f"skill {skill.name}"
    found = [
        Finding("warn", subject, f"{skill.location}: {problem}", f"edit {skill.location}")
        for problem in skill.problems
    ]
    if missing:
        found.append(
            Finding("warn", subject, f"cannot be used: missing {', '.join(missing)}", "install or set it")
        )
    return found


def _shadowed(skill: Skill, winner: Skill) -> Finding:
    if skill.origin == "package":
        return Finding("ok", f"skill {skill.name}", f"{winner.location} is used instead of the built-in one")
    return Finding(
        "warn",
        f"skill {skill.name}",
        f"{skill.location} is not used: {winner.location} has the same name",
        "rename or remove one of them",
    )

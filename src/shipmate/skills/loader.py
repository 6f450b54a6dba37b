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
from shipmate.workspace.file import DOUBTED, FileCache, Stamp
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
    """Hold a folder of skills, with the stamps under which they were read."""

    folder: str
    origin: Origin
    prefix: str
    files: FileCache
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    stamps: list[Stamp | None] = field(default_factory=list[Stamp | None])
    skills: tuple[Skill, ...] = ()


@dataclass(slots=True)
class _Shelf:
    """Hold what was last found for one member."""

    roots: list[_Root]
    skills: tuple[tuple[Skill, ...], ...] = ()
    # The variables some skill asks for, and what the machine had when this was found.
    variables: tuple[str, ...] = ()
    machine: tuple[object, ...] = ()
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
        for root in shelf.roots:
            _refresh(root)
        skills = tuple(root.skills for root in shelf.roots)
        if skills != shelf.skills:
            shelf.skills, shelf.machine = skills, ()
            needs = (name for group in skills for skill in group for name in skill.requirement.env)
            shelf.variables = tuple(dict.fromkeys(needs))
        machine = self._checker.describe(shelf.variables)
        if machine != shelf.machine:
            shelf.machine = machine
            shelf.found = self._collect(skills)
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

    def _is_left_out(self, names: set[str]) -> bool:
        only = self._settings.only
        return bool(names & set(self._settings.disabled)) or (only is not None and not names & set(only))

    def _collect(self, groups: tuple[tuple[Skill, ...], ...]) -> SkillList:
        """Put the roots together: the first skill of a name wins, the others are reported."""
        chosen: dict[str, Skill] = {}
        findings: list[Finding] = []
        for each in (skill for group in groups for skill in group):
            missing = self._checker.missing(each.requirement)
            skill = msgspec.structs.replace(each, missing=missing) if missing else each
            findings += _findings(skill)
            if not skill.enabled or self._is_left_out({skill.name, skill.folder}):
                continue
            winner = chosen.setdefault(skill.name, skill)
            if winner is not skill:
                findings.append(_shadowed(skill, winner))
        return SkillList(tuple(chosen.values()), tuple(findings))


def _refresh(root: _Root) -> None:
    """Read a root's skills again if anything in it changed; those of the package never do."""
    if root.origin == "package" and root.skills:
        return
    names = root.files.names(root.folder)
    if names is not root.names:
        root.names = names
        folders = [f"{root.folder}/{name}" for name in names if not name.startswith(".")]
        root.paths = tuple(f"{folder}/{file}" for folder in folders for file in ("SKILL.md", "skill.json"))
        root.stamps = [DOUBTED] * len(root.paths)
        root.skills = ()
    stamps = root.files.look(root.paths, root.stamps)
    if stamps != root.stamps:
        root.stamps = root.files.settle(stamps)
        root.skills = tuple(_read(root))


def _read(root: _Root) -> list[Skill]:
    found: list[Skill] = []
    for text_path, card_path in zip(root.paths[::2], root.paths[1::2], strict=True):
        text = root.files.read(text_path)
        if text.is_missing:
            continue
        folder = text_path.rsplit("/", 2)[1]
        ending = "" if root.origin == "package" else "/SKILL.md"
        location = f"{root.prefix}{folder}{ending}"
        found.append(read_skill(folder, root.origin, location, text, root.files.read(card_path)))
    return found


def _findings(skill: Skill) -> list[Finding]:
    subject = f"skill {skill.name}"
    found = [
        Finding("warn", subject, f"{skill.location}: {problem}", f"edit {skill.location}")
        for problem in skill.problems
    ]
    if skill.missing:
        missing = ", ".join(skill.missing)
        found.append(Finding("warn", subject, f"cannot be used: missing {missing}", "install or set it"))
    return found


def _shadowed(skill: Skill, winner: Skill) -> Finding:
    subject = f"skill {skill.name}"
    if skill.origin == "package":
        return Finding("ok", subject, f"{winner.location} is used instead of the built-in one")
    message = f"{skill.location} is not used: {winner.location} has the same name"
    return Finding("warn", subject, message, "rename or remove one of them")

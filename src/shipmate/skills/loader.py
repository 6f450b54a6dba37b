"""Find the skills of a member: its own, the workspace's and the package's."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from shipmate.skills.location import BUILTIN, PREFIX
from shipmate.skills.requirement import Checker
from shipmate.skills.skill import Origin, Skill, read_skill
from shipmate.workspace.config import Config
from shipmate.workspace.file import FileCache, Stamp
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

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


# Looked through after `skills/`, in every workspace: where Claude Code and Codex keep theirs.
OTHERS = (".claude/skills", ".agents/skills")

_package = SkillFolder(str(BUILTIN), "package", PREFIX, FileCache(BUILTIN))


@dataclass(frozen=True, eq=False)
class SkillList:
    """The skills a member has; the same object is given until something changes."""

    skills: tuple[Skill, ...]
    findings: tuple[Finding, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, Skill]:
        return {skill.name: skill for skill in self.skills}

    @cached_property
    def always(self) -> tuple[Skill, ...]:
        """Return the skills whose whole text is in every prompt."""
        return tuple(skill for skill in self.skills if _is_always(skill))

    @cached_property
    def listed(self) -> tuple[Skill, ...]:
        """Return the skills a prompt only names."""
        return tuple(skill for skill in self.skills if skill.is_for_model and not _is_always(skill))


def _is_always(skill: Skill) -> bool:
    return skill.always and skill.is_available and skill.is_for_model


@dataclass(slots=True)
class _State:
    """What was last found."""

    skills: tuple[tuple[Skill, ...], ...] = ()
    # The variables some skill asks for, whether any asks for binaries, and what the machine had when this
    # was found.
    variables: tuple[str, ...] = ()
    has_binaries: bool = False
    machine: tuple[object, ...] = ()
    found: SkillList = field(default_factory=lambda: SkillList(()))


class SkillsLoader:
    """Lists one member's skills; each SKILL.md is read once per change."""

    def __init__(
        self,
        layout: Layout,
        config: Config,
        files: FileCache,
        environ: MutableMapping[str, str] | None = None,
        *,
        own: Layout | None = None,
        folders: Sequence[Path | str] = (),
    ) -> None:
        self._layout = layout
        self._settings = config.skills
        # The member's own variables count as set: its commands get them.
        variables = ChainMap(config.env, os.environ if environ is None else environ)
        self._checker = Checker(variables, msgspec.to_builtins(config))
        self._findings: list[Finding] = []
        self._folders = [*self._find_folders(own or layout, files, folders), _package]
        self._state = _State()

    def find(self) -> SkillList:
        """Return the skills: the member's own first, then the workspace's, then the package's."""
        state = self._state
        for folder in self._folders:
            folder.refresh()
        skills = tuple(folder.skills for folder in self._folders)
        if skills != state.skills:
            state.skills, state.machine = skills, ()
            needs = [skill.requirement for group in skills for skill in group]
            state.variables = tuple(dict.fromkeys(name for each in needs for name in each.env))
            state.has_binaries = any(each.bins or each.any_bins for each in needs)
        machine = self._checker.describe(state.variables, has_binaries=state.has_binaries)
        # A folder that holds no skill says so, and one is put right without any skill coming or going.
        machine = (*machine, *(folder.empty for folder in self._folders))
        if machine != state.machine:
            state.machine = machine
            state.found = self._collect(skills)
        return state.found

    def _find_folders(
        self, own: Layout, files: FileCache, folders: Sequence[Path | str]
    ) -> Iterator[SkillFolder]:
        root = self._layout.root
        stated = [(root / path, f"skills.paths: {path}") for path in self._settings.paths]
        stated += [(root / path, f"skills: {path}") for path in folders]
        usable = [path for path, subject in stated if self._is_usable(path, subject)]
        places = [own.skills, self._layout.skills, *(root / name for name in OTHERS), *usable]
        for place in dict.fromkeys(map(os.path.normpath, places)):
            is_own = own.root != root and place == os.path.normpath(own.skills)
            origin: Origin = "member" if is_own else "workspace"
            yield SkillFolder(place, origin, f"{os.path.relpath(place, root)}/", files)

    def _is_usable(self, folder: Path, subject: str) -> bool:
        """Return whether a folder that was named can hold skills; say why when it cannot."""
        real, root = os.path.realpath(folder), os.path.realpath(self._layout.root)
        if not f"{real}/".startswith(f"{root}/"):
            message = "lies outside the workspace, so nothing in it can be read"
            self._findings.append(Finding("warn", subject, message, "copy its skills into skills/"))
            return False
        if not folder.is_dir():
            self._findings.append(
                Finding("warn", subject, "there is no such folder", "make it or remove it from ship.json")
            )
        return True

    def _is_left_out(self, names: set[str]) -> bool:
        only = self._settings.only
        return bool(names & set(self._settings.disabled)) or (only is not None and not names & set(only))

    def _collect(self, groups: tuple[tuple[Skill, ...], ...]) -> SkillList:
        """Put the folders together: the first skill of a name wins, the others are reported."""
        chosen: dict[str, Skill] = {}
        findings = [*self._findings, *(each for folder in self._folders for each in folder.findings())]
        for each in (skill for group in groups for skill in group):
            missing = (*each.missing, *self._checker.missing(each.requirement))
            skill = msgspec.structs.replace(each, missing=missing) if missing else each
            findings += _findings(skill)
            if not skill.enabled or self._is_left_out({skill.name, skill.folder}):
                continue
            winner = chosen.setdefault(skill.name, skill)
            if winner is not skill:
                findings.append(_shadowed(skill, winner))
        return SkillList(tuple(chosen.values()), tuple(findings))


def _findings(skill: Skill) -> list[Finding]:
    subject = f"skill {skill.name}"
    found = [
        Finding("warn", subject, f"{skill.location}: {problem}", f"edit {skill.location}")
        for problem in skill.problems
    ]
    if skill.missing:
        missing = ", ".join(skill.missing)
        found.append(
            Finding(
                "warn", subject, f"{skill.location} cannot be used: missing {missing}", "install or set it"
            )
        )
    if skill.allowed_tools:
        tools = ", ".join(skill.allowed_tools)
        found.append(Finding("ok", subject, f"allowed-tools ({tools}) gives no right: calls ask as ever"))
    return found


def _shadowed(skill: Skill, winner: Skill) -> Finding:
    subject = f"skill {skill.name}"
    if skill.origin == "package":
        return Finding("ok", subject, f"{winner.location} is used instead of the built-in one")
    message = f"{skill.location} is not used: {winner.location} has the same name"
    return Finding("warn", subject, message, "rename or remove one of them")

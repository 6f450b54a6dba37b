"""Define a kind of section: a name, and a function that writes its text for a scene."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo

import msgspec

from shipmate.context.request import ContextRequest, Stability
from shipmate.memory.reader import MemoryReader
from shipmate.memory.recalling import MemoryRecall
from shipmate.skills.loader import SkillList
from shipmate.workspace.config import Config
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.foreign.template import find_template
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member
from shipmate.workspace.secret.secret import MASK

# ZyHive cuts its files at about this length too.
FILE_TOKENS = 6_000


class Scene(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Everything a section may look at."""

    request: ContextRequest
    member: Member
    layout: Layout
    # The member's own files; the workspace's for the captain.
    own: Layout
    config: Config
    files: FileCache
    memory: MemoryReader
    recall: MemoryRecall
    skills: SkillList
    # In the configured zone.
    now: datetime
    style: str
    # The names of those that this prompt has.
    sections: frozenset[str]

    def path(self, file: FileText) -> str:
        """Return the name of a file as `read` takes it: from the workspace."""
        return file.path.removeprefix(f"{self.layout.root}/")

    def title(self, file: FileText) -> str:
        """Return the name of a file as its member knows it: from the member's own folder."""
        return self.path(file).removeprefix(f"{self.own.root.relative_to(self.layout.root)}/")


class Draft(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a section has to say; `text` may be cut, `fields` fill in the wording around it."""

    text: str = ""
    fields: dict[str, str] = {}
    source: str = ""
    reason: str = ""
    problem: str = ""
    # The wording file to use when it is not the section's own.
    wording: str = ""
    stability: Stability | None = None


class Omission(msgspec.Struct, frozen=True, eq=False):
    """Why a section has nothing to say."""

    reason: str
    source: str = ""
    problem: str = ""


Writer = Callable[[Scene], Draft | Omission]


class SectionKind(msgspec.Struct, frozen=True, eq=False):
    """A section's name and the function that writes it."""

    name: str
    title: str
    stability: Stability
    write: Writer
    # How many tokens it may take when ship.json does not say.
    limit: int | None = None


@cache
def section_kinds() -> dict[str, SectionKind]:
    """Gather the kinds that the modules of `context.sections` define."""
    from shipmate.context import sections

    kinds: dict[str, SectionKind] = {}
    for module in pkgutil.iter_modules(sections.__path__, f"{sections.__name__}."):
        found: tuple[SectionKind, ...] = importlib.import_module(module.name).KINDS
        kinds.update((kind.name, kind) for kind in found)
    return kinds


@lru_cache(maxsize=256)
def _bootstrap_path(layout: Layout, name: str) -> str:
    # Joined once: a Path costs more to join than its file to stat.
    return os.fspath(layout.bootstrap(name))


def read_bootstrap(scene: Scene, name: str, *, is_shared: bool) -> FileText:
    """Read a bootstrap file: the member's own, or, for one about the place, the workspace's."""
    file = scene.files.read(_bootstrap_path(scene.own, name))
    if file.is_missing and is_shared and scene.own is not scene.layout:
        return scene.files.read(_bootstrap_path(scene.layout, name))
    return file


@lru_cache(maxsize=1024)
def _find_template(file: FileText) -> str:
    # The same object is given until the file changes.
    return find_template(file.path.rpartition("/")[2], file.text)


def cover_keys(scene: Scene, text: str) -> str:
    """Return a text without the keys that stand in the clear in the settings of another program."""
    known = scene.layout.recognised
    for key in known.secrets if known else ():
        text = text.replace(key, MASK)
    return text


def draft_file(scene: Scene, file: FileText, wording: str = "") -> Draft | Omission:
    """Write a section that is one file."""
    source = scene.path(file)
    if file.is_missing:
        return Omission(f"there is no {source}")
    if not file.text.strip():
        return Omission(f"left out: {file.problem}", source, file.problem)
    if program := _find_template(file):
        return Omission(f"left out: the untouched template of {program}", source)
    return Draft(
        text=cover_keys(scene, file.text.strip()),
        fields={"source": source, "title": scene.title(file)},
        source=source,
        reason=file.problem or "the file is there",
        problem=file.problem,
        wording=wording,
    )


@cache
def find_zone(name: str) -> tzinfo | None:
    """Find a zone by name; None for the machine's own, also when there is no such zone."""
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        # An unknown zone is a KeyError; odd names raise the others. All mean the same to the caller.
        return None


def tell_time(now: datetime | None, zone: str) -> datetime:
    """Return a moment (now by default) in a zone; one without a zone is taken as UTC."""
    moment = now or datetime.now(UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(find_zone(zone))

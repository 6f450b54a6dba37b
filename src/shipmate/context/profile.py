"""Order sections: the three profiles of the package and those of ship.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shipmate.context.section import section_kinds
from shipmate.errors import ConfigError
from shipmate.workspace.config import ContextSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Sections in order, in parts that a separator divides."""

    name: str
    parts: tuple[tuple[str, ...], ...]
    separator: str = "\n\n"
    # The wording of the heading over a part, by the part's first section; a part without text has none.
    headings: Mapping[str, str] = field(default_factory=dict[str, str])
    # Whose wordings are used; what a style does not word is worded as in `shipmate`.
    style: str = "shipmate"
    # The zone when ship.json names none; the machine's when empty.
    timezone: str = ""
    # The system prompt holds every section, as a document lays down; else what belongs to a turn stands with
    # the words of that turn, so that nothing before them ever changes.
    is_whole: bool = False

    def __iter__(self) -> Iterator[str]:
        return (name for part in self.parts for name in part)


def _each(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple((name,) for name in names)


# From what never changes to what changes every turn, so that a provider's cached prefix holds.
SHIPMATE = Profile(
    name="shipmate",
    parts=_each("core", "agent", "agents", "soul", "user", "tools", "identity", "relations")
    + _each("always-skills", "skills", "environment", "runtime", "projects")
    + _each("memory-index", "memory-tree", "project-memory", "today", "user-memory")
    + _each("asked-skills", "recall", "skill-matches", "extra"),
)

# Document 001. Agent.md, which its workspaces lack, leads the bootstrap files; what was remembered stands at
# the end of memory.
NANOBOT = Profile(
    name="nanobot",
    parts=(
        ("core",),
        ("agent", "agents", "soul", "user", "tools", "identity"),
        ("memory-notes", "project-memory", "user-memory", "recall"),
        ("always-skills", "asked-skills"),
        ("skills", "skill-matches"),
        ("extra",),
    ),
    separator="\n\n---\n\n",
    headings={"memory-notes": "memory"},
    style="nanobot",
    is_whole=True,
)

# Document 003, its twelve sections. Agent.md, which its workspaces lack, stands before IDENTITY.md, and what
# was remembered after the index of memory.
ZYHIVE = Profile(
    name="zyhive",
    parts=_each("time", "agent", "identity", "soul")
    + _each("memory-index", "project-memory", "user-memory", "recall", "memory-tree", "relations")
    + _each("skill-texts", "agents", "projects", "extra", "environment", "runtime"),
    style="zyhive",
    timezone="Asia/Shanghai",
    is_whole=True,
)

# The sections that tell what is in memory.
MEMORY = frozenset(
    {"memory-index", "memory-tree", "memory-notes", "today", "project-memory", "user-memory", "recall"}
)

PROFILES = {profile.name: profile for profile in (SHIPMATE, NANOBOT, ZYHIVE)}


def choose_profile(settings: ContextSettings, name: str | None = None) -> Profile:
    """Find a profile by name: one of ship.json's, else one of the package's."""
    wanted = name or settings.profile
    sections = settings.profiles.get(wanted)
    if sections is None:
        if wanted in PROFILES:
            return PROFILES[wanted]
        known = ", ".join([*settings.profiles, *PROFILES])
        raise ConfigError(f"there is no context profile {wanted!r}. Choose one of: {known}.")
    unknown = [section for section in sections if section not in section_kinds()]
    if unknown:
        known = ", ".join(section_kinds())
        raise ConfigError(
            f"context.profiles.{wanted}: there is no section {unknown[0]!r}. There are: {known}."
        )
    return Profile(name=wanted, parts=_each(*dict.fromkeys(sections)))

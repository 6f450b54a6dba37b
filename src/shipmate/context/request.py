"""Describe what is asked of the context builder, and what it gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.tool_name import OFFERED, is_among, names_of

# Notes whose lines stand for themselves.
LISTS = frozenset({"recall", "skill-matches"})

Stability = Literal["stable", "slow", "volatile"]


class ToolDescription(Protocol):
    """What the prompt must know of a tool; `ToolSpec` is one."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> JsonObject: ...


class NamedTool(msgspec.Struct, frozen=True):
    """A tool of which only the name is known."""

    name: str
    description: str = ""
    schema: JsonObject = {}


def offered_tools(only: Sequence[str] | None = None) -> tuple[NamedTool, ...]:
    """Return what prompts name when nobody says which tools there are; `only` is a member's list."""
    return tuple(NamedTool(name) for name in OFFERED if only is None or is_among(names_of(name), only))


class ContextRequest(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """For whom, and from what, a prompt is built."""

    thread_id: str | None = None
    user_id: str = ""
    platform: str = ""
    model: str = ""
    tools: Sequence[ToolDescription] = ()
    # The person's last words; they choose which skills come to the fore.
    last_text: str = ""
    # What the caller adds about where this was said.
    extra_context: str | None = None
    # Pieces of memory found for these words.
    recalled: Sequence[str] = ()
    # Skills to give in full this time.
    skill_names: Sequence[str] = ()
    # The moment the prompt speaks of; now when not given.
    now: datetime | None = None
    profile: str | None = None
    # How many tokens the model reads at once; None when nobody knows.
    window: int | None = None


class Section(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One named piece of a prompt, with its cost and the reason it is in or out."""

    name: str
    title: str
    # As it stands in the prompt, heading included; empty when left out.
    text: str
    source: str
    stability: Stability
    bytes: int
    tokens: int
    included: bool
    reason: str
    # Where it begins in the prompt, in bytes.
    start: int = 0
    # Set when part of it was cut away.
    is_cut: bool = False
    problem: str = ""


class Context(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A built prompt and how it came about."""

    profile: str
    system: str
    sections: Sequence[Section]
    # How many leading bytes of `system` stay the same from turn to turn.
    stable_bytes: int
    tools_bytes: int
    # Estimate for the prompt and the tool schemas, without the messages.
    tokens: int
    # How many of the model's own tokens one estimated token stands for.
    ratio: float = 1.0
    # The zone for the times of messages; None where the prompt itself tells the time.
    zone: str | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether the prompt holds every section itself, those that belong to a turn too."""
        return self.zone is None

    @property
    def lasting(self) -> str:
        """Return the system prompt as it is sent, from turn to turn the same while no file changes."""
        if self.is_whole:
            return self.system
        return self.stable.rstrip() if self.notes else self.stable

    @property
    def notes(self) -> list[Section]:
        """Return what stands with the words of this turn; the time of those stands there anyway."""
        if self.is_whole:
            return []
        volatile = (each for each in self.sections if each.stability == "volatile")
        return [each for each in volatile if each.included and each.name != "time"]

    def is_note(self, section: Section) -> bool:
        """Return whether a section stands with the words of this turn, not in the system prompt."""
        return not self.is_whole and section.included and section.stability == "volatile"

    @property
    def bytes(self) -> int:
        """Count what the prompt and the tool schemas take on the wire."""
        return len(self.system.encode()) + self.tools_bytes

    @property
    def stable(self) -> str:
        """Return the part of the prompt that a provider can cache."""
        return self.system.encode()[: self.stable_bytes].decode()

    @property
    def volatile(self) -> str:
        """Return the part of the prompt that belongs to this turn alone."""
        return self.system.encode()[self.stable_bytes :].decode()


def choose_fresh(notes: Sequence[Section], told: Collection[str]) -> str:
    """Return what of a turn's notes the course was not told yet: whole notes, of lists their new lines."""
    kept: list[str] = []
    for note in notes:
        lines = note.text.splitlines()
        if all(line in told for line in lines if line.strip()):
            continue
        if note.name in LISTS:
            lines = [line for line in lines if line not in told or not line.strip() or line.startswith("#")]
        kept.append("\n".join(lines))
    return "\n\n".join(kept)

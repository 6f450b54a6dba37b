"""The rule by which members remember."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from shipmate.workspace.settings.config_section import ConfigSection

EntryKind: TypeAlias = Literal["fact", "preference", "decision"]
KINDS: tuple[EntryKind, ...] = ("fact", "preference", "decision")


class MemoryRule(ConfigSection, frozen=True, kw_only=True):
    """The rule by which members remember; what ship.json states counts before an Agent.md."""

    every: Annotated[
        Annotated[int, Meta(ge=0, le=10_000)] | None,
        Meta(description="so many turns of a thread are looked through for what lasts; 0 never"),
    ] = None
    keep: Annotated[
        tuple[EntryKind, ...] | None,
        Meta(description="what is looked for; all three when not set"),
    ] = None
    avoid: Annotated[
        tuple[str, ...] | None, Meta(description="words of what must not be remembered, such as salary")
    ] = None

    def over(self, other: MemoryRule) -> MemoryRule:
        """Return these settings, and those of another where these say nothing."""
        stated = {
            name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None
        }
        return msgspec.structs.replace(other, **stated)

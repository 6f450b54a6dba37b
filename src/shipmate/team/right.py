"""Say what each of a team may see: their own threads, those shared with them, and admins all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from shipmate.team.user import OWNER, ROLES, Role, User
from shipmate.values.event import GUEST
from shipmate.values.message import JsonObject

# The settings of a thread that say whose it is.
OWNED_BY = "owner"
SHARED_WITH = "sharedWith"


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asking, and as what."""

    # Empty for whoever holds the workspace itself.
    uid: str = ""
    id: str = OWNER
    name: str = ""
    role: Role = "admin"

    @classmethod
    def of(cls, user: User) -> Viewer:
        """Return how somebody of a team asks."""
        return cls(uid=user.uid, id=user.id, name=user.name, role=user.role)

    @property
    def speaker(self) -> str:
        """Return what they are called in events; the words of guests decide nothing."""
        if not self.uid:
            return OWNER
        return f"{GUEST}{self.id}" if self.role == "guest" else f"user:{self.id}"

    @property
    def shown(self) -> str | None:
        """Return how they are called beside their words; the owner needs no name."""
        return (self.name or self.id) if self.uid else None

    @property
    def filter(self) -> str | None:
        """Return whose threads a list shows; None for all."""
        return None if self.has("admin") else self.uid

    def has(self, role: Role) -> bool:
        """Return whether they may do what a role may."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def owns(self, settings: Mapping[str, Any]) -> bool:
        """Return whether a thread is theirs to share; an admin has them all."""
        return self.has("admin") or settings.get(OWNED_BY) == self.uid

    def sees(self, settings: Mapping[str, Any]) -> bool:
        """Return whether a thread of such settings is shown to them."""
        shared = settings.get(SHARED_WITH)
        return self.owns(settings) or (isinstance(shared, list) and self.uid in shared)

    def claim(self, settings: Mapping[str, Any]) -> JsonObject:
        """Return the settings of a new thread of theirs, made like another of such settings."""
        kept = {key: value for key, value in settings.items() if key not in (OWNED_BY, SHARED_WITH)}
        return {**kept, **({OWNED_BY: self.uid} if self.uid else {})}


# Whoever holds the workspace's own token, or its files.
THE_OWNER = Viewer()

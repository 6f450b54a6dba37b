"""Describe the people of a team, what they prove themselves with, and what keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import msgspec

from shipmate.errors import UserError

Role: TypeAlias = Literal["guest", "member", "admin"]
# Each may do what those before it may.
ROLES: tuple[Role, ...] = ("guest", "member", "admin")
USER_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
# Who holds the workspace's own token, in events and in lists; nobody of a team may be called so.
OWNER = "owner"


class AccessKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What somebody proves themselves with: a token of a program, or the session of a browser."""

    id: str
    kind: Literal["token", "session"]
    # SHA-256 of the secret, which nobody keeps: it is random, so that nothing is won by trying.
    digest: str
    label: str = ""
    created_at: str
    expires_at: str | None = None
    used_at: str | None = None


class User(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Somebody of a team."""

    # What they sign in as; it may be given to somebody else once they are gone.
    id: str
    # What their threads are known by, which is given once.
    uid: str
    name: str = ""
    role: Role
    is_disabled: bool = False
    password: str = ""
    # Who they are at an OpenID provider: its address and its name for them.
    identity: str = ""
    created_at: str
    keys: tuple[AccessKey, ...] = ()


Change: TypeAlias = Callable[[User | None], User | None]


class Users(Protocol):
    """Where the people of a team are kept: a file, or the database of a fleet."""

    async def list(self) -> list[User]:
        """List everybody, by id."""
        ...

    async def find(self, user_id: str) -> User | None: ...

    async def change(self, user_id: str, change: Change) -> User | None:
        """Put what `change` makes of somebody in their place, while nobody else changes them.

        It is given None where there is nobody, and takes somebody out by returning None. What it raises
        leaves everything as it was.
        """
        ...


def check_user_id(text: str) -> str:
    """Return an id that somebody may sign in as."""
    if text == OWNER or not USER_ID.fullmatch(text):
        raise UserError(
            f"{text[:60]!r} is no name to sign in as: at most 40 of a-z, 0-9, '.', '_' and '-', "
            f"and not {OWNER!r}."
        )
    return text

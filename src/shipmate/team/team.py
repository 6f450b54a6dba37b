"""Let people of a team in: give them passwords and tokens, know them by these, and take them back."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from shipmate.errors import NotFoundError, UserError
from shipmate.team.password import check_password, opens, seal_password
from shipmate.team.user import AccessKey, Role, User, Users, check_user_id
from shipmate.team.user_file import UserFile
from shipmate.values.message import new_id, timestamp
from shipmate.workspace.layout import Layout

# What every token and session of a team begins with, so that it is known for one where it is found.
MARK = "shm"
SECRET_BYTES = 32
SESSION_LASTS = timedelta(days=7)
# Whether somebody still belongs to a company is asked of it at least twice a day.
COMPANY_SESSION_LASTS = timedelta(hours=12)
TOKEN_LIMIT = 50
SESSION_LIMIT = 50
# How exactly it is known when a key was used last: each note is a write.
USE_STEP = timedelta(minutes=1)
NAME_LIMIT = 80


class Team:
    """The people of one workspace. Without anybody in it, nothing is asked of it."""

    def __init__(self, users: Users, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.users = users
        self._clock = clock

    async def add(
        self, user_id: str, role: Role, *, name: str = "", password: str = "", identity: str = ""
    ) -> User:
        """Take somebody in."""
        made = User(
            id=check_user_id(user_id),
            uid=new_id("u"),
            name=_clean(name),
            role=role,
            password=await seal_password(check_password(password, user_id)) if password else "",
            identity=identity,
            created_at=self._now(),
        )

        def put(known: User | None) -> User:
            if known is not None:
                raise UserError(f"there is a {user_id} already. Choose another name.")
            return made

        await self.users.change(user_id, put)
        return made

    async def get(self, user_id: str) -> User:
        """Return somebody, or say that there is nobody."""
        found = await self.users.find(user_id)
        if found is None:
            raise _nobody(user_id)
        return found

    async def alter(
        self,
        user_id: str,
        *,
        name: str | None = None,
        role: Role | None = None,
        is_disabled: bool | None = None,
    ) -> User:
        """Change what is said of somebody; who is disabled or gets another role signs in anew."""

        def put(user: User) -> User:
            new = msgspec.structs.replace(
                user,
                name=user.name if name is None else _clean(name),
                role=role or user.role,
                is_disabled=user.is_disabled if is_disabled is None else is_disabled,
            )
            is_same = (new.role, new.is_disabled) == (user.role, user.is_disabled)
            return new if is_same else _without(new, "session")

        return await self._change(user_id, put)

    async def remove(self, user_id: str) -> User:
        """Take somebody out. Their threads stay, for admins; nobody who is called so later gets them."""
        gone = await self.get(user_id)
        await self.users.change(user_id, lambda _: None)
        return gone

    async def set_password(self, user_id: str, password: str) -> User:
        """Set another password for somebody, or none; every session ends."""
        sealed = await seal_password(check_password(password, user_id)) if password else ""
        return await self._change(
            user_id, lambda user: _without(msgspec.structs.replace(user, password=sealed), "session")
        )

    async def sign_in(self, user_id: str, password: str) -> User | None:
        """Return who has a name and a password; as slow where there is nobody."""
        found = await self.users.find(user_id)
        is_right = await opens(found.password if found else "", password)
        return found if found and is_right and not found.is_disabled else None

    async def sign_in_as(self, user_id: str, identity: str, role: Role, name: str) -> User:
        """Return who somebody is at an OpenID provider; at the first time they are taken in."""
        for each in await self.users.list():
            if each.identity and hmac.compare_digest(each.identity.encode(), identity.encode()):
                if each.is_disabled:
                    raise UserError(f"{each.id} may not sign in any more. Ask an admin.")
                return each if each.role == role else await self.alter(each.id, role=role)
        # A name alone proves nothing: whoever has it here already may be somebody else.
        return await self.add(user_id, role, name=name, identity=identity)

    async def issue(
        self,
        user_id: str,
        kind: Literal["token", "session"],
        label: str = "",
        *,
        lasts: timedelta | None = None,
    ) -> tuple[AccessKey, str]:
        """Make a key of somebody; its secret is told once, here, and kept nowhere."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        now = self._clock()
        key = AccessKey(
            id=secrets.token_hex(6),
            kind=kind,
            digest=_digest(secret),
            label=_clean(label),
            created_at=timestamp(now),
            expires_at=timestamp(now + lasts) if lasts else None,
        )

        def put(user: User) -> User:
            fresh = [each for each in user.keys if not self._is_over(each)]
            mine = [each for each in fresh if each.kind == kind]
            if kind == "token" and len(mine) >= TOKEN_LIMIT:
                raise UserError(f"{user_id} has {TOKEN_LIMIT} tokens already. Revoke some first.")
            # Of sessions the oldest gives way.
            gone = mine[: max(0, len(mine) - SESSION_LIMIT + 1)]
            return msgspec.structs.replace(user, keys=(*(each for each in fresh if each not in gone), key))

        await self._change(user_id, put)
        return key, f"{MARK}.{user_id}.{key.id}.{secret}"

    async def revoke(self, user_id: str, key_id: str) -> None:
        """Take a key back: nobody is let in by it any more."""
        found = await self.get(user_id)
        if all(each.id != key_id for each in found.keys):
            raise NotFoundError(f"{user_id} has no token {key_id[:40]!r}. List those there are.")
        await self._change(
            user_id,
            lambda user: msgspec.structs.replace(
                user, keys=tuple(each for each in user.keys if each.id != key_id)
            ),
        )

    async def end_sessions(self, user_id: str) -> None:
        """Sign somebody out everywhere."""
        await self._change(user_id, lambda user: _without(user, "session"))

    async def admit(self, text: str, kind: Literal["token", "session"]) -> tuple[User, AccessKey] | None:
        """Return whose key a text is, and note that it was used."""
        mark, _, rest = text.partition(".")
        body, _, secret = rest.rpartition(".")
        user_id, _, key_id = body.rpartition(".")
        if mark != MARK or not secret.isascii():
            return None
        user = await self.users.find(user_id)
        key = next((each for each in user.keys if each.id == key_id), None) if user else None
        # The digest is made in any case, so that a name that is known takes no longer than one that is not.
        is_right = hmac.compare_digest(_digest(secret), key.digest if key else "0" * 64)
        if user is None or key is None or not is_right:
            return None
        if key.kind != kind or user.is_disabled or self._is_over(key):
            return None
        await self._note_use(user.id, key)
        return user, key

    async def _note_use(self, user_id: str, key: AccessKey) -> None:
        now = self._clock()
        if (key.used_at or "") >= timestamp(now - USE_STEP):
            return
        used = msgspec.structs.replace(key, used_at=timestamp(now))

        def put(user: User | None) -> User | None:
            keys = tuple(used if each.id == key.id else each for each in user.keys) if user else ()
            return user and msgspec.structs.replace(user, keys=keys)

        await self.users.change(user_id, put)

    async def _change(self, user_id: str, change: Callable[[User], User]) -> User:
        def put(user: User | None) -> User:
            if user is None:
                raise _nobody(user_id)
            return change(user)

        found = await self.users.change(user_id, put)
        assert found is not None
        return found

    def _is_over(self, key: AccessKey) -> bool:
        return key.expires_at is not None and key.expires_at <= self._now()

    def _now(self) -> str:
        return timestamp(self._clock())


def open_team(layout: Layout) -> Team:
    """Return the people of a workspace, wherever they are kept."""
    return Team(UserFile(layout))


def _without(user: User, kind: str) -> User:
    return msgspec.structs.replace(user, keys=tuple(each for each in user.keys if each.kind != kind))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _clean(text: str) -> str:
    return "".join(each for each in text if each.isprintable()).strip()[:NAME_LIMIT]


def _nobody(user_id: str) -> NotFoundError:
    return NotFoundError(f"there is no {user_id[:60]!r} in the team. `shipmate users` lists who is.")

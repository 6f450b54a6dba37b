"""Let admins see who is in the team, take people in, change what they may, and take them out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import StrictBool, StringConstraints
from starlette.responses import Response

from shipmate.server.routes.team.account_key import (
    NewToken,
    TokenMade,
    TokenView,
    issue_token,
    list_tokens,
)
from shipmate.server.routes.team.sign_in import Secret
from shipmate.server.shape import Answer, ExactShape, Json, Slot, empty, tells
from shipmate.server.site import TheSite
from shipmate.team.user import Role, User

UserName = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1, max_length=60)
]
router = APIRouter(tags=["team"])


class NewUser(ExactShape):
    """Somebody to take in; without a password they sign in by a token, or at the OpenID provider."""

    id: UserName
    role: Role = "member"
    name: Slot = ""
    password: Secret | None = None


class UserChange(ExactShape):
    """What is said of somebody from now on."""

    name: Slot | None = None
    role: Role | None = None
    disabled: StrictBool | None = None


class NewPassword(ExactShape):
    """The password somebody has from now on."""

    password: Secret


class UserView(Answer):
    """Somebody of the team, without anything secret."""

    id: str
    name: str
    role: Role
    disabled: bool
    has_password: bool
    # They come from the OpenID provider, which says what role they have.
    is_foreign: bool
    created_at: str
    used_at: str | None
    sessions: int
    tokens: list[TokenView]


class UserList(Answer):
    """The team, by name."""

    users: list[UserView]


@router.get("/api/users", openapi_extra=tells(UserList))
async def read_users(site: TheSite) -> Response:
    """List the team."""
    return Json(UserList(users=[_show(each) for each in await site.team.users.list()]))


@router.post("/api/users", status_code=201, openapi_extra=tells(UserView))
async def add_user(site: TheSite, body: NewUser) -> Response:
    """Take somebody in."""
    made = await site.team.add(body.id, body.role, name=body.name, password=body.password or "")
    return Json(_show(made), 201)


@router.patch("/api/users/{user_id}", openapi_extra=tells(UserView))
async def change_user(site: TheSite, user_id: str, body: UserChange) -> Response:
    """Change the name or the role of somebody, or whether they may sign in."""
    changed = await site.team.alter(user_id, name=body.name, role=body.role, is_disabled=body.disabled)
    return Json(_show(changed))


@router.delete("/api/users/{user_id}", status_code=204)
async def remove_user(site: TheSite, user_id: str) -> Response:
    """Take somebody out; their threads stay, for admins."""
    await site.team.remove(user_id)
    return empty()


@router.post("/api/users/{user_id}/password", status_code=204)
async def give_password(site: TheSite, user_id: str, body: NewPassword) -> Response:
    """Set another password for somebody; every session of theirs ends."""
    await site.team.set_password(user_id, body.password)
    return empty()


@router.post("/api/users/{user_id}/tokens", status_code=201, openapi_extra=tells(TokenMade))
async def give_token(site: TheSite, user_id: str, body: NewToken) -> Response:
    """Make a token of somebody; its secret is told once, here."""
    return Json(await issue_token(site, user_id, body), 201)


@router.delete("/api/users/{user_id}/tokens/{key_id}", status_code=204)
async def take_token(site: TheSite, user_id: str, key_id: str) -> Response:
    """Take a token of somebody back."""
    await site.team.revoke(user_id, key_id)
    return empty()


@router.post("/api/users/{user_id}/logout", status_code=204)
async def sign_out_user(site: TheSite, user_id: str) -> Response:
    """Sign somebody out everywhere."""
    await site.team.end_sessions(user_id)
    return empty()


def _show(user: User) -> UserView:
    listed = list_tokens(user)
    return UserView(
        id=user.id,
        name=user.name,
        role=user.role,
        disabled=user.is_disabled,
        has_password=bool(user.password),
        is_foreign=bool(user.identity),
        created_at=user.created_at,
        used_at=max((each.used_at or "" for each in user.keys), default="") or None,
        sessions=listed.sessions,
        tokens=listed.tokens,
    )

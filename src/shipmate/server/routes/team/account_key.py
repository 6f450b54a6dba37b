"""Show people of a team their own tokens, make new ones, and change their password."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from shipmate.server.guard.error import ApiError
from shipmate.server.guard.security import busy, set_session
from shipmate.server.guard.viewer import viewer
from shipmate.server.routes.team.sign_in import Secret
from shipmate.server.shape import Answer, ExactShape, Json, Slot, empty, tells
from shipmate.server.site import Site, TheSite
from shipmate.team.team import SESSION_LASTS
from shipmate.team.user import AccessKey, User

router = APIRouter(tags=["team"])


class NewToken(ExactShape):
    """What a token is for, and for how many days; without, until it is revoked."""

    label: Slot = ""
    days: Annotated[int, Field(ge=1, le=3650)] | None = None


class PasswordChange(ExactShape):
    """The password so far, and the one from now on."""

    current: Secret
    password: Secret


class TokenView(Answer):
    """A token, without its secret."""

    id: str
    label: str
    created_at: str
    expires_at: str | None
    used_at: str | None


class TokenMade(TokenView):
    """A new token, with its secret: nobody can show it again."""

    token: str


class TokenList(Answer):
    """The tokens of one person, oldest first, and how many browsers are signed in."""

    tokens: list[TokenView]
    sessions: int


@router.get("/api/account/tokens", openapi_extra=tells(TokenList))
async def read_tokens(site: TheSite) -> Response:
    """List one's own tokens."""
    return Json(list_tokens(await _me(site)))


@router.post("/api/account/tokens", status_code=201, openapi_extra=tells(TokenMade))
async def make_token(site: TheSite, body: NewToken) -> Response:
    """Make a token of one's own; its secret is told once, here."""
    return Json(await issue_token(site, (await _me(site)).id, body), 201)


@router.delete("/api/account/tokens/{key_id}", status_code=204)
async def revoke_token(site: TheSite, key_id: str) -> Response:
    """Take one of one's own tokens back."""
    await site.team.revoke((await _me(site)).id, key_id)
    return empty()


@router.post("/api/account/password", status_code=204)
async def change_password(request: Request, site: TheSite, body: PasswordChange) -> Response:
    """Change one's own password; every other session ends."""
    me = await _me(site)
    if wait := site.guesses.wait(me.id):
        raise busy(wait)
    if await site.team.sign_in(me.id, body.current) is None:
        raise ApiError(403, "forbidden", "The password so far is another one.", "Type it again.")
    await site.team.set_password(me.id, body.password)
    response = empty()
    if request.scope["shipmate.credential"] == "cookie":
        _, secret = await site.team.issue(me.id, "session", lasts=SESSION_LASTS)
        set_session(response.headers, site.token, request.scope, secret)
    return response


async def issue_token(site: Site, user_id: str, body: NewToken) -> TokenMade:
    """Make a token of somebody."""
    lasts = None if body.days is None else timedelta(days=body.days)
    key, secret = await site.team.issue(user_id, "token", body.label, lasts=lasts)
    shown = show_key(key)
    return TokenMade(
        id=shown.id,
        label=shown.label,
        created_at=shown.created_at,
        expires_at=shown.expires_at,
        used_at=shown.used_at,
        token=secret,
    )


def list_tokens(user: User) -> TokenList:
    """Describe what somebody proves themselves with."""
    tokens = [show_key(each) for each in user.keys if each.kind == "token"]
    return TokenList(tokens=tokens, sessions=len(user.keys) - len(tokens))


def show_key(key: AccessKey) -> TokenView:
    """Describe a token."""
    return TokenView(
        id=key.id,
        label=key.label,
        created_at=key.created_at,
        expires_at=key.expires_at,
        used_at=key.used_at,
    )


async def _me(site: Site) -> User:
    asking = viewer()
    if not asking.uid:
        raise ApiError(
            409, "conflict", "The owner has the workspace's token alone.", "Sign in as one of the team."
        )
    return await site.team.get(asking.id)

"""Sign in by the workspace's token, by a password or at an OpenID provider, and sign out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import StrictBool, StringConstraints
from starlette.responses import RedirectResponse, Response

from shipmate.errors import UserError
from shipmate.server.guard.error import ApiError
from shipmate.server.guard.oidc import OidcSignIn
from shipmate.server.guard.security import SIGN_IN, busy, caller_of, session_cookie, set_session
from shipmate.server.guard.viewer import viewer
from shipmate.server.shape import Answer, ExactShape, Json, empty, tells
from shipmate.server.site import Site, TheSite
from shipmate.team.team import COMPANY_SESSION_LASTS, SESSION_LASTS
from shipmate.team.user import User

Secret = Annotated[str, StringConstraints(min_length=1, max_length=500)]
TRANSACTION = "shipmate-oidc"
TRANSACTION_SECONDS = 600
AGENT_LENGTH = 80
router = APIRouter(tags=["team"])


class Login(ExactShape):
    """The workspace's token, or the name and the password of somebody of its team."""

    token: Secret | None = None
    user: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    password: Secret | None = None


class LeaveBody(ExactShape):
    """Whether every other session ends too."""

    everywhere: StrictBool = False


class LoginWays(Answer):
    """How one may sign in here."""

    password: bool
    # What the button says that leads to the OpenID provider.
    oidc: str | None


@router.get("/api/login", openapi_extra=tells(LoginWays, is_open=True))
async def read_ways(site: TheSite) -> Response:
    """Say how one may sign in; asks nobody who they are."""
    users = await site.team.users.list()
    oidc = site.oidc_settings()
    return Json(LoginWays(password=any(each.password for each in users), oidc=oidc.name if oidc else None))


@router.post("/api/login", status_code=204, openapi_extra={"security": []})
async def log_in(request: Request, site: TheSite, body: Login) -> Response:
    """Change the token, or a name and a password, for a session cookie."""
    if wait := site.failures.wait(caller_of(request.scope)):
        raise busy(wait)
    if body.token is not None:
        if not site.token.admits(body.token.strip()):
            raise ApiError(401, "auth", "That is not the token.", "Copy the line in .ship/token.")
        response = empty()
        set_session(response.headers, site.token, request.scope)
        return response
    name = (body.user or "").strip().lower()
    # Whoever guesses from many addresses still guesses for one name.
    if wait := site.guesses.wait(name):
        raise busy(wait)
    user = await site.team.sign_in(name, body.password or "")
    if user is None:
        raise ApiError(401, "auth", "Name or password is wrong.", "Try again, or ask an admin for a new one.")
    return await _let_in(site, request, user, empty())


@router.post("/api/logout", status_code=204)
async def log_out(request: Request, site: TheSite, body: LeaveBody) -> Response:
    """End this session, or every session of whoever asks."""
    asking = viewer()
    cookie = session_cookie(request.headers, site.token)
    if asking.uid and body.everywhere:
        await site.team.end_sessions(asking.id)
    elif asking.uid and (found := await site.team.admit(cookie, "session")):
        await site.team.revoke(asking.id, found[1].id)
    response = empty()
    set_session(response.headers, site.token, request.scope, "")
    return response


@router.get(
    f"{SIGN_IN}start", status_code=303, response_class=RedirectResponse, openapi_extra={"security": []}
)
async def start_oidc(request: Request, site: TheSite) -> Response:
    """Send the browser to the OpenID provider."""
    if wait := site.failures.wait(caller_of(request.scope)):
        raise busy(wait)
    address, kept = await _oidc(request, site).begin()
    response = RedirectResponse(address, 303, {"cache-control": "no-store"})
    _keep(response, request, kept, TRANSACTION_SECONDS)
    return response


@router.get(
    f"{SIGN_IN}callback", status_code=303, response_class=RedirectResponse, openapi_extra={"security": []}
)
async def end_oidc(request: Request, site: TheSite) -> Response:
    """Take what the OpenID provider says of somebody, and let them in."""
    if wait := site.failures.wait(caller_of(request.scope)):
        raise busy(wait)
    # Wherever they came from, they go on to the page: no address is taken from outside.
    response = RedirectResponse("/", 303, {"cache-control": "no-store"})
    try:
        who = await _oidc(request, site).end(request.cookies.get(TRANSACTION, ""), request.query_params)
        user = await site.team.sign_in_as(who.user_id, who.identity, who.role, who.name)
    except UserError as error:
        raise ApiError(
            401, "auth", f"The sign-in did not succeed: {error}", "Go back and try again."
        ) from error
    _keep(response, request, "", 0)
    return await _let_in(site, request, user, response, lasts_long=False)


async def _let_in(
    site: Site, request: Request, user: User, response: Response, *, lasts_long: bool = True
) -> Response:
    """Begin a session of its own for every sign-in, whatever cookie came with it."""
    agent = request.headers.get("user-agent", "")[:AGENT_LENGTH]
    lasts = SESSION_LASTS if lasts_long else COMPANY_SESSION_LASTS
    _, secret = await site.team.issue(user.id, "session", agent, lasts=lasts)
    set_session(response.headers, site.token, request.scope, secret)
    return response


def _oidc(request: Request, site: Site) -> OidcSignIn:
    settings = site.oidc_settings()
    if settings is None:
        raise ApiError(404, "not-found", "No OpenID provider is set up.", "See `team.oidc` of ship.json.")
    base = site.public_url() or f"{request.url.scheme}://{request.headers['host']}"
    return OidcSignIn(settings, f"{base.rstrip('/')}{SIGN_IN}callback", site.token.sign)


def _keep(response: Response, request: Request, value: str, seconds: int) -> None:
    """Keep what a sign-in must come back with; `Lax`, because it comes back from another site."""
    secure = "; Secure" if request.url.scheme == "https" else ""
    flags = f"Path={SIGN_IN}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    response.headers.append("set-cookie", f"{TRANSACTION}={value}; {flags}")

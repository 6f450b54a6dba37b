"""Begin: prove who you are, learn what the page needs, make the first member."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from shipmate import __version__
from shipmate.server import shape
from shipmate.server.guard.error import ApiError
from shipmate.server.guard.security import busy, caller_of, session_cookie, set_session
from shipmate.server.json_response import Json, empty, tells
from shipmate.server.routes.member import describe_member
from shipmate.server.setup import list_examples, write_agent
from shipmate.server.site import Site, TheSite
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Config

router = APIRouter(tags=["session"])


@router.post("/api/login", status_code=204, openapi_extra={"security": []})
async def log_in(request: Request, site: TheSite, body: shape.Login) -> Response:
    """Change the token for a session cookie."""
    if wait := site.failures.wait(caller_of(request.scope)):
        raise busy(wait)
    if not site.token.admits(body.token.strip()):
        raise ApiError(401, "auth", "That is not the token.", "Copy the line in .ship/token.")
    response = empty()
    set_session(response.headers, site.token, request.scope)
    return response


@router.get("/api/session", openapi_extra=tells("Session"))
async def read_session(request: Request, site: TheSite) -> Response:
    """Return the CSRF value, the workspace, the model and the members."""
    cookie = session_cookie(request.headers, site.token)
    ship = await site.ship() if site.has_agent() else None
    config = ship.config if ship else Config()
    name = ship.model.name if ship else "rehearsal"
    return Json(
        {
            "csrf": site.token.csrf(cookie) if cookie else "",
            "language": config.language,
            "mode": config.permissions.mode,
            "version": __version__,
            "workspace": _workspace(site),
            "model": {"name": name, "isRehearsal": name == "rehearsal"},
            "members": [describe_member(each) for each in ship.crew.list()] if ship else [],
        }
    )


@router.get("/api/setup", openapi_extra=tells("SetupOffer"))
async def read_setup(site: TheSite) -> Response:
    """List the examples a workspace can begin with."""
    return Json({"hasAgent": site.has_agent(), "examples": list_examples(site.examples)})


@router.post("/api/setup", status_code=201, openapi_extra=tells("SetupReply"))
async def set_up(site: TheSite, body: shape.Setup) -> Response:
    """Write Agent.md from an example, and begin."""
    write_agent(site.layout, site.examples, body.example, body.name, body.text)
    await site.ship()
    return Json({"workspace": _workspace(site)}, 201)


def _workspace(site: Site) -> JsonObject:
    return {"name": site.layout.root.name, "hasAgent": site.has_agent()}

"""Find, show and save priming scripts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shipmate.priming.export import ScriptExistsError, save_script
from shipmate.priming.library import Listing
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.server import shape
from shipmate.server.ask import thread_of
from shipmate.server.guard.error import ApiError, hide_root
from shipmate.server.json_response import Json, tells
from shipmate.server.site import Site, TheShip, TheSite
from shipmate.workspace.layout import CAPTAIN

router = APIRouter(tags=["priming"])


@router.get("/api/priming/recent", openapi_extra=tells("Scripts"))
async def read_recent(site: TheSite, ship: TheShip, member: shape.Slot = CAPTAIN) -> Response:
    """List the scripts a member's dialogs were made with, newest first."""
    name = ship.crew.find(member).id
    return _listing(site, Recents(ship.layout).list(site.library, name))


@router.get("/api/priming/search", openapi_extra=tells("Scripts"))
async def search_scripts(
    site: TheSite,
    ship: TheShip,
    query: shape.Slot,
    member: shape.Slot = CAPTAIN,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Find scripts by slug or title; the disk is looked at each time."""
    name = ship.crew.find(member).id
    # Thousands of files may be read; other requests go on meanwhile.
    return _listing(site, await run_in_threadpool(site.library.search, name, query, limit))


@router.get("/api/priming/scripts", openapi_extra=tells("Scripts"))
async def read_scripts(site: TheSite, ship: TheShip, member: shape.Slot = CAPTAIN) -> Response:
    """List every script meant for a member."""
    name = ship.crew.find(member).id
    return _listing(site, await run_in_threadpool(site.library.list, name))


@router.get("/api/priming/script", openapi_extra=tells("ScriptText"))
async def read_script(site: TheSite, ship: TheShip, ref: shape.Slot) -> Response:
    """Return one script as it stands on disk, and every mistake in it."""
    shown = site.library.show(ScriptRef.parse(ref))
    problems = [hide_root(problem, str(ship.layout.root)) for problem in shown.problems]
    return Json(msgspec.structs.replace(shown, problems=problems))


@router.post("/api/priming/save", status_code=201, openapi_extra=tells("ScriptSaved"))
async def save(site: TheSite, ship: TheShip, body: shape.SaveScript) -> Response:
    """Save a course of a thread as a script of its member."""
    try:
        saved = await save_script(
            site.library,
            ship.threads,
            ship.store,
            thread_id=thread_of(body.thread_id),
            slug=body.slug,
            course=body.course,
            title=body.title,
            overwrite=body.overwrite,
        )
    except ScriptExistsError as error:
        raise ApiError(
            409, "conflict", "A script of that name exists.", "Confirm that it may be replaced, or rename."
        ) from error
    return Json(saved, 201)


def _listing(site: Site, listing: Listing) -> Response:
    root = str(site.layout.root)
    problems = [hide_root(problem, root) for problem in listing.problems]
    return Json({"scripts": listing.entries, "problems": problems})

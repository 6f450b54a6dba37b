"""Find, show and save priming scripts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from pydantic import Field, StrictBool
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shipmate.priming.export import Saved, ScriptExistsError, save_script
from shipmate.priming.library import Listing, ScriptEntry, Shown
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.server.guard.error import ApiError, hide_root
from shipmate.server.shape import Answer, Json, Shape, Slot, tells
from shipmate.server.site import Site, TheShip, TheSite, thread_of
from shipmate.workspace.layout import CAPTAIN

router = APIRouter(tags=["priming"])


class SaveScript(Shape):
    """The request to save a course as a priming script."""

    thread_id: Slot
    course: Annotated[int, Field(ge=1)] | None = None
    slug: Slot
    overwrite: StrictBool = False
    title: Slot | None = None


class ScriptList(Answer):
    """Priming scripts, and what is wrong with those that cannot be read."""

    scripts: list[ScriptEntry]
    problems: list[str]


@router.get("/api/priming/recent", openapi_extra=tells(ScriptList))
async def read_recent(site: TheSite, ship: TheShip, member: Slot = CAPTAIN) -> Response:
    """List the scripts a member's dialogs were made with, newest first."""
    name = ship.crew.find(member).id
    return _listing(site, Recents(ship.layout).list(site.library, name))


@router.get("/api/priming/search", openapi_extra=tells(ScriptList))
async def search_scripts(
    site: TheSite,
    ship: TheShip,
    query: Slot,
    member: Slot = CAPTAIN,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Find scripts by slug or title; the disk is looked at each time."""
    name = ship.crew.find(member).id
    # Thousands of files may be read; other requests go on meanwhile.
    return _listing(site, await run_in_threadpool(site.library.search, name, query, limit))


@router.get("/api/priming/scripts", openapi_extra=tells(ScriptList))
async def read_scripts(site: TheSite, ship: TheShip, member: Slot = CAPTAIN) -> Response:
    """List every script meant for a member."""
    name = ship.crew.find(member).id
    return _listing(site, await run_in_threadpool(site.library.list, name))


@router.get("/api/priming/script", openapi_extra=tells(Shown))
async def read_script(site: TheSite, ship: TheShip, ref: Slot) -> Response:
    """Return one script as it stands on disk, and every mistake in it."""
    shown = site.library.show(ScriptRef.parse(ref))
    problems = [hide_root(problem, str(ship.layout.root)) for problem in shown.problems]
    return Json(msgspec.structs.replace(shown, problems=problems))


@router.post("/api/priming/save", status_code=201, openapi_extra=tells(Saved))
async def save(site: TheSite, ship: TheShip, body: SaveScript) -> Response:
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
    return Json(ScriptList(scripts=listing.entries, problems=problems))

"""Show with whom of the team a thread is shared, and share it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from shipmate.server.guard.viewer import forbidden, viewer
from shipmate.server.port import Ship
from shipmate.server.routes.thread import find_thread
from shipmate.server.shape import Answer, ExactShape, Json, Slot, tells
from shipmate.server.site import Site, TheShip, TheSite
from shipmate.team.right import OWNED_BY, SHARED_WITH

router = APIRouter(tags=["team"])


class SharingChange(ExactShape):
    """Everybody a thread is shared with from now on, by the names they sign in as."""

    users: Annotated[list[Slot], Field(max_length=200)]


class SharingView(Answer):
    """Whose a thread is, and with whom it is shared; no owner for one that the workspace's owner began."""

    owner: str | None
    users: list[str]


@router.get("/api/threads/{thread_id}/sharing", openapi_extra=tells(SharingView))
async def read_sharing(site: TheSite, ship: TheShip, thread_id: str) -> Response:
    """Say whose a thread is, and with whom it is shared."""
    return Json(await _show(site, ship, thread_id))


@router.put("/api/threads/{thread_id}/sharing", openapi_extra=tells(SharingView))
async def share_thread(site: TheSite, ship: TheShip, thread_id: str, body: SharingChange) -> Response:
    """Share a thread with people of the team: they read it and talk in it, and members decide in it."""
    info = await find_thread(ship, thread_id)
    if not viewer().owns(info.settings):
        raise forbidden("Ask whoever began the thread.")
    chosen = [(await site.team.get(each.strip().lower())).uid for each in dict.fromkeys(body.users)]
    kept = {key: value for key, value in info.settings.items() if key != SHARED_WITH}
    settings = {**kept, **({SHARED_WITH: chosen} if chosen else {})}
    await ship.store.threads.set(info.thread_id, settings=settings)
    return Json(await _show(site, ship, thread_id))


async def _show(site: Site, ship: Ship, thread_id: str) -> SharingView:
    info = await find_thread(ship, thread_id)
    names = {each.uid: each.id for each in await site.team.users.list()}
    shared = info.settings.get(SHARED_WITH) or []
    return SharingView(
        owner=names.get(info.settings.get(OWNED_BY, "")),
        users=[names[each] for each in shared if each in names],
    )

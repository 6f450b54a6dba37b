"""Open the studio of a skill, and try its draft in a thread beside it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate.crew.studio import open_draft, read_draft, skill_of
from shipmate.priming.replay import create_dialog
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship
from shipmate.server.shape import Answer, Json, Shape, Slot, tells
from shipmate.server.site import PLATFORM, TheShip, TheSite, new_room
from shipmate.values.event import TextEvent
from shipmate.values.message import new_id, timestamp
from shipmate.values.thread_id import STUDIO, ThreadId
from shipmate.workspace.layout import CAPTAIN
from shipmate.workspace.member import Member

router = APIRouter(tags=["skills"])


class StudioWish(Shape):
    """Whose studio it is; the captain's when nobody is named."""

    member: Slot | None = None


class Trial(Shape):
    """What is said to a member that has the draft before it."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=200_000)]


class StudioThread(Answer):
    """The thread to go on in."""

    thread_id: str


@router.post("/api/studio/{skill}", openapi_extra=tells(StudioThread))
async def open_studio(site: TheSite, ship: TheShip, skill: str, body: StudioWish) -> Response:
    """Open the studio of a skill, there already or not; its draft begins as the skill stands."""
    thread_id = _thread_of(skill)
    member = await _member_of(ship, thread_id, body.member)
    open_draft(member, skill)
    if await ship.store.threads.find(str(thread_id)) is None:
        await create_dialog(
            site.library,
            ship.threads,
            ship.store,
            thread_id=thread_id,
            member=member.id,
            title=skill,
            settings=viewer().claim({}),
        )
    return Json(StudioThread(thread_id=str(thread_id)))


@router.post("/api/studio/{skill}/try", status_code=202, openapi_extra=tells(StudioThread))
async def try_draft(site: TheSite, ship: TheShip, skill: str, body: Trial) -> Response:
    """Say something in a new thread, where the member has the draft before it."""
    member = await _member_of(ship, _thread_of(skill))
    draft = read_draft(member, skill)
    thread_id = new_room()
    await create_dialog(
        site.library,
        ship.threads,
        ship.store,
        thread_id=thread_id,
        member=member.id,
        settings=viewer().claim({}),
    )
    event = TextEvent(
        platform=PLATFORM,
        thread_id=str(thread_id),
        user_id=viewer().speaker,
        speaker=viewer().shown,
        message_id=new_id("web"),
        timestamp=timestamp(),
        member=member.id,
        text=body.text,
        extra_context=draft,
    )
    await ship.keeper.receive(event)
    return Json(StudioThread(thread_id=str(thread_id)), 202)


def _thread_of(skill: str) -> ThreadId:
    thread_id = ThreadId(PLATFORM, STUDIO, skill)
    skill_of(thread_id)
    return thread_id


async def _member_of(ship: Ship, thread_id: ThreadId, named: str | None = None) -> Member:
    """Return who works in a studio: whoever opened it."""
    known = await ship.store.threads.find(str(thread_id))
    return ship.crew.find(known.member if known is not None and known.member else named or CAPTAIN)

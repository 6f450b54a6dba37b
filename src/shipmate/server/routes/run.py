"""Stop, steer and queue: what a person does while a member is at work."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from shipmate.errors import NotFoundError
from shipmate.server.guard.error import ApiError, missing
from shipmate.server.guard.viewer import sees, viewer
from shipmate.server.port import Ship
from shipmate.server.routes.chat.admission import refuse_edit
from shipmate.server.routes.thread import find_thread
from shipmate.server.shape import Answer, Json, Shape, Slot, Words, empty, tells
from shipmate.server.site import PLATFORM, Site, TheShip, TheSite, thread_at
from shipmate.tools.file.change.rewind import Rewinds, RunChanges
from shipmate.values.event import TextEvent
from shipmate.values.message import new_id, timestamp

router = APIRouter(tags=["runs"])


class Said(Shape):
    """A person's words."""

    text: Words
    message_id: Slot | None = None


class Stopped(Answer):
    """Whether something was stopped."""

    stopped: bool


class Accepted(Answer):
    """The id of the accepted message."""

    message_id: str


class Queued(Answer):
    """A message that waits."""

    message_id: str
    text: str
    at: str


class Queue(Answer):
    """What waits, oldest first."""

    queue: list[Queued]


@router.post("/api/threads/{thread_id}/stop", openapi_extra=tells(Stopped))
async def stop(ship: TheShip, thread_id: str) -> Response:
    """End the run in flight where it is; what was said and done stays."""
    return Json(Stopped(stopped=await ship.keeper.stop(str(thread_at(thread_id)))))


@router.post("/api/threads/{thread_id}/steer", status_code=202, openapi_extra=tells(Accepted))
async def steer(site: TheSite, ship: TheShip, thread_id: str, body: Said) -> Response:
    """Say something that reaches the running turn at its next step."""
    return await _say(site, ship, thread_id, body, steer=True)


@router.get("/api/threads/{thread_id}/queue", openapi_extra=tells(Queue))
async def read_queue(ship: TheShip, thread_id: str) -> Response:
    """List what waits for the running turn to end."""
    rows = await ship.keeper.queue(str(thread_at(thread_id)))
    waiting = [
        Queued(message_id=row.event.message_id, text=row.event.text, at=row.event.timestamp)
        for row in rows
        if row.status == "waiting" and isinstance(row.event, TextEvent)
    ]
    return Json(Queue(queue=waiting))


@router.post("/api/threads/{thread_id}/queue", status_code=202, openapi_extra=tells(Accepted))
async def queue(site: TheSite, ship: TheShip, thread_id: str, body: Said) -> Response:
    """Say something after the running turn, without waiting for the answer."""
    return await _say(site, ship, thread_id, body, steer=False)


@router.delete("/api/threads/{thread_id}/queue/{message_id}", status_code=204)
async def withdraw(ship: TheShip, thread_id: str, message_id: str) -> Response:
    """Take back what still waits."""
    if not await ship.keeper.withdraw(str(thread_at(thread_id)), message_id):
        raise missing("such message in the queue")
    return empty()


@router.get("/api/runs/{run_id}/changes", openapi_extra=tells(RunChanges))
async def read_changes(ship: TheShip, run_id: str) -> Response:
    """List the files a run changed, and whether they can still be put back."""
    return Json(await _read_run(ship, run_id))


@router.post("/api/runs/{run_id}/rewind", openapi_extra=tells(RunChanges))
async def rewind(ship: TheShip, run_id: str) -> Response:
    """Put back what a run's files held before it, all or none; asked again, it takes that back."""
    rewinds = Rewinds(ship.layout)
    found = await _read_run(ship, run_id)
    if ship.keeper.running(found.thread_id) is not None:
        raise ApiError(409, "conflict", "A run is going on in that thread.", "Wait for it, or stop it.")
    await asyncio.to_thread(rewinds.rewind, run_id)
    return Json(await asyncio.to_thread(rewinds.of_run, run_id))


async def _read_run(ship: Ship, run_id: str) -> RunChanges:
    """Return what a run changed; one of a thread that is not theirs is as one that never was."""
    try:
        found = await asyncio.to_thread(Rewinds(ship.layout).of_run, run_id)
    except NotFoundError:
        if viewer().has("admin"):
            raise
        raise missing("such run") from None
    if not await sees(ship, found.thread_id):
        raise missing("such run")
    return found


async def _say(site: Site, ship: Ship, thread_id: str, body: Said, *, steer: bool) -> Response:
    info = await find_thread(ship, thread_id)
    await site.quota.check(ship, info)
    event = TextEvent(
        platform=PLATFORM,
        thread_id=info.thread_id,
        user_id=viewer().speaker,
        speaker=viewer().shown,
        message_id=body.message_id or new_id("web"),
        timestamp=timestamp(),
        text=body.text,
        steer=steer,
    )
    await refuse_edit(ship, event)
    await ship.keeper.receive(event)
    return Json(Accepted(message_id=event.message_id), 202)

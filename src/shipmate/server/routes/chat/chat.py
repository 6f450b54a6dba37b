"""Speak the AI SDK UI message stream, so that `useChat` works unchanged."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.orchestrator.turn import message_id_of
from shipmate.server.guard.viewer import check_sight, viewer
from shipmate.server.port import Ship
from shipmate.server.routes.chat.admission import Admission, admit
from shipmate.server.routes.chat.chat_body import ChatBody, read_chat, read_key
from shipmate.server.routes.upload import check_file
from shipmate.server.shape import empty, takes
from shipmate.server.site import PLATFORM, Site, TheShip, TheSite, get_site, thread_at, thread_of
from shipmate.server.stream.stream import Events, OpenResponse, Streamed
from shipmate.server.stream.view import run_of
from shipmate.server.stream.watch import OwnRuns, RunInFlight, retell_stored
from shipmate.values.event import TextEvent
from shipmate.values.message import JsonObject
from shipmate.values.thread_id import ThreadId

KEY_HEADER = "idempotency-key"
# What clients make up for a thread that they begin.
NEW_ROOM = re.compile(r"[A-Za-z0-9_-]{16,60}")
STREAM: dict[int | str, JsonObject] = {
    200: {"content": {"text/event-stream": {}}, "description": "the UI message stream, v1"}
}
router = APIRouter(tags=["chat"])


@router.post("/api/chat", response_class=Response, responses=STREAM, openapi_extra=takes(ChatBody))
async def chat(request: Request) -> Response:
    """Take the new message or the answers to approvals, and stream what comes of it."""
    # Asked by itself: what FastAPI takes to hand both over is a good part of what the front costs a turn.
    site = get_site(request)
    ship = await site.ship()
    body = read_chat(await request.body())
    thread_id = thread_of(body.id)
    await _enter(site, ship, thread_id)
    admission = await admit(ship, thread_id, body, read_key(body, request.headers.get(KEY_HEADER)))
    for event in admission.events:
        for each in event.attachments if isinstance(event, TextEvent) else ():
            await check_file(ship, each.url)

    async def play(_: Scope, receive: Receive, send: Send) -> None:
        await _play_own(ship, thread_id, admission, OpenResponse(receive, send, site.streams))

    return Streamed(play)


async def _enter(site: Site, ship: Ship, thread_id: ThreadId) -> None:
    """Let somebody of a team into a thread that is theirs, or to be made; any other is not there for them."""
    info = await ship.store.threads.find(str(thread_id)) if viewer().uid else None
    # A name that could be guessed would say by a refusal that somebody else has a thread of that name.
    is_room = (thread_id.platform, thread_id.scope_type, thread_id.topic) == (PLATFORM, "room", None)
    is_new = info is None and is_room and NEW_ROOM.fullmatch(thread_id.scope_id)
    if not is_new:
        check_sight(info)
    await site.quota.check(ship, info)


@router.get(
    "/api/chat/{thread_id}/stream",
    response_class=Response,
    responses={**STREAM, 204: {"description": "nothing runs"}},
)
async def resume(site: TheSite, ship: TheShip, thread_id: str) -> Response:
    """Stream the answer that is being written, from its beginning; 204 when none is."""
    return follow_running(site, ship, thread_at(thread_id))


def follow_running(site: Site, ship: Ship, thread_id: ThreadId) -> Response:
    """Stream the run in flight of a thread, also one that is about to be taken up."""

    async def play(scope: Scope, receive: Receive, send: Send) -> None:
        async with ship.keeper.watch(str(thread_id)) as queue:
            run_id = await run_of(ship, thread_id)
            if run_id is None and queue.empty():
                await empty()(scope, receive, send)
                return
            wire = OpenResponse(receive, send, site.streams)
            await _follow(wire, queue, RunInFlight(ship, thread_id, run_id or None))

    return Streamed(play)


async def _play_own(ship: Ship, thread_id: ThreadId, admission: Admission, wire: OpenResponse) -> None:
    # Watching begins before the events are given in, so that no chunk can be missed.
    async with ship.keeper.watch(str(thread_id)) as queue:
        if not admission.events:
            await _join(ship, thread_id, admission, wire, queue)
            return
        receipts = [await ship.keeper.receive(event) for event in admission.events]
        runs = OwnRuns(ship, thread_id, receipts, queue, admission.held)
        try:
            await wire.open()
            if opening := await runs.opening():
                await wire.write(opening)
            await wire.follow(queue, runs.choose)
        finally:
            runs.cancel()


async def _join(
    ship: Ship, thread_id: ThreadId, admission: Admission, wire: OpenResponse, queue: Events
) -> None:
    """Show what came of a request that was taken before, by another tab or an earlier try."""
    run_id, held = await run_of(ship, thread_id), admission.held
    if run_id and (held is None or held["id"] == message_id_of(run_id)):
        await _follow(wire, queue, RunInFlight(ship, thread_id, run_id, held))
        return
    await wire.open()
    await wire.finish(await retell_stored(ship, thread_id, held) if held is not None else [])


async def _follow(wire: OpenResponse, queue: Events, run: RunInFlight) -> None:
    timer = run.expect(queue)
    try:
        await wire.open()
        await wire.follow(queue, run.choose)
    finally:
        timer.cancel()

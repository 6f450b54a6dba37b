"""Speak the AI SDK UI message stream, so that `useChat` works unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.server.ask import (
    RETRY,
    ChatBody,
    last_message,
    read_answers,
    read_chat,
    reply_event,
    retry_event,
    text_event,
    thread_at,
    thread_of,
    waiting_approvals,
)
from shipmate.server.error import ApiError
from shipmate.server.port import Ship
from shipmate.server.reply import empty
from shipmate.server.site import Site, TheShip, TheSite
from shipmate.server.stream import Streamed, Wire
from shipmate.server.watch import OwnRuns, RunInFlight
from shipmate.values.event import IngressEvent
from shipmate.values.message import JsonObject, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

STREAM: dict[int | str, JsonObject] = {
    200: {"content": {"text/event-stream": {}}, "description": "the UI message stream, v1"}
}
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["id", "messages"],
                    "properties": {
                        "id": {"type": "string", "minLength": 1, "maxLength": 60},
                        "trigger": {"enum": ["submit-message", "regenerate-message"]},
                        "member": {"type": "string"},
                        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}
router = APIRouter(tags=["chat"])


@router.post("/api/chat", response_class=Response, responses=STREAM, openapi_extra=BODY)
async def chat(request: Request, site: TheSite, ship: TheShip) -> Response:
    """Take the new message or the answers to approvals, and stream what comes of it."""
    body = read_chat(await request.body())
    thread_id = thread_of(body.id)
    events = await _events(ship, thread_id, body)

    async def play(_: Scope, receive: Receive, send: Send) -> None:
        await _play_own(site, ship, thread_id, events, receive, send)

    return Streamed(play)


@router.get(
    "/api/chat/{thread_id}/stream",
    response_class=Response,
    responses={**STREAM, 204: {"description": "nothing runs"}},
)
async def resume(site: TheSite, ship: TheShip, thread_id: str) -> Response:
    """Stream the answer that is being written, from its beginning; 204 when none is."""
    return follow_running(site, ship, thread_at(thread_id))


def follow_running(site: Site, ship: Ship, thread_id: ThreadId) -> Response:
    """Stream the run in flight of a thread."""

    async def play(scope: Scope, receive: Receive, send: Send) -> None:
        async with ship.feed.subscribe(str(thread_id)) as queue:
            run = ship.feed.running(str(thread_id))
            if run is None:
                await empty()(scope, receive, send)
                return
            wire = Wire(receive, send, site.streams)
            await wire.open()
            await wire.follow(queue, RunInFlight(run.run_id).choose)

    return Streamed(play)


async def _events(ship: Ship, thread_id: ThreadId, body: ChatBody) -> list[IngressEvent]:
    """Make events of what the client sent; answers to calls that no longer wait are left out."""
    if body.trigger == RETRY:
        return [retry_event(thread_id)]
    message = last_message(body)
    if message["role"] == "user":
        event = text_event(thread_id, message, body.member)
        await refuse_foreign(ship, event)
        if await ship.store.threads.find(str(thread_id)) is None:
            # A new thread is in the list from its first word on, not only after its first answer.
            said = user_message(event.message_id, event.text, {"timestamp": event.timestamp})
            await ship.store.threads.note(str(thread_id), [said], member=body.member or CAPTAIN)
        return [event]
    answers = read_answers(message)
    thread = await ship.threads.read(thread_id)
    waiting = waiting_approvals(thread.messages)
    return [reply_event(str(thread_id), answer) for answer in answers if answer.approval_id in waiting]


async def refuse_foreign(ship: Ship, event: IngressEvent) -> None:
    """Refuse a message id that was used in another thread: its answer belongs there."""
    known = await ship.store.inbox.find(event.platform, event.message_id)
    if known is not None and known.event.thread_id != event.thread_id:
        raise ApiError(409, "conflict", "That message id was used in another thread.", "Use a new one.")


async def _play_own(
    site: Site, ship: Ship, thread_id: ThreadId, events: Sequence[IngressEvent], receive: Receive, send: Send
) -> None:
    wire = Wire(receive, send, site.streams)
    # Watching begins before the events are given in, so that no chunk can be missed.
    async with ship.feed.subscribe(str(thread_id)) as queue:
        if not events:
            # Every answer was taken before, by another tab or an earlier try: show what came of it.
            run = ship.feed.running(str(thread_id))
            await wire.open()
            await (wire.follow(queue, RunInFlight(run.run_id).choose) if run else wire.finish([]))
            return
        receipts = [await ship.receive(event) for event in events]
        runs = OwnRuns(ship, thread_id, receipts, queue)
        try:
            await wire.open()
            if opening := await runs.opening():
                await wire.write(opening)
            await wire.follow(queue, runs.choose)
        finally:
            runs.cancel()

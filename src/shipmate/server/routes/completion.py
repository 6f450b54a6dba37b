"""Answer programs that speak OpenAI's protocol."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.server.completion import (
    DONE,
    completion,
    encoder,
    event_for,
    read_completion,
    thread_for,
)
from shipmate.server.json_response import Json
from shipmate.server.port import Ship
from shipmate.server.site import TheShip, TheSite
from shipmate.server.stream.stream import Streamed, Wire
from shipmate.server.stream.watch import OwnRuns
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import CAPTAIN

THREAD_HEADER = "x-shipmate-thread"
BODY: JsonObject = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["messages"],
                    "properties": {
                        "model": {"type": "string"},
                        "stream": {"type": "boolean"},
                        "user": {"type": "string"},
                        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}
router = APIRouter(tags=["openai"])


@router.get("/v1/models")
async def read_models(ship: TheShip) -> Response:
    """List the members as models."""
    members = ship.crew.list()
    data = [{"id": member.id, "object": "model", "created": 0, "owned_by": "shipmate"} for member in members]
    return Json({"object": "list", "data": data})


@router.post("/v1/chat/completions", openapi_extra=BODY)
async def complete(request: Request, site: TheSite, ship: TheShip) -> Response:
    """Answer the last user message, at once or as a stream."""
    body = read_completion(await request.body())
    thread_id = thread_for(body, request.headers.get(THREAD_HEADER))
    known = set(ship.crew.ids())
    member = body.model if body.model in known else CAPTAIN
    event = event_for(body, thread_id, member)
    if not body.stream:
        receipt = await ship.keeper.receive(event)
        outcome = await receipt.outcome()
        usage = await _usage(ship, event.thread_id, outcome.run_id)
        waiting = await ship.approvals.pending(event.thread_id) if outcome.status == "suspended" else ()
        return Json(
            completion(outcome, member, usage, waiting),
            headers={THREAD_HEADER: str(thread_id)},
        )

    async def play(_: Scope, receive: Receive, send: Send) -> None:
        async with ship.keeper.watch(str(thread_id)) as queue:
            runs = OwnRuns(ship, thread_id, [await ship.keeper.receive(event)], queue)
            wire = Wire(receive, send, site.streams, encoder(member), DONE)
            try:
                await wire.open({THREAD_HEADER: str(thread_id)})
                await wire.follow(queue, runs.choose)
            finally:
                runs.cancel()

    return Streamed(play)


async def _usage(ship: Ship, thread_id: str, run_id: str) -> JsonObject:
    steps = [step for step in await ship.store.ledger.usage("", thread_id) if step.run_id == run_id]
    given = sum(step.input_tokens for step in steps)
    made = sum(step.output_tokens for step in steps)
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}

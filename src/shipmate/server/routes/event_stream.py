"""Tell a page what changed, for as long as it is open."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shipmate.server.shape import DESCRIBED
from shipmate.server.site import TheShip, TheSite
from shipmate.server.stream.news import PageChange
from shipmate.server.stream.stream import OpenResponse, Streamed
from shipmate.values.message import JsonObject

DESCRIBED[PageChange.__name__] = PageChange
STREAM: dict[int | str, JsonObject] = {
    200: {
        "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/PageChange"}}},
        "description": "one PageChange an event, the first of them naming everything",
    }
}
router = APIRouter(tags=["events"])


@router.get("/api/events", response_class=Response, responses=STREAM)
async def follow_changes(site: TheSite, ship: TheShip) -> Response:
    """Tell what changes in the workspace, whoever changes it, until the client leaves."""

    async def play(_: Scope, receive: Receive, send: Send) -> None:
        async with site.news.read(ship) as reader:
            wire = OpenResponse(receive, send, site.streams, done=b"")
            await wire.open()
            await wire.follow(reader.queue, reader.choose)

    return Streamed(play)

"""Show what must be sent to platforms, and settle what only the owner can decide about."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from shipmate.delivery.settling import find, is_open, settle
from shipmate.server.guard.viewer import viewer
from shipmate.server.port import Ship
from shipmate.server.shape import Answer, Json, empty, tells
from shipmate.server.site import PLATFORM, TheShip
from shipmate.store.port import OutboxRow, SendStatus
from shipmate.values.reveal import reveal_line

EXCERPT = 300
# More would fill the page with what nobody reads.
ROW_LIMIT = 500
router = APIRouter(tags=["platforms"])
SendId = Annotated[int, Path(ge=0, le=2**53)]


class SendView(Answer):
    """One message that must be sent, or may have been."""

    id: int
    status: SendStatus
    # The adapter's name.
    platform: str
    thread_id: str
    # The beginning of its words, or the names of its files.
    text: str
    created_at: str
    attempts: int
    error: str | None
    # It is out, but half of it may stand there besides, as a message of its own.
    has_stray: bool


class SendList(Answer):
    """What was not sent yet, or may not have arrived, oldest first."""

    sends: list[SendView]


@router.get("/api/outbox", openapi_extra=tells(SendList))
async def read_outbox(ship: TheShip) -> Response:
    """List what was not sent to platforms yet, or may not have arrived."""
    rows = [row for row in await asyncio.to_thread(ship.home.sends) if is_open(row)]
    return Json(SendList(sends=[_show(row) for row in rows[-ROW_LIMIT:]]))


@router.post("/api/outbox/{send_id}/retry", status_code=204)
async def retry_send(ship: TheShip, send_id: SendId) -> Response:
    """Send a message again, though it may have arrived or is old."""
    return await _settle(ship, send_id, "resend")


@router.delete("/api/outbox/{send_id}", status_code=204)
async def drop_send(ship: TheShip, send_id: SendId) -> Response:
    """Forget a message: it is not sent any more."""
    return await _settle(ship, send_id, "forget")


async def _settle(ship: Ship, send_id: int, name: str) -> Response:
    row = find(await asyncio.to_thread(ship.home.sends), send_id)
    await settle(ship.keeper.receive, row, name, PLATFORM, viewer().speaker)
    return empty()


def _show(row: OutboxRow) -> SendView:
    what = row.message.text or ", ".join(each.filename or each.url for each in row.message.attachments)
    return SendView(
        id=row.id,
        status=row.status,
        platform=row.platform,
        thread_id=row.message.thread_id,
        text=reveal_line(what, EXCERPT),
        created_at=row.created_at,
        attempts=row.attempts,
        error=reveal_line(row.error, EXCERPT) if row.error else None,
        has_stray=row.has_stray,
    )

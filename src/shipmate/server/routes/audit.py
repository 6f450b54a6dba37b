"""List what acted and what was refused, each call once, and tell whether the log is as it was written."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.approvals.audit import Audit
from shipmate.approvals.audit_call import AuditCall, fold
from shipmate.server.guard.error import hide_root
from shipmate.server.json_response import Json, tells
from shipmate.server.site import TheShip
from shipmate.values.message import JsonObject

# What an event repeats of its call.
REPEATED = ("threadId", "member", "runId", "callId", "messageId", "tool", "what", "digest", "initiators")
router = APIRouter(tags=["approvals"])


@router.get("/api/audit", openapi_extra=tells("Audit"))
async def read_audit(
    ship: TheShip,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    thread_id: Annotated[str | None, Query(alias="threadId", max_length=200)] = None,
) -> Response:
    """List the calls that acted or were refused, newest first; `next` is the `before` of the next page."""
    # Reading and hashing the files takes a while; streams of other threads go on meanwhile.
    answer = await asyncio.to_thread(_read, ship.approvals.audit, limit, before, thread_id)
    return Json(_hide(answer, str(ship.layout.root)))


def _read(audit: Audit, limit: int, before: int | None, thread_id: str | None) -> JsonObject:
    page = fold(audit.entries(), limit, before=before, thread_id=thread_id)
    verified = audit.verify()
    return {
        "entries": [_show(call) for call in page.calls],
        "next": page.calls[-1].seq if page.has_more else None,
        "verified": {"holds": verified.holds, **msgspec.to_builtins(verified)},
    }


def _show(call: AuditCall) -> JsonObject:
    shown: JsonObject = msgspec.to_builtins(call)
    events = [{key: event[key] for key in event if key not in REPEATED} for event in shown["events"]]
    return {**shown, "events": events}


def _hide(value: object, root: str) -> object:
    """Write paths of this machine as people name them, wherever they stand."""
    if isinstance(value, dict):
        return {key: _hide(inner, root) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hide(inner, root) for inner in value]
    return hide_root(value, root) if isinstance(value, str) else value

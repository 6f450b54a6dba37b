"""List what acted and what was refused, each call once, and tell whether the log is as it was written."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.approvals.audit import Audit, AuditEntry
from shipmate.approvals.audit_call import AuditCall, fold
from shipmate.server.guard.error import hide_root
from shipmate.server.shape import Answer, Json, tells
from shipmate.server.site import TheShip
from shipmate.store.verification import Break

router = APIRouter(tags=["approvals"])


class Verified(Answer):
    """Whether the log is as it was written."""

    holds: bool
    entries: int
    breaks: tuple[Break, ...]
    torn: int


class AuditView(Answer):
    """The calls that acted or were refused, newest first."""

    entries: list[AuditCall]
    next: int | None
    verified: Verified


@router.get("/api/audit", openapi_extra=tells(AuditView))
async def read_audit(
    ship: TheShip,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    thread_id: Annotated[str | None, Query(alias="threadId", max_length=200)] = None,
) -> Response:
    """List the calls that acted or were refused, newest first; `next` is the `before` of the next page."""
    # Reading and hashing the files takes a while; streams of other threads go on meanwhile.
    answer = await asyncio.to_thread(_read, ship.approvals.audit, limit, before, thread_id)
    return Json(_hide(msgspec.to_builtins(answer), str(ship.layout.root)))


def _read(audit: Audit, limit: int, before: int | None, thread_id: str | None) -> AuditView:
    page = fold(audit.entries(), limit, before=before, thread_id=thread_id)
    found = audit.verify()
    return AuditView(
        entries=[_show(call) for call in page.calls],
        next=page.calls[-1].seq if page.has_more else None,
        verified=Verified(holds=found.holds, entries=found.entries, breaks=found.breaks, torn=found.torn),
    )


def _show(call: AuditCall) -> AuditCall:
    """Leave out what the events repeat of their call."""
    return msgspec.structs.replace(call, events=tuple(_shorten(entry) for entry in call.events))


def _shorten(entry: AuditEntry) -> AuditEntry:
    repeated = dict.fromkeys(("thread_id", "member", "run_id", "call_id", "message_id", "tool", "what"), "")
    return msgspec.structs.replace(entry, **repeated, digest="", initiators=())


def _hide(value: object, root: str) -> object:
    """Write paths of this machine as people name them, wherever they stand."""
    if isinstance(value, dict):
        return {key: _hide(inner, root) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hide(inner, root) for inner in value]
    return hide_root(value, root) if isinstance(value, str) else value

"""Rehearse priming scripts."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Request
from pydantic import Field, StrictBool
from starlette.responses import Response

from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearsal.report.kept import last_report
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.rehearsal.service import choose_member, rehearse
from shipmate.server.guard.error import hide_root
from shipmate.server.shape import ExactShape, Json, Slot, tells
from shipmate.server.site import TheShip
from shipmate.server.stream.presence import ClientGoneError, while_present

router = APIRouter(tags=["priming"])
# What servers log of a client that closed its request; nobody reads it.
CLIENT_GONE = 499


class RehearseScript(ExactShape):
    """The request to rehearse a script."""

    ref: Slot
    # None is the one the script is for.
    member: Slot | None = None
    tools: Literal["script", "sandbox", "live"] = "script"
    # None is the member's own; `script` plays the member's side.
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    forced: StrictBool = False


@router.post("/api/priming/rehearse", openapi_extra=tells(Report))
async def rehearse_script(request: Request, ship: TheShip, body: RehearseScript) -> Response:
    """Say a script's user turns again and compare; no thread is made, and only live tools act.

    It ends when the client leaves: nobody would pay for an answer that nobody waits for.
    """
    member = choose_member(ship.layout, ScriptRef.parse(body.ref), body.member)
    ship.crew.find(member)
    setting = Setting(member=member, model=body.model, tools=body.tools, forced=body.forced)
    try:
        report = await while_present(request, rehearse(ship.layout, body.ref, setting))
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    return Json(_without_root(report, str(ship.layout.root)))


@router.get("/api/priming/rehearsal", openapi_extra=tells(Report, or_null=True))
async def read_rehearsal(ship: TheShip, ref: Slot) -> Response:
    """Return the last report of a script; null when it was never rehearsed."""
    report = last_report(ship.layout, ref)
    return Json(None if report is None else _without_root(report, str(ship.layout.root)))


def _without_root(report: Report, root: str) -> Report:
    return msgspec.structs.replace(report, reason=hide_root(report.reason, root))

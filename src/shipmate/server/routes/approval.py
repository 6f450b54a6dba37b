"""Show approvals and grants, and take decisions."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from shipmate.approvals.value import Approval, Grant, Status
from shipmate.approvals.wording import describe, describe_grant, leads_to, measure, offer_scopes
from shipmate.server import shape
from shipmate.server.ask import ClientDecision, joint_reply_event, reply_event
from shipmate.server.guard.error import ApiError, hide_root, invalid
from shipmate.server.json_response import Json, empty, tells
from shipmate.server.port import Ship
from shipmate.server.site import TheShip
from shipmate.server.stream.stream import WAKE
from shipmate.values.event import ApprovalReplyEvent
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

# The page shows a call whole, however long it is.
WHOLE = 10_000_000
DECISION_SECONDS = 10.0
router = APIRouter(tags=["approvals"])


@router.get("/api/approvals", openapi_extra=tells("Approvals"))
async def read_approvals(
    ship: TheShip,
    status: Status | None = None,
    thread_id: Annotated[str | None, Query(alias="threadId", max_length=200)] = None,
) -> Response:
    """List approvals, newest first."""
    found = await ship.approvals.list(status, thread_id)
    return Json({"approvals": [_show(ship, approval) for approval in found]})


@router.get("/api/approvals/{approval_id}", openapi_extra=tells("Approval"))
async def read_approval(ship: TheShip, approval_id: str) -> Response:
    """Return one approval."""
    return Json(_show(ship, await ship.approvals.get(approval_id)))


@router.post("/api/approvals/{approval_id}", openapi_extra=tells("Ruled"))
async def decide(ship: TheShip, approval_id: str, body: shape.DecisionBody) -> Response:
    """Decide an approval; the run it holds up goes on by itself."""
    approval = await ship.approvals.get(approval_id)
    if not approval.is_open:
        raise _decided(approval)
    decision = ClientDecision(approval_id, body.approved, body.reason)
    event = reply_event(approval.thread_id, decision, body.scope)
    say = await _give_in(ship, event)
    after = await ship.approvals.get(approval_id)
    if after.ruling is None or after.ruling.message_id != event.message_id:
        raise ApiError(409, "conflict", say or _decided(after).body["message"], "Look at it again.")
    return Json({"approval": _show(ship, after), "say": say})


@router.post("/api/approvals", openapi_extra=tells("Approvals"))
async def decide_several(ship: TheShip, body: shape.JointDecisionBody) -> Response:
    """Decide several approvals of one thread in one step; the run they hold up goes on by itself."""
    asked = [await ship.approvals.get(each) for each in dict.fromkeys(body.ids)]
    if closed := next((each for each in asked if not each.is_open), None):
        raise _decided(closed)
    if len({each.thread_id for each in asked}) > 1:
        raise invalid("These questions belong to several threads. Decide them thread by thread.")
    event = joint_reply_event(asked[0].thread_id, [each.id for each in asked], body.approved, body.reason)
    say = await _give_in(ship, event)
    after = [await ship.approvals.get(each.id) for each in asked]
    for each in after:
        if each.ruling is None or each.ruling.message_id != event.message_id:
            raise ApiError(409, "conflict", say or _decided(each).body["message"], "Look at it again.")
    return Json({"approvals": [_show(ship, each) for each in after]})


@router.get("/api/grants", openapi_extra=tells("Grants"))
async def read_grants(ship: TheShip) -> Response:
    """List the grants in force."""
    return Json({"grants": [_show_grant(ship, grant) for grant in await ship.approvals.grants()]})


@router.delete("/api/grants/{grant_id}", status_code=204)
async def revoke(ship: TheShip, grant_id: str) -> Response:
    """Take a grant back; the next call it covered asks again."""
    await ship.approvals.revoke(grant_id)
    return empty()


async def _give_in(ship: Ship, event: ApprovalReplyEvent) -> str | None:
    """Hand an answer in and wait until it is decided on, not until the run it lets go on has ended."""
    async with ship.keeper.watch(event.thread_id) as queue:
        receipt = await ship.keeper.receive(event)
        outcome = asyncio.ensure_future(receipt.outcome())
        outcome.add_done_callback(lambda _: queue.put_nowait(WAKE))
        try:
            async with asyncio.timeout(DECISION_SECONDS):
                while not outcome.done() and event.message_id not in (await queue.get()).answers:
                    pass
        except TimeoutError:
            # Another run of the thread goes first; the answer is stored and will be taken.
            return None
        finally:
            if not outcome.done():
                outcome.cancel()
        return outcome.result().text or None if outcome.done() and not outcome.cancelled() else None


def _decided(approval: Approval) -> ApiError:
    return ApiError(409, "conflict", f"That question is {approval.status} already.", "Look at it again.")


def _show(ship: Ship, approval: Approval) -> JsonObject:
    ruling = approval.ruling
    root = str(ship.layout.root)
    return {
        "id": approval.id,
        "status": approval.status,
        "threadId": approval.thread_id,
        "tool": approval.tool,
        "input": approval.input,
        "preview": None if approval.preview is None else reveal(approval.preview),
        "folder": _show_folder(approval, root),
        "leadsTo": leads_to(approval),
        "length": dict(zip(("lines", "characters"), measure(approval), strict=True)),
        "member": approval.member,
        "scopes": [
            {"scope": scope, "covers": hide_root(covers, root), "rule": _show_rule(approval)}
            for scope, covers in offer_scopes(approval, ship.config.language, reveal).items()
        ],
        "wording": hide_root(describe(approval, ship.config.language, WHOLE), root),
        "reason": reveal(hide_root(approval.reason, root)),
        "requestedAt": approval.requested_at,
        "expiresAt": approval.expires_at,
        "decidedAt": ruling.at if ruling else None,
        "decidedBy": ruling.by if ruling else None,
        "words": reveal(ruling.words) if ruling else None,
    }


def _show_rule(approval: Approval) -> str | None:
    rule = approval.coverage.rule if approval.coverage else None
    return None if rule is None else reveal(rule)


def _show_folder(approval: Approval, root: str) -> str:
    """Write the working folder as people name it: the workspace by its own name alone."""
    return f"{PurePath(root).name}{approval.folder.removeprefix(root)}"


def _show_grant(ship: Ship, grant: Grant) -> JsonObject:
    return {
        "id": grant.id,
        "tool": grant.tool,
        "pattern": grant.pattern,
        "wording": reveal(describe_grant(grant, ship.config.language)),
        "scope": grant.scope,
        "threadId": grant.thread_id,
        "grantedBy": grant.granted_by,
        "grantedAt": grant.granted_at,
        "expiresAt": grant.expires_at,
    }

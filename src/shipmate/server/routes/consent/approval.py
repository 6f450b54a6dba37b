"""Show approvals and grants, and take decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, StrictBool, StringConstraints
from starlette.responses import Response

from shipmate.approvals.question import describe, describe_grant, explain, leads_to, measure, offer_scopes
from shipmate.approvals.value import Approval, Grant, Status
from shipmate.errors import NotFoundError
from shipmate.server.guard.error import ApiError, hide_root, invalid, missing
from shipmate.server.guard.viewer import choose_seen, sees, viewer
from shipmate.server.port import Ship
from shipmate.server.shape import Answer, Json, Localized, Shape, Slot, empty, tells
from shipmate.server.site import PLATFORM, TheShip
from shipmate.server.stream.stream import WAKE
from shipmate.values.event import ApprovalReplyEvent
from shipmate.values.message import JsonObject, new_id, timestamp
from shipmate.values.reason import Why
from shipmate.values.reveal import reveal

# The page shows a call whole, however long it is.
WHOLE = 10_000_000
DECISION_SECONDS = 10.0
router = APIRouter(tags=["approvals"])


class DecisionBody(Shape):
    """A decision on an approval."""

    approved: StrictBool
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None
    scope: Annotated[str, StringConstraints(pattern=r"^(once|thread|always|[1-9][0-9]{0,4}m)$")] = "once"


class JointDecisionBody(Shape):
    """A decision on several approvals of one thread at once: all of them, or none."""

    ids: Annotated[list[Slot], Field(min_length=1, max_length=100)]
    approved: StrictBool
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None


class ScopeOffer(Answer):
    """An answer that holds longer than once, with exactly what it covers."""

    scope: str
    covers: str
    # None is the very call, with all its arguments.
    rule: str | None


class TextLength(Answer):
    """How long the text is that a person must look at."""

    lines: int
    characters: int


class ApprovalView(Answer):
    """A question put to a person, as people are shown it."""

    id: str
    status: Status
    thread_id: str
    tool: str
    input: JsonObject
    preview: str | None
    # The folder the call works in.
    folder: str
    # Where the path of the call really leads, when links lead it elsewhere.
    leads_to: str | None
    # A file that is too large to be sent gets an address, by which anybody can fetch it for so long.
    shared_hours: int | None
    length: TextLength
    member: str
    # The longer answers that would hold; none is offered that would not.
    scopes: list[ScopeOffer]
    wording: str
    # As the workspace's language has it, and in both, where it is more than the words of an error.
    reason: str
    reasons: Localized | None
    requested_at: str
    expires_at: str | None
    decided_at: str | None
    decided_by: str | None
    words: str | None


class ApprovalList(Answer):
    """Approvals, newest first."""

    approvals: list[ApprovalView]


class Decided(Answer):
    """What became of a decision."""

    approval: ApprovalView
    say: str | None


class GrantView(Answer):
    """A grant, as people are shown it."""

    id: str
    tool: str
    pattern: str | None
    wording: str
    scope: str
    thread_id: str | None
    granted_by: str
    granted_at: str
    expires_at: str | None


class GrantList(Answer):
    """The grants in force."""

    grants: list[GrantView]


@router.get("/api/approvals", openapi_extra=tells(ApprovalList))
async def read_approvals(
    ship: TheShip,
    status: Status | None = None,
    thread_id: Annotated[str | None, Query(alias="threadId", max_length=200)] = None,
) -> Response:
    """List approvals, newest first."""
    found = await ship.approvals.list(status, thread_id)
    seen = await choose_seen(ship, (each.thread_id for each in found))
    shown = [_show(ship, approval) for approval in found if approval.thread_id in seen]
    return Json(ApprovalList(approvals=shown))


@router.get("/api/approvals/{approval_id}", openapi_extra=tells(ApprovalView))
async def read_approval(ship: TheShip, approval_id: str) -> Response:
    """Return one approval."""
    return Json(_show(ship, await _get(ship, approval_id)))


@router.post("/api/approvals/{approval_id}", openapi_extra=tells(Decided))
async def decide(ship: TheShip, approval_id: str, body: DecisionBody) -> Response:
    """Decide an approval; the run it holds up goes on by itself."""
    approval = await _get(ship, approval_id)
    if not approval.is_open:
        raise _decided(approval)
    event = reply_event(approval.thread_id, [approval_id], body.approved, body.reason, scope=body.scope)
    say = await _give_in(ship, event)
    after = await ship.approvals.get(approval_id)
    if after.decision is None or after.decision.message_id != event.message_id:
        raise ApiError(409, "conflict", say or _decided(after).problem.message, "Look at it again.")
    return Json(Decided(approval=_show(ship, after), say=say))


@router.post("/api/approvals", openapi_extra=tells(ApprovalList))
async def decide_several(ship: TheShip, body: JointDecisionBody) -> Response:
    """Decide several approvals of one thread in one step; the run they hold up goes on by itself."""
    asked = [await _get(ship, each) for each in dict.fromkeys(body.ids)]
    if closed := next((each for each in asked if not each.is_open), None):
        raise _decided(closed)
    if len({each.thread_id for each in asked}) > 1:
        raise invalid("These questions belong to several threads. Decide them thread by thread.")
    event = reply_event(asked[0].thread_id, [each.id for each in asked], body.approved, body.reason)
    say = await _give_in(ship, event)
    after = [await ship.approvals.get(each.id) for each in asked]
    for each in after:
        if each.decision is None or each.decision.message_id != event.message_id:
            raise ApiError(409, "conflict", say or _decided(each).problem.message, "Look at it again.")
    return Json(ApprovalList(approvals=[_show(ship, each) for each in after]))


@router.get("/api/grants", openapi_extra=tells(GrantList))
async def read_grants(ship: TheShip) -> Response:
    """List the grants in force."""
    return Json(GrantList(grants=[_show_grant(ship, grant) for grant in await ship.approvals.grants()]))


@router.delete("/api/grants/{grant_id}", status_code=204)
async def revoke(ship: TheShip, grant_id: str) -> Response:
    """Take a grant back; the next call it covered asks again."""
    await ship.approvals.revoke(grant_id)
    return empty()


async def _get(ship: Ship, approval_id: str) -> Approval:
    """Return an approval; one of a thread that is not theirs is as one that never was."""
    try:
        found = await ship.approvals.get(approval_id)
    except NotFoundError:
        if viewer().has("admin"):
            raise
        raise missing("such approval") from None
    if not await sees(ship, found.thread_id):
        raise missing("such approval")
    return found


def reply_event(
    thread_id: str, approval_ids: Sequence[str], approved: bool, reason: str | None, *, scope: str = "once"
) -> ApprovalReplyEvent:
    """Make the event of a button pressed for one approval, or for several at once."""
    return ApprovalReplyEvent(
        platform=PLATFORM,
        thread_id=thread_id,
        user_id=viewer().speaker,
        message_id=new_id("reply"),
        timestamp=timestamp(),
        text=reason or "",
        approval_id=approval_ids[0] if len(approval_ids) == 1 else None,
        approval_ids=tuple(approval_ids) if len(approval_ids) > 1 else (),
        approved=approved,
        scope=scope,
    )


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


def _show(ship: Ship, approval: Approval) -> ApprovalView:
    decision = approval.decision
    root = str(ship.layout.root)
    lines, characters = measure(approval)
    offered = offer_scopes(approval, ship.config.language, reveal)
    return ApprovalView(
        id=approval.id,
        status=approval.status,
        thread_id=approval.thread_id,
        tool=approval.tool,
        input=approval.input,
        preview=None if approval.preview is None else reveal(approval.preview),
        folder=_show_folder(approval, root),
        leads_to=leads_to(approval),
        shared_hours=approval.target.get("sharedHours"),
        length=TextLength(lines=lines, characters=characters),
        member=approval.member,
        scopes=[
            ScopeOffer(scope=scope, covers=hide_root(covers, root), rule=_show_rule(approval))
            for scope, covers in offered.items()
        ],
        wording=hide_root(describe(approval, ship.config.language, WHOLE), root),
        reason=reveal(hide_root(approval.reason, root)),
        reasons=localize(approval.why, root) if approval.why.key else None,
        requested_at=approval.requested_at,
        expires_at=approval.expires_at,
        decided_at=decision.at if decision else None,
        decided_by=decision.by if decision else None,
        words=reveal(decision.words) if decision else None,
    )


def localize(why: Why, root: str) -> Localized:
    """Say a reason in both languages."""
    en, zh = (reveal(hide_root(explain(language, why), root)) for language in ("en", "zh"))
    return Localized(en=en, zh=zh)


def _show_rule(approval: Approval) -> str | None:
    rule = approval.coverage.rule if approval.coverage else None
    return None if rule is None else reveal(rule)


def _show_folder(approval: Approval, root: str) -> str:
    """Write the working folder as people name it: the workspace by its own name alone."""
    return f"{PurePath(root).name}{approval.folder.removeprefix(root)}"


def _show_grant(ship: Ship, grant: Grant) -> GrantView:
    return GrantView(
        id=grant.id,
        tool=grant.tool,
        pattern=grant.pattern,
        wording=reveal(describe_grant(grant, ship.config.language)),
        scope=grant.scope,
        thread_id=grant.thread_id,
        granted_by=grant.granted_by,
        granted_at=grant.granted_at,
        expires_at=grant.expires_at,
    )

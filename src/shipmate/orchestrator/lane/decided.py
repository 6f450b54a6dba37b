"""Read answers to approvals, and bring decisions into the thread they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shipmate.approvals.service import ApprovalService
from shipmate.approvals.value import ReplyEffect
from shipmate.orchestrator.equipment import Equipment
from shipmate.orchestrator.lane.ingress import decision_rows, initiators_of, member_of
from shipmate.orchestrator.turn import Turn
from shipmate.store.port import InboxRow
from shipmate.thread.service import Thread
from shipmate.values.event import ApprovalReplyEvent, CommandEvent, TextEvent


async def settle_decided(approvals: ApprovalService, thread: Thread) -> None:
    """Bring decisions into the thread that an expiry, a crash or another process left outside."""
    if thread.waiting:
        rows = decision_rows(thread, await approvals.decisions_for(str(thread.id)))
        if rows:
            await thread.append(*rows)


async def read_answer(approvals: ApprovalService, thread: Thread, row: InboxRow) -> ReplyEffect:
    """Read a row as an answer to approvals, if it can be one."""
    event = row.event
    if not isinstance(event, TextEvent | ApprovalReplyEvent):
        return ReplyEffect()
    # Only a person's words count.
    if isinstance(event, TextEvent) and (not thread.waiting or not event.is_persons):
        return ReplyEffect()
    pending = await approvals.pending(str(thread.id))
    if isinstance(event, TextEvent):
        # Nobody has answered what was not asked yet when they spoke.
        pending = [each for each in pending if approvals.was_asked_by(each, row.received_at)]
    return await approvals.answer(event, pending)


def open_decided(turn: Turn, own: str, equip: Callable[[str], Equipment]) -> list[Turn]:
    """Open the earlier messages whose calls can go on, each with the member that wrote it."""
    found = [turn.thread.find(each) for each in turn.thread.waiting if each != turn.message["id"]]
    opened = [
        turn.open_earlier(
            message,
            equip=partial(equip, member_of(message) or own),
            initiators=initiators_of(turn.thread, message["id"]),
        )
        for message in found
        if message is not None
    ]
    return [earlier for earlier in opened if earlier.is_decided]


def asks_to_stop(row: InboxRow) -> bool:
    """Return whether a row is a person's word to stop."""
    return isinstance(row.event, CommandEvent) and row.event.name == "stop"

"""Look at what must be sent from whichever process, and settle what only a person can decide about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from shipmate.errors import NotFoundError, UserError
from shipmate.orchestrator.feed import Receipt
from shipmate.store.port import OutboxRow
from shipmate.values.event import CommandEvent, IngressEvent
from shipmate.values.message import new_id, timestamp


def is_open(row: OutboxRow) -> bool:
    """Return whether somebody may want to know of a send: it is not out, or nobody knows."""
    return row.status not in ("sent", "dropped") or row.has_stray


def find(sends: Sequence[OutboxRow], send_id: int) -> OutboxRow:
    """Return a send by its number."""
    row = next((row for row in sends if row.id == send_id), None)
    if row is None:
        raise NotFoundError(f"there is no send {send_id}. `shipmate outbox --all` lists them.")
    return row


async def settle(
    receive: Callable[[IngressEvent], Awaitable[Receipt]], row: OutboxRow, name: str, platform: str, user: str
) -> None:
    """Have a send sent again (`resend`) or forgotten (`forget`) by the process that keeps the workspace."""
    event = CommandEvent(
        platform=platform,
        thread_id=row.message.thread_id,
        user_id=user,
        message_id=new_id("send"),
        timestamp=timestamp(),
        name=name,
        text=str(row.id),
    )
    outcome = await (await receive(event)).outcome()
    if outcome.error:
        raise UserError(outcome.error)

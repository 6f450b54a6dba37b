"""Rehearse a script against the composed program, and show both answers side by side."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from shipmate.cli.place import PLATFORM
from shipmate.cli.ship import local_user, make_text, open_ship
from shipmate.cli.terminal.card import clean
from shipmate.priming.rehearsal.performed import Heard
from shipmate.priming.rehearse import Comparison, Rehearsal, rehearse
from shipmate.priming.script.record import Script
from shipmate.values.event import ApprovalReplyEvent, Attachment, Outcome
from shipmate.values.message import UIMessage, new_id, text_of, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.app import Shipmate

SCOPE = "rehearsal"
# A rehearsal whose thread did not change for so long was killed.
ABANDONED_SECONDS = 3600
# A model that keeps asking for what is denied would never end a turn.
DENIAL_LIMIT = 10


async def run_rehearsal(
    layout: Layout, script: Script, member: str, model: str | None, ignore: Sequence[str]
) -> Rehearsal:
    """Hold the rehearsal in a thread of its own, which ends in the bin."""
    thread_id = ThreadId(PLATFORM, SCOPE, secrets.token_hex(8))
    async with open_ship(layout) as ship:
        await _sweep(ship)

        async def say(said: UIMessage) -> Heard:
            return await _say(ship, thread_id, said, member, model)

        try:
            return await rehearse(script, say, ignore=ignore)
        finally:
            if await ship.threads.exists(thread_id):
                await ship.threads.bin(thread_id)
                await ship.store.threads.refresh(str(thread_id))


async def _sweep(ship: Shipmate) -> None:
    """Move to the bin what rehearsals left that were killed; one that goes on writes its file meanwhile."""
    before = time.time() - ABANDONED_SECONDS
    for thread_id in await ship.threads.ids():
        if (thread_id.platform, thread_id.scope_type) == (PLATFORM, SCOPE):
            path = ship.layout.thread(thread_id)
            if path.exists() and path.stat().st_mtime < before:
                await ship.threads.bin(thread_id)
                await ship.store.threads.refresh(str(thread_id))


async def _say(ship: Shipmate, thread_id: ThreadId, said: UIMessage, member: str, model: str | None) -> Heard:
    known = {message["id"] for message in (await _read(ship, thread_id))}
    files = [part for part in said["parts"] if part.get("type") == "file"]
    event = msgspec.structs.replace(
        make_text(thread_id, text_of(said), model=model),
        member=member,
        attachments=tuple(
            Attachment(url=part["url"], media_type=part["mediaType"], filename=part.get("filename"))
            for part in files
        ),
    )
    outcome = await (await ship.receive(event)).outcome()
    for _ in range(DENIAL_LIMIT):
        if outcome.status != "suspended":
            break
        outcome = await _deny(ship, thread_id, outcome)
    messages = [message for message in await _read(ship, thread_id) if message["id"] not in known]
    stopped = "" if outcome.status == "replied" else outcome.error or f"the run was {outcome.status}"
    return Heard(messages=[m for m in messages if m["role"] == "assistant"], stopped=stopped)


async def _read(ship: Shipmate, thread_id: ThreadId) -> list[UIMessage]:
    if not await ship.threads.exists(thread_id):
        return []
    return list((await ship.threads.read(thread_id)).messages)


async def _deny(ship: Shipmate, thread_id: ThreadId, outcome: Outcome) -> Outcome:
    """Answer no to whatever waits, so that the run goes on without acting."""
    for approval in await ship.approvals.pending(str(thread_id)):
        event = ApprovalReplyEvent(
            platform=PLATFORM,
            thread_id=str(thread_id),
            user_id=local_user(),
            message_id=new_id("in"),
            timestamp=timestamp(),
            text="no",
            approval_id=approval.id,
            approved=False,
        )
        outcome = await (await ship.receive(event)).outcome()
    return outcome


def show_rehearsal(report: Rehearsal) -> None:
    """Print each turn: one line where it is as in the script, both answers where it is not."""
    for number, turn in enumerate(report.turns, 1):
        states = [f"stopped: {clean(turn.stopped)}"] if turn.stopped else []
        states += [f"differs in {', '.join(turn.differs)}"] if turn.differs else []
        click.echo(f"Turn {number}: {'; '.join(states) or 'as in the script'}")
        if turn.differs:
            _show_beside(turn)
    click.echo("All turns are as in the script." if report.matches else "Not as in the script.")


def _show_beside(turn: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(clean(turn.said)), title_justify="left", show_lines=True)
    for heading in ("", "script", "now"):
        table.add_column(heading, overflow="fold")
    for aspect in turn.differs:
        before, after = (_lines(getattr(answer, aspect)) for answer in (turn.expected, turn.got))
        table.add_row(aspect, Text(clean(before)), Text(clean(after)))
    Console().print(table)


def _lines(values: str | Sequence[object]) -> str:
    if isinstance(values, str):
        return values
    return "\n".join(msgspec.json.encode(value).decode() for value in values)

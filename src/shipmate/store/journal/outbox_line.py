"""The lines of `.ship/outbox.jsonl`: what happened to sends, one after the other."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from shipmate.store.port import OutboxRow, SendStatus
from shipmate.values.event import EgressMessage


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", omit_defaults=True):
    """One thing that happened to sends."""


class Intend(_Line, frozen=True, kw_only=True, tag="intend"):
    row: OutboxRow
    # What was answered by it, and its place in the answer: the same intent is not taken twice.
    key: str
    closed_at: str = ""


class Revise(_Line, frozen=True, kw_only=True, tag="revise"):
    """The whole of what was shown as a preview."""

    id: int
    message: EgressMessage


class Send(_Line, frozen=True, kw_only=True, tag="send"):
    id: int
    at: str = ""


class Show(_Line, frozen=True, kw_only=True, tag="show"):
    """What the platform calls a preview."""

    id: int
    receipt: str | None = None
    error: str | None = None
    is_gone: bool = False


class Close(_Line, frozen=True, kw_only=True, tag="close"):
    """What became of a send; one that waits again is to be retried."""

    id: int
    at: str
    status: SendStatus
    receipt: str | None = None
    error: str | None = None
    is_wanted: bool = False


class OutboxBegin(_Line, frozen=True, kw_only=True, tag="begin"):
    """How a file that was written anew begins: with the number the next send gets."""

    next: int


Change: TypeAlias = Revise | Send | Show | Close
Line: TypeAlias = Intend | Revise | Send | Show | Close | OutboxBegin
decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
# How much of the words is kept once they are out: the thread has them.
SENT_LENGTH = 200
CLOSED = ("sent", "uncertain", "failed", "dropped")


def is_question(row: OutboxRow) -> bool:
    """Return whether a send asks for a decision."""
    return "approval" in row.message.extra


def lasts_long(row: OutboxRow) -> bool:
    """Return whether it is remembered for long what became of a send.

    What closed a question is known for longer than the question, or it would be closed once more.
    """
    return is_question(row) or "closes" in row.message.extra or row.status in ("uncertain", "failed")


def key_of_send(answered: str, message: EgressMessage, place: int) -> str:
    """Name a send by what it answers and its place in the answer, so that the same one is intended once."""
    return f"{answered} {message.extra.get('name', place)}"


def apply_to_send(send: Intend, line: Change) -> Intend:
    """Return what a line makes of a send."""
    row = send.row
    match line:
        case Revise(message=message):
            # A preview that is on its way may be there besides, unless it is told what became of it.
            is_stray = row.status == "sending" and row.receipt is None
            has_stray = is_stray or row.has_stray
            return _change(send, message=message, is_preview=False, status="waiting", has_stray=has_stray)
        case Send(at=at):
            return _change(send, status="sending", attempts=row.attempts + 1, begun_at=at or None)
        case Show():
            return _change(
                send,
                receipt=line.receipt,
                # The whole may be known by now, and waits.
                status="shown" if row.is_preview else "waiting",
                error=line.error,
                has_stray=line.receipt is None and line.error is not None,
                is_gone=line.is_gone or row.is_gone,
            )
        case Close():
            return _close(send, line)


def _close(send: Intend, line: Close) -> Intend:
    closed = _change(
        send,
        status=line.status,
        receipt=line.receipt or send.row.receipt,
        error=line.error,
        is_wanted=line.is_wanted or send.row.is_wanted,
    )
    words = closed.row.message.text or ""
    if line.status == "sent" and not is_question(closed.row) and len(words) > SENT_LENGTH:
        cut = msgspec.structs.replace(closed.row.message, text=f"{words[:SENT_LENGTH]}…")
        closed = _change(closed, message=cut)
    if line.status in CLOSED and not send.closed_at:
        closed = msgspec.structs.replace(closed, closed_at=line.at)
    return closed


def _change(send: Intend, **values: object) -> Intend:
    return msgspec.structs.replace(send, row=msgspec.structs.replace(send.row, **values))

"""The lines of `.ship/inbox.jsonl`: what happened to events, and what each makes of the row of one."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from shipmate.store.port import InboxRow
from shipmate.values.event import IngressEvent, Outcome


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", omit_defaults=True):
    """One thing that happened to events."""


class Accept(_Line, frozen=True, kw_only=True, tag="accept"):
    seq: int
    at: str
    event: IngressEvent


class HearLine(_Line, frozen=True, kw_only=True, tag="hear"):
    """A spoken message has words now, or the reason why it has none."""

    seq: int
    event: IngressEvent


class Take(_Line, frozen=True, kw_only=True, tag="take"):
    seqs: list[int]
    run: str


class Ask(_Line, frozen=True, kw_only=True, tag="ask"):
    run: str
    progress: int


class Leave(_Line, frozen=True, kw_only=True, tag="leave"):
    run: str


class StopLine(_Line, frozen=True, kw_only=True, tag="stop"):
    run: str


class WithdrawLine(_Line, frozen=True, kw_only=True, tag="withdraw"):
    seq: int
    at: str


class FinishLine(_Line, frozen=True, kw_only=True, tag="finish"):
    seqs: list[int]
    at: str
    outcome: Outcome


class InboxBegin(_Line, frozen=True, kw_only=True, tag="begin"):
    """How a file that was written anew begins: with the number the next event gets."""

    next: int


class Keep(_Line, frozen=True, kw_only=True, tag="keep"):
    """One row as it stood when the file was written anew."""

    row: InboxRow
    progress: int = -1
    is_counted: bool = False
    done_at: str = ""


Line: TypeAlias = (
    Accept | HearLine | Take | Ask | Leave | StopLine | WithdrawLine | FinishLine | InboxBegin | Keep
)
decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
Key: TypeAlias = tuple[str, str, str]


def key_of(event: IngressEvent) -> Key:
    """Return what no two events that are remembered share."""
    return event.thread_id, event.platform, event.message_id


def apply_to_open(kept: Keep, line: Line) -> Keep:
    """Return what a line makes of an event that waits or is worked on."""
    match line:
        case HearLine(event=event):
            return _change(kept, event=event)
        case Take(run=run):
            return _change(kept, status="running", run_id=run)
        case Ask(progress=progress):
            attempts = kept.row.attempts + 1 if kept.progress == progress else 1
            counted = _change(kept, attempts=attempts)
            return msgspec.structs.replace(counted, progress=progress, is_counted=True)
        case Leave() if kept.is_counted:
            left = _change(kept, attempts=max(0, kept.row.attempts - 1))
            return msgspec.structs.replace(left, is_counted=False)
        case StopLine():
            return _change(kept, is_stopped=True)
        case WithdrawLine(at=at):
            return msgspec.structs.replace(_change(kept, status="withdrawn"), done_at=at)
        case FinishLine(at=at, outcome=outcome):
            return msgspec.structs.replace(_change(kept, status="done", outcome=outcome), done_at=at)
        case _:
            return kept


def _change(kept: Keep, **values: object) -> Keep:
    return msgspec.structs.replace(kept, row=msgspec.structs.replace(kept.row, **values))

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


Line: TypeAlias = Intend | Revise | Send | Show | Close | OutboxBegin
decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)

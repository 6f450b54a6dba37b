"""What a reply was understood to say."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["it", "all", "rest", "numbers", "text"]
Span = Literal["once", "thread", "always", "window"]


class Clause(msgspec.Struct, frozen=True):
    """What one part of a reply decides."""

    approved: bool
    kind: Kind
    numbers: tuple[int, ...] = ()
    text: str = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that was understood in full."""

    clauses: tuple[Clause, ...]
    reason: str | None = None
    span: Span = "once"
    # For a window: how many minutes, or until which point (`midnight`, or a time of day such as `18:00`).
    minutes: int | None = None
    until: str | None = None

    @property
    def approves(self) -> bool:
        return any(clause.approved for clause in self.clauses)

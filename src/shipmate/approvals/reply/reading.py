"""Hold what a reply was understood to say."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["it", "all", "rest", "numbers", "text"]
Span = Literal["once", "thread", "always", "window"]


class Clause(msgspec.Struct, frozen=True):
    """Say what one part of a reply decides."""

    approved: bool
    kind: Kind
    numbers: tuple[int, ...] = ()
    text: str = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """Hold a reply that was understood in full."""

    clauses: tuple[Clause, ...]
    reason: str | None = None
    span: Span = "once"
    minutes: int | None = None

    @property
    def approves(self) -> bool:
        return any(clause.approved for clause in self.clauses)

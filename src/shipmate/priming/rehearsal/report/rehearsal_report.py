"""Describe the outcome of a rehearsal, as people, pages and programs read it."""

from __future__ import annotations

from typing import Literal

import msgspec

from shipmate.priming.rehearsal.answer_piece import AnswerPiece

RehearsalVerdict = Literal["same", "differs", "broken", "unusable"]
DeviationKind = Literal[
    "words",
    "thought",
    "tool",
    "arguments",
    "result",
    "error",
    "denial",
    "file",
    "other",
    "missing",
    "additional",
    "order",
    "missed",
    "stopped",
    "time",
    "cost",
]


class Deviation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One way in which a new answer is not as recorded."""

    kind: DeviationKind
    # The number of the recorded piece, of the new one where none was recorded, 0 for the whole turn.
    place: int = 0
    recorded: AnswerPiece | None = None
    new: AnswerPiece | None = None
    reason: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was recorded for one user turn beside what was heard."""

    said: str
    recorded: list[AnswerPiece] = []
    new: list[AnswerPiece] = []
    deviations: list[Deviation] = []
    ms: int = 0
    cost_usd: float | None = None
    # Why the rehearsal could not go on here; empty when it could.
    stopped: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of one rehearsal of one script."""

    ref: str = ""
    member: str = ""
    tools: str = ""
    model: str = ""
    forced: bool = False
    started_at: str = ""
    ms: int = 0
    cost_usd: float | None = None
    verdict: RehearsalVerdict
    reason: str = ""
    turns: list[Comparison] = []

"""Name the ways in which pieces of an answer are not as recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.expect import Expect
from shipmate.priming.rehearsal.fitting import OUTCOMES, Fitting
from shipmate.priming.rehearsal.report.rehearsal_report import Deviation, DeviationKind

# Where more differs, nobody is helped by what merely moved.
MOVED_LIMIT = 300


@dataclass(frozen=True, slots=True)
class ExpectedPiece:
    """A piece, its number in its answer, and what is expected of it."""

    piece: AnswerPiece
    place: int
    expect: Expect
    # Whether its record expects something of its own.
    is_own: bool = False
    # Behind how many characters, blanks not counted, words that follow each other were joined.
    joints: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two pieces that differ, or one without a counterpart."""

    mine: ExpectedPiece | None
    theirs: ExpectedPiece | None
    reason: str


def may_pair(mine: AnswerPiece, theirs: AnswerPiece) -> bool:
    """Return whether two pieces may stand side by side."""
    return mine.kind == theirs.kind or (mine.kind in OUTCOMES and theirs.kind in OUTCOMES)


def name_differences(found: list[Mismatch], fitting: Fitting) -> list[Deviation]:
    """Name each difference; a piece missing here and additional there was moved."""
    deviations: list[Deviation] = []
    taken: set[int] = set()
    for each in found:
        if id(each) in taken:
            continue
        others = found if len(found) <= MOVED_LIMIT else ()
        other = next((it for it in others if id(it) not in taken and _is_moved(each, it, fitting)), None)
        if other is not None:
            taken.add(id(other))
            mine, theirs = (each.mine, other.theirs) if each.mine else (other.mine, each.theirs)
            deviations.append(_order(cast(ExpectedPiece, mine), cast(ExpectedPiece, theirs)))
        else:
            deviations.append(_describe(each))
    return deviations


def _is_moved(first: Mismatch, second: Mismatch, fitting: Fitting) -> bool:
    mine, theirs = first.mine or second.mine, first.theirs or second.theirs
    alone = (first.mine is None) != (first.theirs is None) and (second.mine is None) != (
        second.theirs is None
    )
    if not alone or mine is None or theirs is None or not may_pair(mine.piece, theirs.piece):
        return False
    return not fitting.check(mine.piece, theirs.piece, mine.expect, asks=False)


def _order(mine: ExpectedPiece, theirs: ExpectedPiece) -> Deviation:
    reason = f"{_say(mine.piece)}: recorded at place {mine.place}, now at {theirs.place}"
    return Deviation(kind="order", place=mine.place, recorded=mine.piece, new=theirs.piece, reason=reason)


def _describe(found: Mismatch) -> Deviation:
    if found.mine is None and found.theirs is not None:
        reason = f"{_say(found.theirs.piece)}: not recorded"
        return Deviation(kind="additional", place=found.theirs.place, new=found.theirs.piece, reason=reason)
    mine = cast(ExpectedPiece, found.mine)
    if found.theirs is None:
        reason = f"{_say(mine.piece)}: recorded, and missing now"
        return Deviation(kind="missing", place=mine.place, recorded=mine.piece, reason=reason)
    reason = f"{_say(mine.piece)}: {found.reason}"
    kind = _kind(mine.piece, found.theirs.piece)
    return Deviation(kind=kind, place=mine.place, recorded=mine.piece, new=found.theirs.piece, reason=reason)


def _kind(mine: AnswerPiece, theirs: AnswerPiece) -> DeviationKind:
    if mine.kind == "call" and theirs.kind == "call":
        return "tool" if mine.name != theirs.name else "arguments"
    return cast(DeviationKind, theirs.kind)


def _say(piece: AnswerPiece) -> str:
    """Name a piece for a sentence."""
    names = {
        "call": f"the call to `{piece.name}`",
        "result": f"the result of `{piece.name}`",
        "error": f"the error of `{piece.name}`",
        "denial": f"the refusal of `{piece.name}`",
        "file": f"the file {piece.name or ''}".strip(),
        "other": f"the part `{piece.name}`",
    }
    return names.get(piece.kind, f"the {piece.kind}")

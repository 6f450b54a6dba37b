"""Compare what a script recorded with what was performed. Everything counts that is not expected to vary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, TypeVar

import msgspec

from shipmate.priming.rehearsal.answer_piece import AnswerPiece, PieceKind, read_pieces
from shipmate.priming.rehearsal.deviation import ExpectedPiece, Mismatch, may_pair, name_differences
from shipmate.priming.rehearsal.expect import Expectations
from shipmate.priming.rehearsal.fitting import Fitting, Judge
from shipmate.priming.rehearsal.performed import Heard, Performed
from shipmate.priming.rehearsal.recorded import RecordedTurn, read_defaults, read_turns
from shipmate.priming.rehearsal.report.rehearsal_report import Comparison, Deviation, Report
from shipmate.priming.script.record import Script
from shipmate.values.message import text_of

# What people may leave out of a comparison, and the pieces each stands for.
ASPECTS: dict[str, tuple[PieceKind, ...]] = {
    "words": ("words", "thought"),
    "calls": ("call",),
    "results": ("result", "error", "denial"),
    "files": ("file",),
    "others": ("other",),
}
_NOT_SAID = "not said, because an earlier turn could not be ended"

Item = TypeVar("Item")
Pairs: TypeAlias = list[tuple[Item | None, Item | None]]
# What it costs to leave an item alone.
Gap: TypeAlias = Callable[[Item], float]
# What it costs to pair two items; None when they may not be paired.
Pairing: TypeAlias = Callable[[Item, Item], float | None]
# Beyond so many possible pairs the items are paired as they stand.
PAIR_LIMIT = 100_000


def align(left: Sequence[Item], right: Sequence[Item], gap: Gap[Item], pairing: Pairing[Item]) -> Pairs[Item]:
    """Return the cheapest pairing of two lists in their order; None stands for a missing counterpart."""

    def is_sure(at: int) -> bool:
        # What may be left alone for nothing might find a better counterpart.
        return gap(left[at]) > 0 and gap(right[at]) > 0 and pairing(left[at], right[at]) == 0

    shorter = min(len(left), len(right))
    start = end = 0
    while start < shorter and is_sure(start):
        start += 1
    while end < shorter - start and is_sure(-1 - end):
        end += 1
    mine, theirs = left[start : len(left) - end], right[start : len(right) - end]
    find = _pair_off if len(mine) * len(theirs) > PAIR_LIMIT else _pair_best
    head = zip(left[:start], right[:start], strict=True)
    tail = zip(left[len(left) - end :], right[len(right) - end :], strict=True)
    return [*head, *find(mine, theirs, gap, pairing), *tail]


def _pair_off(
    left: Sequence[Item], right: Sequence[Item], gap: Gap[Item], pairing: Pairing[Item]
) -> Pairs[Item]:
    """Pair what stands at the same place; what may not be paired stands alone."""
    pairs: Pairs[Item] = []
    for mine, theirs in zip(left, right, strict=False):
        may_pair = pairing(mine, theirs) is not None
        pairs += [(mine, theirs)] if may_pair else [(mine, None), (None, theirs)]
    shorter = min(len(left), len(right))
    pairs += [(mine, None) for mine in left[shorter:]]
    return pairs + [(None, theirs) for theirs in right[shorter:]]


def _pair_best(
    left: Sequence[Item], right: Sequence[Item], gap: Gap[Item], pairing: Pairing[Item]
) -> Pairs[Item]:
    """Find the cheapest way from the end: `costs[r][c]` is what the rest costs from there on."""
    paired = [[pairing(mine, theirs) for theirs in right] for mine in left]
    costs = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for column in range(len(right) - 1, -1, -1):
        costs[-1][column] = costs[-1][column + 1] + gap(right[column])
    for row in range(len(left) - 1, -1, -1):
        below, here = costs[row + 1], costs[row]
        here[-1] = below[-1] + gap(left[row])
        for column in range(len(right) - 1, -1, -1):
            ways = [below[column] + gap(left[row]), here[column + 1] + gap(right[column])]
            cost = paired[row][column]
            here[column] = min(ways if cost is None else [*ways, below[column + 1] + cost])
    return _walk_back(left, right, costs, paired, gap)


def _walk_back(
    left: Sequence[Item],
    right: Sequence[Item],
    costs: list[list[float]],
    paired: list[list[float | None]],
    gap: Gap[Item],
) -> Pairs[Item]:
    row = column = 0
    pairs: Pairs[Item] = []
    while row < len(left) and column < len(right):
        here, cost = costs[row][column], paired[row][column]
        if cost is not None and here == costs[row + 1][column + 1] + cost:
            pairs.append((left[row], right[column]))
            row, column = row + 1, column + 1
        elif here == costs[row + 1][column] + gap(left[row]):
            pairs.append((left[row], None))
            row += 1
        else:
            pairs.append((None, right[column]))
            column += 1
    pairs += [(mine, None) for mine in left[row:]]
    return pairs + [(None, theirs) for theirs in right[column:]]


def compare(
    script: Script,
    performed: Performed,
    judge: Judge | None = None,
    *,
    ignore: Collection[str] = (),
    max_ms: float | None = None,
    max_cost_usd: float | None = None,
) -> Report:
    """Compare every turn; `ignore` names aspects, the bounds are of the whole rehearsal."""
    expected, turns = read_defaults(script), read_turns(script)
    comparing = _Comparing(expected, Fitting(judge), {kind for name in ignore for kind in ASPECTS[name]})
    heard = performed.turns[: len(turns)]
    compared = [comparing.compare(turn, each) for turn, each in zip(turns, heard, strict=False)]
    if performed.unusable:
        return Report(verdict="unusable", reason=performed.unusable, turns=compared)
    compared += [comparing.compare(turn, None) for turn in turns[len(heard) :]]
    whole = _Bounds(_least(max_ms, expected.max_ms), _least(max_cost_usd, expected.max_cost_usd))
    return _report(compared, heard, whole, performed.judged_usd)


@dataclass(frozen=True, slots=True)
class PiecePair:
    """The places of a recorded piece and of a new one, and whether the new one is as expected.

    A piece without a counterpart holds when nobody expects one.
    """

    recorded: int | None
    new: int | None
    holds: bool


def pair_pieces(
    script: Script,
    turn: RecordedTurn,
    new: list[AnswerPiece],
    judge: Judge | None = None,
    *,
    ignore: Collection[str] = (),
) -> list[PiecePair]:
    """Put the pieces of a recorded turn beside those of a new answer."""
    left_out: set[PieceKind] = {kind for name in ignore for kind in ASPECTS[name]}
    return _Comparing(read_defaults(script), Fitting(judge), left_out).pair(turn, new)


def _report(
    compared: list[Comparison], heard: Sequence[Heard], whole: _Bounds, judged_usd: float | None
) -> Report:
    ms = sum(each.ms for each in heard)
    costs = [judged_usd, *(each.cost_usd for each in heard)]
    cost = None if None in costs or not heard else sum(filter(None, costs))
    over = whole.check(ms, cost, "the rehearsal")
    compared[-1] = msgspec.structs.replace(compared[-1], deviations=[*compared[-1].deviations, *over])
    wrong = [number for number, turn in enumerate(compared, 1) if turn.deviations]
    first = f"turn {wrong[0]}: {compared[wrong[0] - 1].deviations[0].reason}" if wrong else ""
    return Report(ms=ms, cost_usd=cost, verdict="differs" if wrong else "same", reason=first, turns=compared)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How long something may take and what it may cost."""

    max_ms: float | None
    max_cost_usd: float | None

    def check(self, ms: int, cost: float | None, name: str) -> list[Deviation]:
        found: list[Deviation] = []
        if self.max_ms is not None and ms > self.max_ms:
            reason = f"{name} took {ms} ms; at most {self.max_ms:g} are allowed"
            found.append(Deviation(kind="time", reason=reason))
        if self.max_cost_usd is not None and (cost is None or cost > self.max_cost_usd):
            # A bound that cannot be checked does not hold.
            spent = "what it cost is not known" if cost is None else f"it cost ${cost:g}"
            reason = f"{name}: {spent}; at most ${self.max_cost_usd:g} is allowed"
            found.append(Deviation(kind="cost", reason=reason))
        return found


def _least(first: float | None, second: float | None) -> float | None:
    return min((bound for bound in (first, second) if bound is not None), default=None)


class _Comparing:
    """Compares the turns of one rehearsal."""

    def __init__(self, expected: Expectations, fitting: Fitting, left_out: set[PieceKind]) -> None:
        self._expected = expected
        self._fitting = fitting
        self._left_out = left_out

    def compare(self, turn: RecordedTurn, heard: Heard | None) -> Comparison:
        recorded = [each.piece for each in turn.pieces]
        if heard is None:
            missing = Deviation(kind="stopped", reason=_NOT_SAID)
            return Comparison(said=text_of(turn.said), recorded=recorded, deviations=[missing])
        new = read_pieces(heard.messages)
        found = self._compare_pieces(self._expect(turn), self._hear(new))
        found += [Deviation(kind="missed", reason=sentence) for sentence in heard.missed]
        found += [Deviation(kind="stopped", reason=heard.stopped)] if heard.stopped else []
        found += _Bounds(turn.max_ms, turn.max_cost_usd).check(heard.ms, heard.cost_usd, "the turn")
        return Comparison(
            said=text_of(turn.said),
            recorded=recorded,
            new=new,
            deviations=found,
            ms=heard.ms,
            cost_usd=heard.cost_usd,
            stopped=heard.stopped,
        )

    def pair(self, turn: RecordedTurn, new: list[AnswerPiece]) -> list[PiecePair]:
        return [
            PiecePair(mine and mine.place - 1, theirs and theirs.place - 1, self._holds(mine, theirs))
            for mine, theirs in align(self._expect(turn), self._hear(new), _weigh_gap, self._weigh_pair)
        ]

    def _holds(self, mine: ExpectedPiece | None, theirs: ExpectedPiece | None) -> bool:
        either = mine or theirs
        if either is None or either.piece.kind in self._left_out:
            return True
        if mine is None or theirs is None:
            return either.expect.ignore
        return not self._fitting.check(mine.piece, theirs.piece, mine.expect)

    def _expect(self, turn: RecordedTurn) -> list[ExpectedPiece]:
        return [
            ExpectedPiece(
                each.piece, at, each.expect or self._expected.of(each.piece.kind), each.expect is not None
            )
            for at, each in enumerate(turn.pieces, 1)
        ]

    def _hear(self, new: list[AnswerPiece]) -> list[ExpectedPiece]:
        return [ExpectedPiece(piece, at, self._expected.of(piece.kind)) for at, piece in enumerate(new, 1)]

    def _compare_pieces(self, recorded: list[ExpectedPiece], new: list[ExpectedPiece]) -> list[Deviation]:
        own = {each.piece.kind for each in recorded if each.is_own}
        recorded, new = self._select(recorded, own), self._select(new, own)
        pairs = align(recorded, new, _weigh_gap, self._weigh_pair)
        if not _is_cut_on_purpose(recorded):
            joined = align(_join_words(recorded), _join_words(new), _weigh_gap, self._weigh_pair)
            pairs = min(joined, pairs, key=self._weigh)
        return name_differences(list(self._differences(pairs)), self._fitting)

    def _weigh(self, pairs: Pairs[ExpectedPiece]) -> float:
        return sum(self._weigh_counterpart(mine, theirs) for mine, theirs in pairs)

    def _weigh_counterpart(self, mine: ExpectedPiece | None, theirs: ExpectedPiece | None) -> float:
        if mine is not None and theirs is not None:
            return self._weigh_pair(mine, theirs) or 0.0
        alone = mine or theirs
        return 0.0 if alone is None else _weigh_gap(alone)

    def _select(self, pieces: list[ExpectedPiece], own: Collection[str]) -> list[ExpectedPiece]:
        """Leave out what does not count, unless a record expects something of its kind."""
        return [
            each
            for each in pieces
            if each.piece.kind not in self._left_out and (each.piece.kind in own or not each.expect.ignore)
        ]

    def _weigh_pair(self, mine: ExpectedPiece, theirs: ExpectedPiece) -> float | None:
        if not may_pair(mine.piece, theirs.piece):
            return None
        if not self._check(mine, theirs, asks=False):
            return 0.0
        is_alike = (mine.piece.kind, mine.piece.name) == (theirs.piece.kind, theirs.piece.name)
        return 1.0 if is_alike else 1.5

    def _check(self, mine: ExpectedPiece, theirs: ExpectedPiece, *, asks: bool = True) -> str:
        """Return why a piece does not fit; where one text ends and the next begins, blanks do not count."""
        joints = {*mine.joints, *theirs.joints}
        if mine.expect.exact and joints and _cut(mine.piece, joints) == _cut(theirs.piece, joints):
            return ""
        return self._fitting.check(mine.piece, theirs.piece, mine.expect, asks=asks)

    def _differences(self, pairs: Pairs[ExpectedPiece]) -> Iterator[Mismatch]:
        for mine, theirs in pairs:
            if mine is None or theirs is None:
                alone = mine or theirs
                if alone is not None and not alone.expect.ignore:
                    yield Mismatch(mine, theirs, "")
            elif reason := self._check(mine, theirs):
                yield Mismatch(mine, theirs, reason)


def _count(text: str) -> int:
    """Return the length of a text without its blanks."""
    return sum(map(len, text.split()))


def _cut(piece: AnswerPiece, joints: Collection[int]) -> list[str]:
    """Return a text in the pieces that it, or the other one, was joined from; blanks count inside of them."""
    cuts: list[int] = []
    seen = 0
    for at, character in enumerate(piece.text, 1):
        seen += not character.isspace()
        if seen in joints and not character.isspace():
            cuts.append(at)
    bounds = [0, *cuts, len(piece.text)]
    return [piece.text[start:end].strip() for start, end in pairwise(bounds)]


def _weigh_gap(piece: ExpectedPiece) -> float:
    return 0.0 if piece.expect.ignore else 1.0


def _is_cut_on_purpose(recorded: Sequence[ExpectedPiece]) -> bool:
    """Return whether words that follow each other expect different things."""
    words = [entry.piece.kind == "words" for entry in recorded]
    return any(
        words[at] and words[at + 1] and (recorded[at].is_own or recorded[at + 1].is_own)
        for at in range(len(words) - 1)
    )


def _join_words(entries: Iterable[ExpectedPiece]) -> list[ExpectedPiece]:
    """Join words that follow each other: where a model ends one text and begins the next does not count."""
    joined: list[ExpectedPiece] = []
    for entry in entries:
        last = joined[-1] if joined else None
        if last is not None and entry.piece.kind == last.piece.kind == "words":
            text = f"{last.piece.text}\n\n{entry.piece.text}"
            piece = msgspec.structs.replace(last.piece, text=text)
            joints = (*last.joints, _count(last.piece.text))
            joined[-1] = ExpectedPiece(piece, last.place, last.expect, last.is_own, joints)
        else:
            joined.append(entry)
    return joined

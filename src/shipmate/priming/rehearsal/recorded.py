"""Read what a script recorded: what was said, what answered it, and what is expected of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shipmate.errors import PrimingError
from shipmate.priming.convert import split_turns, to_messages
from shipmate.priming.part import CALLS, RESULTS, read_parts
from shipmate.priming.rehearsal.answer_piece import AnswerPiece, read_part
from shipmate.priming.rehearsal.expect import Expect, Expectations, read_expect, read_expectations
from shipmate.priming.script.record import Record, Script, ScriptError
from shipmate.values.message import UIMessage

# What members themselves say and do; the rest was told to them, or is only shown.
_ANSWERS = frozenset({"agent_words_record", "agent_thought_record", *CALLS, *RESULTS})


@dataclass(frozen=True, slots=True)
class RecordedPiece:
    """One piece of a recorded answer, the record that says it, and what that record expects."""

    piece: AnswerPiece
    record: Record
    # None when the record expects nothing of its own.
    expect: Expect | None = None


@dataclass(slots=True)
class RecordedTurn:
    """What was said to a member in one go, and what answered it."""

    said: UIMessage
    answers: list[UIMessage] = field(default_factory=list[UIMessage])
    pieces: list[RecordedPiece] = field(default_factory=list[RecordedPiece])
    asked: list[Record] = field(default_factory=list[Record])
    records: list[Record] = field(default_factory=list[Record])
    max_ms: float | None = None
    max_cost_usd: float | None = None


def split_answers(messages: Sequence[UIMessage]) -> Iterator[tuple[UIMessage, list[UIMessage]]]:
    """Yield each user turn with what answered it; words said one after the other were answered together."""
    for turn in _gather(messages, [[] for _ in messages]):
        yield turn.said, turn.answers


def read_turns(script: Script) -> list[RecordedTurn]:
    """Return the user turns of a script with their answers; raise `PrimingError` when there is none."""
    turns = list(_gather(to_messages(script.records), split_turns(script.records)))
    if not turns:
        raise PrimingError("this script has no user turn to rehearse. Add a `### record human_text_record`.")
    numbers = {id(record): number for number, record in enumerate(script.records, 1)}
    for turn in turns:
        _read_expects(turn, numbers)
    return turns


def check_expects(script: Script) -> list[ScriptError]:
    """List every `expect` of a script that is not understood, in the order of its lines."""
    problems: list[ScriptError] = []
    try:
        read_defaults(script)
    except ScriptError as error:
        problems.append(error)
    turns = list(_gather(to_messages(script.records), split_turns(script.records)))
    answers = {id(each.record) for turn in turns for each in turn.pieces}
    for number, record in enumerate(script.records, 1):
        if "expect" in record.extra:
            try:
                _read_expect(record, (record.line, number), is_answer=id(record) in answers)
            except ScriptError as error:
                problems.append(error)
    return problems


def read_defaults(script: Script) -> Expectations:
    """Return what the frontmatter of a script expects."""
    try:
        return read_expectations(script.frontmatter.get("expect"))
    except PrimingError as error:
        raise ScriptError(str(error), line=1) from error


def _gather(messages: Sequence[UIMessage], made: Sequence[Sequence[Record]]) -> Iterator[RecordedTurn]:
    """Yield the turns that messages make; `made` holds the records of each message."""
    turn: RecordedTurn | None = None
    for message, records in zip(messages, made, strict=True):
        if message["role"] == "user" and turn is not None and not turn.answers:
            turn.said = {**turn.said, "parts": [*turn.said["parts"], *message["parts"]]}
            turn.asked += records
        elif message["role"] == "user":
            if turn is not None:
                yield turn
            turn = RecordedTurn(message, asked=list(records))
        elif turn is not None and message["role"] == "assistant":
            turn.answers.append(message)
            turn.records += records
            turn.pieces += _read_pieces(records, message["role"])
        elif turn is not None:
            turn.records += records
    if turn is not None:
        yield turn


def _read_pieces(records: Sequence[Record], role: str) -> Iterator[RecordedPiece]:
    parts, places = read_parts(records, role)
    for at, part in enumerate(parts):
        made = [record for record, place in zip(records, places, strict=True) if place == at]
        if not any(record.type in _ANSWERS or "uiRaw" in record.extra for record in made):
            continue
        for piece in read_part(part):
            # What came of a call stands in a record of its own, unless a person said no.
            is_outcome = piece.kind in ("result", "error", "denial")
            yield RecordedPiece(piece, made[-1] if is_outcome else made[0])


def _read_expects(turn: RecordedTurn, numbers: dict[int, int]) -> None:
    """Read what the records of a turn expect; what an ignored call brings is ignored too."""
    found: dict[int, Expect] = {}
    for record in (*turn.asked, *turn.records):
        if "expect" in record.extra:
            is_answer = any(each.record is record for each in turn.pieces)
            expect = _read_expect(record, (record.line, numbers[id(record)]), is_answer=is_answer)
            found[id(record)] = expect
            turn.max_ms = _least(turn.max_ms, expect.max_ms)
            turn.max_cost_usd = _least(turn.max_cost_usd, expect.max_cost_usd)
    ignored = {
        each.piece.call_id
        for each in turn.pieces
        if each.piece.kind == "call" and (own := found.get(id(each.record))) is not None and own.ignore
    }
    turn.pieces = [_with_expect(each, found, ignored) for each in turn.pieces]


def _with_expect(each: RecordedPiece, found: dict[int, Expect], ignored: set[str]) -> RecordedPiece:
    own = found.get(id(each.record))
    # A denial has no record of its own, so that what its call expects says nothing about it.
    if own is not None and own.is_about_content and not _is_shared(each):
        return RecordedPiece(each.piece, each.record, own)
    if each.piece.kind != "call" and each.piece.call_id in ignored:
        return RecordedPiece(each.piece, each.record, Expect(ignore=True))
    return each


def _is_shared(each: RecordedPiece) -> bool:
    return each.piece.kind in ("result", "error", "denial") and each.record.type not in RESULTS


def _read_expect(record: Record, place: tuple[int, int], *, is_answer: bool) -> Expect:
    try:
        expect = read_expect(record.extra["expect"])
    except PrimingError as error:
        raise ScriptError(str(error), line=place[0], record=place[1]) from error
    if expect.is_about_content and not is_answer:
        problem = f"a {record.type} is no answer: `expect` may hold maxMs and maxCostUsd here"
        raise ScriptError(problem, line=place[0], record=place[1])
    return expect


def _least(first: float | None, second: float | None) -> float | None:
    given = [bound for bound in (first, second) if bound is not None]
    return min(given, default=None)

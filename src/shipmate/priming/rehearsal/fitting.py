"""Decide whether a new piece of an answer is as its record expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from shipmate.errors import SlowPatternError
from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.expect import Expect
from shipmate.priming.script.metadata import write_json
from shipmate.values.pattern import find_pattern
from shipmate.workspace.json import read_json

# Takes a rubric, the recorded piece and the new one; returns why the rubric does not hold, "" when it does.
Judge: TypeAlias = Callable[[str, AnswerPiece, AnswerPiece], str]
OUTCOMES = ("result", "error", "denial")
NOBODY_JUDGES = "nobody judged the rubric: name a model with --judge"


def no_judge(rubric: str, recorded: AnswerPiece, new: AnswerPiece) -> str:
    """Refuse every rubric: what nobody judged does not hold."""
    return NOBODY_JUDGES


class Fitting:
    """Compares pieces of one rehearsal; a pattern that was too slow once is not tried again."""

    def __init__(self, judge: Judge | None) -> None:
        self._judge = judge or no_judge
        self._slow: dict[str, str] = {}

    def check(self, recorded: AnswerPiece, new: AnswerPiece, expect: Expect, *, asks: bool = True) -> str:
        """Return why a piece does not fit, "" when it does; without `asks` no rubric is judged."""
        if expect.ignore and _may_stand_for(recorded, new):
            return ""
        if recorded.kind != new.kind:
            return f"{_name(recorded)} was recorded, now it is {_name(new)}"
        if recorded.kind == "call" and recorded.name != new.name:
            return f"the call was to `{recorded.name}`, now it is to `{new.name}`"
        if expect.exact:
            return "" if is_same(recorded, new) else "not as recorded"
        if reasons := (*self._check_texts(new, expect), *_check_json(new, expect)):
            return reasons[0]
        # What was recorded is what the rubric was written for.
        is_doubtful = expect.rubric and asks and not is_same(recorded, new)
        return self._judge(expect.rubric, recorded, new) if is_doubtful else ""

    def _check_texts(self, new: AnswerPiece, expect: Expect) -> list[str]:
        text = text_of_piece(new)
        reasons = [f"{part!r} is not in it" for part in expect.contains if part not in text]
        return reasons + [reason for pattern in expect.regex if (reason := self._search(pattern, text))]

    def _search(self, pattern: str, text: str) -> str:
        if pattern in self._slow:
            return self._slow[pattern]
        try:
            is_there = find_pattern(pattern, text, spans_lines=True)
        except SlowPatternError as error:
            self._slow[pattern] = str(error)
            return str(error)
        return "" if is_there else f"the pattern {pattern!r} is not in it"


def _may_stand_for(recorded: AnswerPiece, new: AnswerPiece) -> bool:
    both_outcomes = recorded.kind in OUTCOMES and new.kind in OUTCOMES
    return both_outcomes or (recorded.kind == new.kind and recorded.name == new.name)


def _name(piece: AnswerPiece) -> str:
    return {"error": "an error", "denial": "a refusal", "result": "a result"}.get(piece.kind, piece.kind)


def text_of_piece(piece: AnswerPiece) -> str:
    """Return what a text expectation is held against: the words, or the value as JSON."""
    return piece.text if piece.value is None and piece.kind != "call" else write_json(piece.value)


def is_same(recorded: AnswerPiece, new: AnswerPiece) -> bool:
    """Return whether two pieces of a kind say the same; ids do not count, nor do blanks around a text."""
    if recorded.kind == "denial":
        # Why somebody said no is not the member's doing.
        return True
    if recorded.kind in ("file", "other") and recorded.name != new.name:
        return False
    if recorded.value is None and new.value is None:
        return recorded.text.strip() == new.text.strip()
    return _is_equal(_value(recorded), _value(new))


def _value(piece: AnswerPiece) -> Any:
    """Return a piece's value; a result written by hand is a text of JSON, and no arguments are none."""
    if piece.kind == "call":
        return {} if piece.value is None else piece.value
    if piece.kind != "result" or piece.value is not None:
        return piece.value
    try:
        return read_json(piece.text)
    except ValueError:
        return piece.text


def _is_equal(left: Any, right: Any) -> bool:
    # Python holds 1, 1.0 and true to be equal; JSON knows numbers of one kind, and truth apart from them.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        mine, theirs = cast(dict[str, Any], left), cast(dict[str, Any], right)
        return mine.keys() == theirs.keys() and all(_is_equal(mine[key], theirs[key]) for key in mine)
    if isinstance(left, list) and isinstance(right, list):
        items, others = cast(list[Any], left), cast(list[Any], right)
        return len(items) == len(others) and all(map(_is_equal, items, others))
    return left == right


def _check_json(new: AnswerPiece, expect: Expect) -> list[str]:
    if expect.json == ():
        return []
    value = _value(new)
    if new.value is None and new.kind in ("words", "thought", "error"):
        try:
            value = read_json(new.text)
        except ValueError:
            return ["it is not JSON"]
    place = find_difference(expect.json[0], value)
    return [] if place is None else [f"{place or 'the value'} is not as expected in its JSON"]


def find_difference(wanted: Any, found: Any, place: str = "") -> str | None:
    """Return where `wanted` is not part of `found`, None when it is: objects may hold more keys."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        theirs = cast(dict[str, Any], found)
        for key, value in cast(dict[str, Any], wanted).items():
            inner = f"{place}.{key}" if place else str(key)
            if key not in theirs:
                return inner
            if (different := find_difference(value, theirs[key], inner)) is not None:
                return different
        return None
    if isinstance(wanted, list) and isinstance(found, list):
        items, others = cast(list[Any], wanted), cast(list[Any], found)
        if len(items) != len(others):
            return place
        names = (f"{place}[{at}]" for at in range(len(items)))
        places = map(find_difference, items, others, names)
        return next((each for each in places if each is not None), None)
    return None if _is_equal(wanted, found) else place

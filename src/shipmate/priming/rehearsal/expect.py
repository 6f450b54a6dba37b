"""Read what a script expects of an answer: `expect` on a record, or in the frontmatter."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from typing import Any, cast

import msgspec

from shipmate.errors import PatternError, PrimingError
from shipmate.priming.rehearsal.answer_piece import KINDS, PieceKind
from shipmate.values.pattern import read_pattern

LENGTH_LIMIT = 100_000
_SHAPE = (
    "exact, ignore, or {contains: text or list of texts, regex: pattern or list of patterns, json: value, "
    "rubric: text, maxMs: number, maxCostUsd: number}"
)


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    """What one piece of an answer must be like; everything that is given must hold."""

    exact: bool = False
    ignore: bool = False
    contains: tuple[str, ...] = ()
    regex: tuple[str, ...] = ()
    # A list of one value, so that null can be expected too.
    json: tuple[Any, ...] = ()
    rubric: str = ""
    # Bounds of the whole turn a record belongs to.
    max_ms: float | None = None
    max_cost_usd: float | None = None

    @property
    def is_about_content(self) -> bool:
        """Return whether more than time and cost is expected."""
        return bool(
            self.exact or self.ignore or self.contains or self.regex or self.json != () or self.rubric
        )


EXACT = Expect(exact=True)
IGNORE = Expect(ignore=True)
# A model's thoughts are never the same twice.
DEFAULTS: dict[PieceKind, Expect] = {**dict.fromkeys(KINDS, EXACT), "thought": IGNORE}


class Expectations(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole script expects: defaults for each kind of piece, and bounds of the whole."""

    kinds: dict[PieceKind, Expect] = {}
    max_ms: float | None = None
    max_cost_usd: float | None = None

    def of(self, kind: PieceKind) -> Expect:
        """Return what is expected of a piece whose record says nothing."""
        return self.kinds.get(kind, DEFAULTS[kind])


def read_expect(value: Any) -> Expect:
    """Read the `expect` of a record; raise `PrimingError` for anything that is not understood."""
    if value == "exact" or value == "ignore":
        return EXACT if value == "exact" else IGNORE
    if not isinstance(value, dict) or not value:
        raise PrimingError(f"`expect` must be {_SHAPE}")
    given = cast(dict[str, Any], value)
    _refuse_unknown(given, _READERS)
    expect = Expect(**{_FIELDS.get(key, key): _READERS[key](key, item) for key, item in given.items()})
    if (expect.ignore or expect.exact) and len(set(given) - {"maxMs", "maxCostUsd"}) > 1:
        raise PrimingError("`expect`: `exact` and `ignore` stand alone, with nothing else about the content")
    return expect


def read_expectations(value: Any) -> Expectations:
    """Read the `expect` of a script's frontmatter: `{<kind>: …, maxMs, maxCostUsd}`."""
    if value is None:
        return Expectations()
    if not isinstance(value, dict):
        raise PrimingError(f"`expect` of a script must be {{{', '.join(KINDS)}, maxMs, maxCostUsd}}")
    given = cast(dict[str, Any], value)
    _refuse_unknown(given, (*KINDS, "maxMs", "maxCostUsd"))
    kinds: dict[PieceKind, Expect] = {
        kind: _read_default(given[kind], kind) for kind in KINDS if kind in given
    }
    bounds = {_FIELDS[key]: _read_bound(key, given[key]) for key in ("maxMs", "maxCostUsd") if key in given}
    return Expectations(kinds=kinds, **bounds)


def _read_default(value: Any, kind: PieceKind) -> Expect:
    expect = read_expect(value)
    if not expect.is_about_content or (expect.max_ms, expect.max_cost_usd) != (None, None):
        raise PrimingError(f"`expect` of `{kind}` holds no bounds; write them beside it")
    return expect


def _refuse_unknown(given: dict[str, Any], known: Any) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), list(known), 1)
            hint = f"Write `{near[0]}`" if near else f"There are {', '.join(known)}"
            raise PrimingError(f"`expect` knows no `{key}`. {hint}")


def _read_flag(key: str, value: Any) -> bool:
    if value is not True:
        raise PrimingError(f"`expect`: `{key}` must be true, or be left out")
    return True


def _read_texts(key: str, value: Any) -> tuple[str, ...]:
    texts = cast(list[Any], value if isinstance(value, list) else [value])
    if not texts or not all(isinstance(text, str) and len(text) <= LENGTH_LIMIT for text in texts):
        raise PrimingError(f"`expect`: `{key}` must be a text or a list of texts (quote numbers)")
    if "" in texts:
        raise PrimingError(f"`expect`: an empty `{key}` holds for every answer. Write what must be there")
    return tuple(texts)


def _read_patterns(key: str, value: Any) -> tuple[str, ...]:
    patterns = _read_texts(key, value)
    for pattern in patterns:
        try:
            read_pattern(pattern, spans_lines=True)
        except PatternError as error:
            raise PrimingError(str(error)) from error
    return patterns


def _read_json(key: str, value: Any) -> tuple[Any, ...]:
    return (value,)


def _read_rubric(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LENGTH_LIMIT:
        raise PrimingError("`expect`: `rubric` must be a text that says what a good answer does")
    return value.strip()


def _read_bound(key: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise PrimingError(f"`expect`: `{key}` must be a number, 0 or more")
    return float(value)


_FIELDS = {"maxMs": "max_ms", "maxCostUsd": "max_cost_usd"}
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "exact": _read_flag,
    "ignore": _read_flag,
    "contains": _read_texts,
    "regex": _read_patterns,
    "json": _read_json,
    "rubric": _read_rubric,
    "maxMs": _read_bound,
    "maxCostUsd": _read_bound,
}

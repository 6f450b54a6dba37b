"""Read JSON strictly: no NaN, no number past what a double holds."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from shipmate.values.message import JsonObject


def read_json(text: str) -> Any:
    """Read a JSON value; of keys given twice the last one counts, as in JavaScript."""
    return _read(_USUAL, text)


def read_unique_json(text: str) -> Any:
    """Read a JSON value in which no object gives a key twice."""
    return _read(_UNIQUE, text)


def _read(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


_USUAL = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_UNIQUE = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)

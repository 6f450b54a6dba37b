"""Read the scalars of YAML 1.2: plain ones by the core schema, and what else fits on one line."""

from __future__ import annotations

import math
from typing import Any

from shipmate.errors import UserError
from shipmate.values.pattern import lazy_pattern
from shipmate.workspace.json import read_unique_json

# Nothing is nested deeper than this, whoever reads it.
DEPTH = 64
# Characters YAML does not allow bare, or that some readers take for the end of a line.
ODD = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")

_BREAK = lazy_pattern(r"\r\n?")
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Text that no indicator can make anything else: begun by none, without a `: ` or ` #` that would end it.
_PLAIN = lazy_pattern(
    r"-?(?:[A-Za-z0-9_(/$]|[^\x00-\x7f])[^\x00-\x1f:#]*(?:(?::(?! |\Z)|(?<! )#)[^\x00-\x1f:#]*)*"
)
_SINGLE = lazy_pattern(r"'((?:[^'\x00-\x1f]|'')*)'")
_LIST = lazy_pattern(r"\[([^\"\[\]{}:&*!|>%@`#?\\\x00-\x1f]*)\]")
_NUMBER_START = frozenset("+-.0123456789")
_DECIMAL = lazy_pattern(r"[-+]?[0-9]+")
_OCTAL = lazy_pattern(r"0o[0-7]+")
_HEX = lazy_pattern(r"0x[0-9a-fA-F]+")
_FLOAT = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS = lazy_pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


# No number people mean has more; Python refuses to write out one of 4,300.
DIGIT_LIMIT = 1_000


class YamlError(UserError):
    """This text is not YAML; `line` counts from 0."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


class NotSimpleError(Exception):
    """The fast path does not cover this text."""


def unify_breaks(text: str) -> str:
    """Return a text whose lines all end in a line feed: YAML knows three line ends, each of them one."""
    if "\r" in text:
        text = _BREAK.sub("\n", text)
    return text if text.endswith("\n") or not text else f"{text}\n"


def read_simple(text: str) -> Any:
    """Read a value that stands on one line of a block, if it is of a simple kind."""
    if _PLAIN.fullmatch(text):
        return resolve_plain(text)
    if text[0] in '"{[':
        items = _LIST.fullmatch(text)
        return _read_json(text) if items is None else _read_items(items[1])
    if quoted := _SINGLE.fullmatch(text):
        return quoted[1].replace("''", "'")
    plain, comment, _ = text.partition(" #")
    if comment and _PLAIN.fullmatch(plain := plain.rstrip(" ")):
        return resolve_plain(plain)
    raise NotSimpleError


def _read_json(text: str) -> Any:
    try:
        return read_unique_json(text)
    except ValueError as error:
        raise NotSimpleError from error


def _read_items(text: str) -> list[Any]:
    """Read what stands in `[git, 'gh']`; a comma inside quotes tears them apart, which is refused."""
    items = [item.strip(" ") for item in text.split(",")] if text.strip(" ") else []
    if not all(items):
        raise NotSimpleError
    return [read_simple(item) for item in items]


def resolve_plain(text: str) -> Any:
    """Return the value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    return _read_number(text) if text[0] in _NUMBER_START else text


def _read_number(text: str) -> Any:
    if _DECIMAL.fullmatch(text):
        return _read_integer(text, 10)
    if _OCTAL.fullmatch(text):
        return _read_integer(text[2:], 8)
    if _HEX.fullmatch(text):
        return _read_integer(text[2:], 16)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    if _ENDLESS.fullmatch(text) or _FLOAT.fullmatch(text):
        raise YamlError(0, f"{text} is no number JSON can hold; quote it to keep it as text")
    return text


def _read_integer(digits: str, base: int) -> int:
    if len(digits) > DIGIT_LIMIT:
        raise YamlError(0, "a number has too many digits; quote it to keep it as text")
    return int(digits, base)

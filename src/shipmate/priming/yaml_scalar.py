"""Resolve the plain scalars of YAML 1.2 by the core schema."""

from __future__ import annotations

import math
import re
from typing import Any

# Characters YAML does not allow bare, or that some readers take for the end of a line.
ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")

_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("+-.0123456789")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class YamlError(Exception):
    """Say on which line (from 0) metadata cannot be read, and why."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def resolve_plain(text: str) -> Any:
    """Give the value of an unquoted scalar."""
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
    try:
        return int(digits, base)
    except ValueError as error:
        raise YamlError(0, "a number has too many digits; quote it to keep it as text") from error

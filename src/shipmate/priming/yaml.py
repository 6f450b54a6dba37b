"""Read and write the metadata of scripts: YAML 1.2 by its core schema, where `no` and `2026-03-01` are texts.

Simple block mappings take a fast path. Everything else goes to ruamel.yaml's parser, a hundred times slower,
whose events are resolved by us: its own resolver follows YAML 1.1 where scripts do not.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from shipmate.priming.yaml_scalar import ODD, YamlError, resolve_plain
from shipmate.priming.yaml_slow import DEPTH, build_slowly
from shipmate.values.message import JsonObject

# ruamel reads about 150 KB a second: past this one block would hold everything up.
SLOW_LIMIT = 64 * 1024

_ENTRY = re.compile(r"( *)([A-Za-z_][A-Za-z0-9_-]*):(?: +(\S.*))?")
_FLAT = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*): (\S.*)")
_ITEM = re.compile(r"( *)- (\S.*)")
# Text that no indicator can make anything else: a letter first, then nothing that ends or splits a scalar.
_WORDS = re.compile(r"[A-Za-z0-9_一-鿿][^\x00-\x1f:#]*(?<! )")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_TEXT = re.compile(r"[A-Za-z一-鿿][A-Za-z0-9_./一-鿿-]*")
# YAML 1.1 readers take these for truth or nothing; quoting them costs nothing.
_DOUBTFUL = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


class _NotSimpleError(Exception):
    """Say that the fast path does not cover a text."""


def read_mapping(text: str) -> tuple[JsonObject, bool]:
    """Read one YAML mapping (anything else counts as empty); tell also whether the slow way was needed."""
    if ODD.search(text) is None:
        try:
            return _read_flat(text) or _Simple(text).read(), False
        except _NotSimpleError:
            pass
    if len(text) > SLOW_LIMIT:
        raise YamlError(
            0, f"over {SLOW_LIMIT // 1024} KB of metadata; write nested values as JSON on one line"
        )
    value = build_slowly(text)
    return (value if isinstance(value, dict) else {}), True


def write_mapping(values: JsonObject) -> str:
    """Write one `key: value` line each; nested values as JSON on one line, which is YAML too."""
    return "".join(f"{write_key(key)}: {write_value(value)}\n" for key, value in values.items())


def write_json(value: Any) -> str:
    """Write JSON on one line that every YAML 1.2 reader takes for the same value."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)


def read_json(text: str) -> Any:
    """Read JSON strictly: no NaN, no number past what a double holds."""
    try:
        return json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def write_key(key: str) -> str:
    """Write a key, quoted where it must be."""
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _DOUBTFUL else write_json(key)


def write_value(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, str) and _PLAIN_TEXT.fullmatch(value) and value.lower() not in _DOUBTFUL:
        return value
    return write_json(value)


def _read_flat(text: str) -> JsonObject | None:
    """Read `key: value` lines alone, as nearly every record has them; None when there is anything else."""
    found: JsonObject = {}
    for line in text.split("\n"):
        match = _FLAT.fullmatch(line)
        if match is None or match[1] in found or match[1].lower() in _DOUBTFUL:
            return None
        value = match[2]
        found[match[1]] = (
            int(value) if value.isdigit() and value.isascii() and len(value) < 16 else _read_scalar(value)
        )
    return found


class _Simple:
    """Read nested block mappings and lists of one-line values, as exported metadata nearly always is."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.at = 0

    def read(self) -> JsonObject:
        found = self.read_mapping(0)
        return found if self.at == len(self.lines) else self.refuse()

    def read_mapping(self, indent: int) -> JsonObject:
        found: JsonObject = {}
        while self.at < len(self.lines) and self.indent() == indent:
            match = _ENTRY.fullmatch(self.lines[self.at])
            if match is None or match[2] in found or match[2].lower() in _DOUBTFUL or indent > DEPTH:
                self.refuse()
            self.at += 1
            found[match[2]] = self.read_value(match[3], indent)
        return found

    def read_value(self, text: str | None, indent: int) -> Any:
        below = self.indent() if self.at < len(self.lines) else -1
        if text is not None:
            # A deeper line would go on with this scalar.
            return self.refuse() if below > indent else _read_scalar(text)
        if below >= indent and _ITEM.fullmatch(self.lines[self.at]):
            return self.read_list(below)
        return self.read_mapping(below) if below > indent else None

    def read_list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        while self.at < len(self.lines) and self.indent() == indent:
            match = _ITEM.fullmatch(self.lines[self.at])
            if match is None:
                break
            if _ENTRY.fullmatch(match[2]):
                # `- key: value` opens a mapping that goes on two columns further in.
                self.lines[self.at] = f"{' ' * (indent + 2)}{match[2]}"
                found.append(self.read_mapping(indent + 2))
                continue
            self.at += 1
            found.append(self.read_value(match[2], indent))
        return found

    def indent(self) -> int:
        line = self.lines[self.at]
        return len(line) - len(line.lstrip(" "))

    def refuse(self) -> NoReturn:
        raise _NotSimpleError


def _read_scalar(text: str) -> Any:
    if _WORDS.fullmatch(text):
        return resolve_plain(text)
    if text[0] in '"{[' and "\\ud" not in text and "\\uD" not in text:
        try:
            return _read_unique_json(text)
        except (ValueError, RecursionError) as error:
            raise _NotSimpleError from error
    raise _NotSimpleError


def _read_unique_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_number, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotSimpleError
    return found


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)

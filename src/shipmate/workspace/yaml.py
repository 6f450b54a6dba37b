"""Read YAML 1.2. Plain front matter takes a fast path; the rest goes to ruamel.yaml, forty times slower."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from shipmate.errors import UserError

# ruamel reads about 200 KB a second: past this a file would hold up a turn.
SLOW_LIMIT = 64 * 1024

_ENTRY = re.compile(r"( *)([A-Za-z_][\w.-]*):(?: +(.*))?", re.ASCII)
_ITEM = re.compile(r"( *)- +(.*)")
_PLAIN = re.compile(r"[^\W\d_].*")
_SPECIAL = re.compile(r": |:$| #")
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_DOUBLE = re.compile(r'"([^"\\]*)"')
_SINGLE = re.compile(r"'([^']*)'")
_LIST = re.compile(r"\[([^\[\]{}:&*!|>\"'%@`#?]*)\]")
_BLOCKS = frozenset({">", ">-", "|", "|-"})
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
# Words that some YAML reads as truth or nothing; ruamel decides what they are.
_DOUBTFUL = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


class YamlError(UserError):
    """This is not YAML. Mend the line it names."""


class _NotPlainError(Exception):
    """Say that the fast path does not cover a text."""


def load_yaml(text: str) -> Any:
    """Read a YAML 1.2 document; dates stay text, and so do `no` and `12:30`."""
    try:
        return _Plain(text).read()
    except _NotPlainError:
        return _load_slowly(text)


def _load_slowly(text: str) -> Any:
    if len(text) > SLOW_LIMIT:
        raise YamlError(f"more than {SLOW_LIMIT // 1024} KB of YAML; shorten it")
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    class Constructor(SafeConstructor):
        """Leave dates as the text they are in YAML 1.2."""

    Constructor.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = Constructor
    reader.composer.warn_double_anchors = False
    try:
        return reader.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise YamlError(f"{where}{error.problem or error.context or 'not YAML'}") from error
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        raise YamlError(str(error).partition("\n")[0] or "not YAML") from error


class _Plain:
    """Read nested block mappings of simple values, as front matter nearly always is."""

    def __init__(self, text: str) -> None:
        if "\t" in text:
            raise _NotPlainError
        lines = text.replace("\r\n", "\n").split("\n")
        self.has_tails = any(line.endswith(" ") for line in lines)
        self.lines = [
            line.rstrip(" ") for line in lines if line.strip(" ") and not line.lstrip(" ").startswith("#")
        ]
        # Blank lines, comments, or a missing last line break would change what a block scalar says.
        self.has_gaps = len(self.lines) != len(lines) - 1 or lines[-1] != ""
        self.at = 0

    def read(self) -> Any:
        if not self.lines:
            return None
        found = self.read_mapping(0)
        return found if self.at == len(self.lines) else self.refuse()

    def read_mapping(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.at < len(self.lines) and self.indent() == indent:
            match = _ENTRY.fullmatch(self.lines[self.at])
            if match is None or match[2] in found or match[2].lower() in _DOUBTFUL:
                self.refuse()
            self.at += 1
            found[match[2]] = self.read_value(match[3] or "", indent)
        if self.at < len(self.lines) and self.indent() > indent:
            self.refuse()
        return found

    def read_value(self, text: str, indent: int) -> Any:
        if text in _BLOCKS:
            return self.read_block(text, indent)
        if text:
            return _scalar(text)
        if self.at == len(self.lines):
            return None
        below = self.indent()
        if self.lines[self.at].lstrip(" ").startswith("- ") and below >= indent:
            return self.read_list(below)
        return self.read_mapping(below) if below > indent else None

    def read_list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        while self.at < len(self.lines) and self.indent() == indent:
            match = _ITEM.fullmatch(self.lines[self.at])
            if match is None:
                break
            found.append(_scalar(match[2]))
            self.at += 1
        return found

    def read_block(self, header: str, indent: int) -> str:
        start = self.at
        while self.at < len(self.lines) and self.indent() > indent:
            self.at += 1
        block = self.lines[start : self.at]
        depths = {len(line) - len(line.lstrip(" ")) for line in block}
        if self.has_gaps or self.has_tails or len(depths) != 1 or any(_ODD.search(line) for line in block):
            self.refuse()
        depth = depths.pop()
        joined = (" " if header[0] == ">" else "\n").join(line[depth:] for line in block)
        return joined if header.endswith("-") else joined + "\n"

    def indent(self) -> int:
        line = self.lines[self.at]
        return len(line) - len(line.lstrip(" "))

    def refuse(self) -> NoReturn:
        raise _NotPlainError


def _scalar(text: str) -> Any:
    if _ODD.search(text):
        raise _NotPlainError
    if _PLAIN.fullmatch(text) and not _SPECIAL.search(text):
        return _WORDS[text] if text in _WORDS else _word(text)
    if _NUMBER.fullmatch(text):
        return int(text)
    if quoted := _DOUBLE.fullmatch(text) or _SINGLE.fullmatch(text):
        return quoted[1]
    if items := _LIST.fullmatch(text):
        return [_scalar(item.strip(" ")) for item in items[1].split(",")] if items[1].strip(" ") else []
    if text.startswith(("{", "[")) and "\\" not in text:
        return _json(text)
    raise _NotPlainError


def _word(text: str) -> str:
    if text.lower() in _DOUBTFUL:
        raise _NotPlainError
    return text


def _json(text: str) -> Any:
    """Read a flow value that is JSON; numbers with a point or exponent are left to ruamel."""
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_float=_refuse_number, parse_constant=_refuse_number
        )
    except ValueError as error:
        raise _NotPlainError from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotPlainError
    return found


def _refuse_number(text: str) -> NoReturn:
    raise _NotPlainError

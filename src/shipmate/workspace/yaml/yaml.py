"""Read YAML 1.2 by its core schema, where `no`, `12:30` and `2026-03-01` are texts.

Block mappings of one-line values and text blocks take a fast path. Everything else goes to ruamel.yaml's
parser, a hundred times slower, whose events are resolved by us: its own resolver follows YAML 1.1 in places.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from shipmate.values.message import JsonObject
from shipmate.workspace.yaml.scalar import DEPTH, ODD, NotSimpleError, YamlError, read_simple, unify_breaks

# ruamel reads about 150 KB a second: past this one text would hold everything up.
SLOW_LIMIT = 64 * 1024

_FLAT = re.compile(r"(\w[\w.-]*): ([^\s|>].*)(?<! )")
_ENTRY = re.compile(r"( *)(\w[\w.-]*):(?: +(\S.*))?")
_ITEM = re.compile(r"( *- +)(\S.*)")
_BLOCKS = frozenset({">", ">-", "|", "|-"})
_BREAKS = re.compile(r"\n+")


def read_yaml(text: str) -> tuple[Any, bool]:
    """Read one document, None when it says nothing; tell also whether the slow way was needed."""
    text = unify_breaks(text)
    if ODD.search(text) is None:
        try:
            return _read_flat(text) or _Simple(text).read(), False
        except (NotSimpleError, YamlError):
            # The whole parser either reads it or knows the line of the mistake.
            pass
    if len(text) > SLOW_LIMIT:
        raise YamlError(
            0, f"over {SLOW_LIMIT // 1024} KB of metadata; write nested values as JSON on one line"
        )
    # The library takes longer to load than most workspaces take to open.
    from shipmate.workspace.yaml.slow import build_slowly

    return build_slowly(text), True


def _read_flat(text: str) -> JsonObject | None:
    """Read `key: value` lines alone, as nearly every record has them; None when there is anything else."""
    found: JsonObject = {}
    for line in text.removesuffix("\n").split("\n"):
        match = _FLAT.fullmatch(line)
        if match is None or match[1] in found:
            return None
        found[match[1]] = read_simple(match[2])
    return found


class _Simple:
    """Reads nested block mappings and lists of one-line values and text blocks."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0

    def read(self) -> JsonObject | None:
        if self.indent() < 0:
            return None
        found = self.read_mapping(0)
        return found if self.indent() < 0 else self.refuse()

    def read_mapping(self, indent: int) -> JsonObject:
        found: JsonObject = {}
        while self.indent() == indent:
            match = _ENTRY.fullmatch(self.lines[self.at].rstrip(" "))
            # How deep is too deep is left to the whole parser.
            if match is None or match[2] in found or indent > DEPTH // 2:
                self.refuse()
            self.at += 1
            found[match[2]] = self.read_value(match[3], indent)
        return found

    def read_value(self, text: str | None, indent: int) -> Any:
        if text in _BLOCKS:
            return self.read_block(text, indent)
        if text is not None:
            # A deeper line would go on with this scalar; no mapping takes it, so `read` refuses it.
            return read_simple(text)
        below = self.indent()
        if below >= indent and _ITEM.match(self.lines[self.at]):
            return self.read_list(below)
        return self.read_mapping(below) if below > indent else None

    def read_list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        while self.indent() == indent:
            match = _ITEM.fullmatch(self.lines[self.at].rstrip(" "))
            if match is None:
                break
            if _ENTRY.fullmatch(match[2]):
                # `- key: value` opens a mapping that goes on in the column of its key.
                column = len(match[1])
                self.lines[self.at] = " " * column + match[2]
                found.append(self.read_mapping(column))
                continue
            self.at += 1
            found.append(self.read_value(match[2], indent))
        return found

    def read_block(self, header: str, indent: int) -> str:
        """Read a block of text; lines whose breaks or spaces are not plain to see are refused."""
        start = self.at
        while self.at < len(self.lines) and _belongs(self.lines[self.at], indent):
            self.at += 1
        if self.at == start:
            self.refuse()
        is_folded = header[0] == ">"
        depth = len(self.lines[start]) - len(self.lines[start].lstrip(" "))
        said: list[str] = []
        for line in self.lines[start : self.at]:
            rest = line[depth:]
            if line[:depth].strip(" ") or (is_folded and rest.startswith((" ", "\t"))):
                self.refuse()
            said.append(rest)
        if not said[0]:
            self.refuse()
        text = "\n".join(said).rstrip("\n")
        if is_folded:
            text = _BREAKS.sub(lambda breaks: breaks[0][1:] or " ", text)
        return text if header.endswith("-") else f"{text}\n"

    def indent(self) -> int:
        """Return the indentation of the next line that says something; -1 when there is none."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            said = line.lstrip(" ")
            if said and said[0] != "#":
                return len(line) - len(said)
            self.at += 1
        return -1

    def refuse(self) -> NoReturn:
        raise NotSimpleError


def _belongs(line: str, indent: int) -> bool:
    """Return whether a line is part of the block below an entry: it is blank or further in."""
    said = line.lstrip(" ")
    return not said or len(line) - len(said) > indent

"""Build values from ruamel.yaml's events, with bounds on depth and on what aliases may multiply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from shipmate.values.pattern import lazy_pattern
from shipmate.workspace.yaml.scalar import DEPTH, YamlError, resolve_plain, unify_breaks

NODES = 100_000
# Characters of all texts, those that aliases repeat included.
TEXT = 2_000_000
_TAG = "tag:yaml.org,2002:"
# What a tag makes of a scalar; `!` alone makes it a text.
_TYPES: dict[str, type] = {
    "str": str,
    "!": str,
    "int": int,
    "float": float,
    "bool": bool,
    "null": type(None),
}


# Line breaks to YAML 1.1 and to ruamel.yaml, but no longer to 1.2; and what only quotes may hold.
_UNBROKEN = "\x85\u2028\u2029"
_QUOTED_ONLY = lazy_pattern(r"[\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_FOREIGN = lazy_pattern(rf"[{_UNBROKEN}]|{_QUOTED_ONLY.pattern}")
# A character written as two escapes, as JSON does.
_HALVES = lazy_pattern(r"[\ud800-\udbff][\udc00-\udfff]")


def build_slowly(text: str) -> Any:
    """Read one YAML document; None when it is empty."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    from shipmate.workspace.yaml.scanner import ModernScanner

    text = unify_breaks(text.removeprefix("\ufeff"))
    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner = ModernScanner
    disguise = _Disguise(text)
    try:
        return _Builder(iter(yaml.parse(disguise.hide(text))), disguise).build()
    except YamlError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = disguise.show(f"not YAML: {error.problem or error.context}")
        raise YamlError(mark.line if mark else 0, problem) from error
    except ReaderError as error:
        raise YamlError(text.count("\n", 0, error.position), f"not YAML: {error.reason}") from error
    except (YAMLError, ValueError, AssertionError, LookupError, AttributeError, TypeError) as error:
        # ruamel.yaml trips over some of what it should refuse.
        problem = disguise.show(str(error).partition("\n")[0]) or type(error).__name__
        raise YamlError(0, f"not YAML: {problem}") from error


class _Disguise:
    """Characters ruamel.yaml takes for something else, exchanged with private ones a text does not use."""

    def __init__(self, text: str) -> None:
        found = sorted(set(_FOREIGN.findall(text)))
        used = set(text) if found else set[str]()
        free = (mask for code in range(0xE000, 0xF900) if (mask := chr(code)) not in used)
        self._hiding = dict(zip(map(ord, found), free, strict=False))
        self._showing = {ord(mask): chr(code) for code, mask in self._hiding.items()}

    def hide(self, text: str) -> str:
        return text.translate(self._hiding) if self._hiding else text

    def show(self, text: str) -> str:
        return text.translate(self._showing) if self._showing else text


class _Builder:
    """Turns a stream of events into one value."""

    def __init__(self, events: Iterator[Any], disguise: _Disguise) -> None:
        self.events = events
        self.disguise = disguise
        # What an anchor stands for, and the nodes and characters in it.
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        self.nodes = 0
        self.text = 0

    def build(self) -> Any:
        value: Any = None
        documents = 0
        for event in self.events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise YamlError(event.start_mark.line, "a second document begins here; write one mapping")
                value = self.read(next(self.events), 0)
        return value

    def read(self, event: Any, depth: int) -> Any:
        """Build the value an event opens."""
        line: int = event.start_mark.line
        kind = type(event).__name__
        if depth > DEPTH:
            raise YamlError(line, f"nested more than {DEPTH} deep")
        if kind == "AliasEvent":
            return self.repeat(event)
        nodes, text = self.nodes, self.text
        self.count(1, len(event.value) if kind == "ScalarEvent" else 0, line)
        anchor = cast("str | None", event.anchor)
        value = (
            self.read_scalar(event)
            if kind == "ScalarEvent"
            else self.read_list(event, depth)
            if kind == "SequenceStartEvent"
            else self.read_mapping(event, depth)
        )
        if anchor is not None:
            self.anchors[anchor] = (value, self.nodes - nodes, self.text - text)
        return value

    def repeat(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise YamlError(event.start_mark.line, f"nothing is called &{event.anchor}")
        value, nodes, text = self.anchors[event.anchor]
        self.count(nodes, text, event.start_mark.line)
        return value

    def count(self, nodes: int, text: int, line: int) -> None:
        self.nodes += nodes
        self.text += text
        if self.nodes > NODES:
            raise YamlError(line, f"more than {NODES} values")
        if self.text > TEXT:
            raise YamlError(line, f"more than {TEXT} characters; write out less with aliases")

    def read_list(self, event: Any, depth: int) -> list[Any]:
        _check_tag(event, "seq")
        found: list[Any] = []
        while type(inner := next(self.events)).__name__ != "SequenceEndEvent":
            found.append(self.read(inner, depth + 1))
        return found

    def read_mapping(self, event: Any, depth: int) -> dict[str, Any]:
        _check_tag(event, "map")
        found: dict[str, Any] = {}
        while type(inner := next(self.events)).__name__ != "MappingEndEvent":
            line: int = inner.start_mark.line
            key = self.read_key(inner)
            if key in found:
                raise YamlError(line, f"`{key}` is given twice; keep one")
            found[key] = self.read(next(self.events), depth + 1)
        return found

    def read_key(self, event: Any) -> str:
        """Return a key as it is written: those of JSON objects are texts."""
        kind = type(event).__name__
        if kind == "AliasEvent":
            key = self.repeat(event)
        elif kind == "ScalarEvent":
            key = self.read_text(event)
            self.count(1, len(key), event.start_mark.line)
            if event.anchor is not None:
                self.anchors[event.anchor] = (key, 1, len(key))
        else:
            key = None
        if not isinstance(key, str):
            raise YamlError(event.start_mark.line, "a key must be a text")
        return key

    def read_text(self, event: Any) -> str:
        """Return the text of a scalar."""
        text = self.disguise.show(event.value)
        if event.style not in ("'", '"') and (odd := _QUOTED_ONLY.search(text)):
            problem = f"U+{ord(odd[0]):04X} may stand in quotes only"
            raise YamlError(event.start_mark.line, problem)
        return _HALVES.sub(_join_halves, text) if event.style == '"' else text

    def read_scalar(self, event: Any) -> Any:
        text = self.read_text(event)
        tag = _tag(event)
        try:
            if tag is None:
                return resolve_plain(text) if event.implicit[0] else text
            value = text if tag in ("str", "!") else resolve_plain(text)
        except YamlError as error:
            raise YamlError(event.start_mark.line, str(error)) from error
        if type(value) is not _TYPES.get(tag):
            raise YamlError(event.start_mark.line, f"the tag of {text!r} is not understood; leave it out")
        return value


def _join_halves(halves: re.Match[str]) -> str:
    return halves[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _check_tag(event: Any, expected: str) -> None:
    if _tag(event) not in (None, expected):
        raise YamlError(event.start_mark.line, "the tag is not understood; leave it out")


def _tag(event: Any) -> str | None:
    tag = cast("str | None", event.tag)
    return None if tag is None else str(tag).removeprefix(_TAG)

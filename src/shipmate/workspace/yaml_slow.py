"""Build values from ruamel.yaml's events, with bounds on depth and on what aliases may multiply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from shipmate.workspace.yaml_scalar import YamlError, resolve_plain

DEPTH = 64
NODES = 100_000
# Characters of all texts, those that aliases repeat included.
TEXT = 2_000_000
_TAG = "tag:yaml.org,2002:"


def build_slowly(text: str) -> Any:
    """Read one YAML document; None when it is empty."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        return _Builder(iter(YAML(typ="safe", pure=True).parse(text))).build()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line if mark else 0, f"not YAML: {error.problem or error.context}") from error
    except ReaderError as error:
        raise YamlError(text.count("\n", 0, error.position), f"not YAML: {error.reason}") from error
    except (YAMLError, ValueError) as error:
        raise YamlError(0, f"not YAML: {str(error).partition(chr(10))[0]}") from error


class _Builder:
    """Turn a stream of events into one value."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
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
            _read_scalar(event)
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
            if type(inner).__name__ != "ScalarEvent":
                raise YamlError(line, "a key must be a text")
            key = inner.value
            self.count(1, len(key), line)
            if key in found:
                raise YamlError(line, f"`{key}` is given twice; keep one")
            found[key] = self.read(next(self.events), depth + 1)
        return found


def _read_scalar(event: Any) -> Any:
    text = cast("str", event.value)
    tag = _tag(event)
    try:
        if tag is None:
            return resolve_plain(text) if event.implicit[0] else text
        value = text if tag == "str" else resolve_plain(text)
    except YamlError as error:
        raise YamlError(event.start_mark.line, str(error)) from error
    expected = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}.get(tag)
    if expected is None or type(value) is not expected:
        raise YamlError(event.start_mark.line, f"the tag of {text!r} is not understood; leave it out")
    return value


def _check_tag(event: Any, expected: str) -> None:
    if _tag(event) not in (None, expected):
        raise YamlError(event.start_mark.line, "the tag is not understood; leave it out")


def _tag(event: Any) -> str | None:
    tag = cast("str | None", event.tag)
    return None if tag is None else str(tag).removeprefix(_TAG)

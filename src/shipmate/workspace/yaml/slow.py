"""Build values from ruamel.yaml's events, with bounds on depth and on what aliases may multiply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from ruamel.yaml.scanner import Scanner, ScannerError
from ruamel.yaml.tokens import FlowMappingEndToken, FlowSequenceEndToken, ScalarToken

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

_ENDS = "\0 \t\n"
_FLOW = ",[]{}"
_MARKS = ("---", "...")


class ModernScanner(Scanner):
    """A scanner that finds the tokens of YAML 1.2."""

    def check_key(self) -> bool:
        return self.ends_word(1)

    def check_value(self) -> bool:
        return self.ends_word(1) or (bool(self.flow_level) and self.follows_json())

    def check_plain(self) -> bool:
        if self.reader.peek() in "-?:":
            return not self.ends_word(1)
        return bool(super().check_plain())

    def ends_word(self, at: int) -> bool:
        """Return whether an indicator before this place stands alone."""
        character = self.reader.peek(at)
        return character in _ENDS or (bool(self.flow_level) and character in _FLOW)

    def follows_json(self) -> bool:
        """Return whether a quoted text, a list or a mapping came last: behind it `:` needs no space."""
        last = self.tokens[-1] if self.tokens else None
        if isinstance(last, ScalarToken):
            return not last.plain
        return isinstance(last, (FlowSequenceEndToken, FlowMappingEndToken))

    def stale_possible_simple_keys(self) -> None:
        """Keep the keys of mappings in braces, which may go over several lines."""
        if not self.flow_level:
            return super().stale_possible_simple_keys()
        kept = {
            level: key
            for level, key in self.possible_simple_keys.items()
            if level and self.flow_context[level - 1] == "{"
        }
        super().stale_possible_simple_keys()
        self.possible_simple_keys.update(kept)
        return None

    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:  # noqa: N803
        """Refuse depth before anything is built: each open bracket makes every later token dearer."""
        if self.flow_level >= DEPTH:
            raise ScannerError(None, None, f"nested more than {DEPTH} deep", self.reader.get_mark())
        super().fetch_flow_collection_start(TokenClass, to_push)

    def scan_yaml_directive_value(self, start_mark: Any) -> Any:
        major, minor = super().scan_yaml_directive_value(start_mark)
        # Whatever its minor version, a document is read by the rules of 1.2.
        return (major, 2) if major == 1 else (major, minor)

    def scan_to_next_token(self) -> None:
        """Skip white space and comments."""
        reader = self.reader
        while True:
            self.skip(" ")
            if reader.peek() == "\t" and self.allows_tab():
                self.skip(" \t")
            if reader.peek() == "#" and self.is_apart():
                self.skip_line()
            if not self.scan_line_break():
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def allows_tab(self) -> bool:
        """Return whether a tab is mere space here: not the indentation, and not before what opens a block."""
        if self.flow_level or self.is_blank_line():
            return True
        self.allow_simple_key = False
        return self.reader.column > self.indent

    def is_apart(self) -> bool:
        """Return whether white space stands before this place, as it must before a comment."""
        reader = self.reader
        return reader.pointer == 0 or reader.buffer[reader.pointer - 1] in " \t\n"

    def is_blank_line(self) -> bool:
        at = 0
        while self.reader.peek(at) in " \t":
            at += 1
        return self.reader.peek(at) in "\0\n#"

    def skip(self, characters: str) -> None:
        while self.reader.peek() in characters:
            self.reader.forward()

    def skip_line(self) -> None:
        while self.reader.peek() not in "\0\n":
            self.reader.forward()

    def scan_plain(self) -> ScalarToken:
        reader = self.reader
        start = end = reader.get_mark()
        indent = self.indent + 1
        said: list[str] = []
        spaces: list[str] = []
        while reader.peek() != "#":
            length = self.measure_word()
            if length == 0:
                break
            self.allow_simple_key = False
            said += [*spaces, reader.prefix(length)]
            reader.forward(length)
            end = reader.get_mark()
            spaces = self.scan_plain_spaces(indent, start)
            if not spaces or (not self.flow_level and reader.column < indent):
                break
        return ScalarToken("".join(said), True, start, end)

    def measure_word(self) -> int:
        """Count the characters up to the next space, or to what ends an unquoted text."""
        length = 0
        while True:
            character = self.reader.peek(length)
            if character in _ENDS or (self.flow_level and character in _FLOW):
                return length
            if character == ":" and self.ends_word(length + 1):
                return length
            length += 1

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str]:
        """Return what stands between two words: a space, or folded line breaks; nothing behind the last."""
        reader = self.reader
        start = reader.index
        self.skip(" \t")
        if reader.peek() != "\n":
            return [reader.buffer[reader.pointer - (reader.index - start) : reader.pointer]]
        self.scan_line_break()
        self.allow_simple_key = True
        breaks: list[str] = []
        while not self.is_at_mark():
            self.skip(" ")
            if reader.column >= indent or self.is_blank_line():
                self.skip(" \t")
            if reader.peek() != "\n":
                return breaks or [" "]
            breaks.append(self.scan_line_break())
        return []

    def is_at_mark(self) -> bool:
        return self.reader.prefix(3) in _MARKS and self.reader.peek(3) in _ENDS

    def scan_block_scalar_indentation(self) -> Any:
        """Find how far in a block of text stands: as its first line that says something."""
        reader = self.reader
        breaks: list[str] = []
        widest = 0
        end_mark = reader.get_mark()
        while True:
            self.skip(" ")
            if reader.peek() != "\n":
                break
            widest = max(widest, reader.column)
            breaks.append(self.scan_line_break())
            end_mark = reader.get_mark()
        is_empty = reader.peek() == "\0" or reader.column <= self.indent
        if reader.column < widest and not is_empty:
            problem = "a blank line begins with more spaces than the text below it"
            raise ScannerError("while scanning a block of text", end_mark, problem, reader.get_mark())
        return breaks, max(widest, reader.column) if is_empty else reader.column, end_mark


def build_slowly(text: str) -> Any:
    """Read one YAML document; None when it is empty."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    from shipmate.workspace.yaml.slow import ModernScanner

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

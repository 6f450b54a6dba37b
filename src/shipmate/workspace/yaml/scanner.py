"""Scan YAML by the rules of 1.2, where ruamel.yaml's scanner keeps to 1.1 or refuses what 1.2 allows.

Line ends are line feeds and there is no byte order mark: `slow` sees to it. Imported only
when a text needs it: ruamel.yaml is slow to load.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml.scanner import Scanner, ScannerError
from ruamel.yaml.tokens import FlowMappingEndToken, FlowSequenceEndToken, ScalarToken

from shipmate.workspace.yaml.scalar import DEPTH

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

"""Read priming scripts. A mistake is reported with its file, line, record and what to write instead."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from shipmate.errors import NotFoundError
from shipmate.priming.script.block import Block, BlockMetadata, cut_blocks, split_metadata
from shipmate.priming.script.record import BLANKS, Record, Script, ScriptError
from shipmate.priming.script.record_rule import RULES, FieldError, check_record
from shipmate.priming.script.script_frontmatter import check_frontmatter, name_rule
from shipmate.priming.script.ui_key import Contradiction, find_contradictions
from shipmate.values.message import JsonObject
from shipmate.workspace.json import read_json
from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml

_RULE = re.compile(r"\s*-{3,}\s*")
BYTE_LIMIT = 64 * 1024 * 1024
# Metadata that only the slow YAML reader understands: at most seven seconds of it in one file.
SLOW_LIMIT = 1024 * 1024
Found = TypeVar("Found")
_RETURNS = re.compile(r"\r+(?=\n|\Z)")


def read_script(path: Path, name: str = "") -> Script:
    """Read a script from disk; `name` is what messages call the file."""
    return parse_script(read_text(path, name or str(path)), name or str(path))


def read_text(path: Path, name: str) -> str:
    """Read a script's text, never more than the limit and never from anything but a regular file."""
    try:
        # A pipe put in the library would otherwise wait for a writer for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise ScriptError("this is no regular file", path=name)
            if found.st_size > BYTE_LIMIT:
                problem = f"{found.st_size} bytes; a script holds at most {BYTE_LIMIT}. Split it"
                raise ScriptError(problem, path=name)
            data = file.read(BYTE_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"no script {name}. `shipmate priming list` shows those there are.") from error
    except OSError as error:
        raise ScriptError(f"cannot be read: {error.strerror}", path=name) from error
    return _decode(data, name)


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScriptError("not UTF-8. Save the file as UTF-8", path=name, line=line) from error


def parse_script(text: str, path: str = "") -> Script:
    """Parse a whole script; raise the first mistake."""
    parser = _Parser(text, path)
    frontmatter = parser.read_frontmatter()
    # Cutting comes first: a file of too many records is refused before any of them is looked into.
    blocks = list(cut_blocks(parser.lines, parser.first, path))
    records = parser.refuse_empty([parser.read_record(block) for block in blocks])
    for found in find_contradictions(records):
        raise parser.contradict(found, blocks)
    return Script(frontmatter, records)


@dataclass(slots=True)
class Scan:
    """What could be read of a text, and every mistake in it."""

    frontmatter: JsonObject = field(default_factory=dict[str, Any])
    # The number of the first line below the frontmatter.
    first: int = 1
    blocks: list[Block] = field(default_factory=list[Block])
    # The records that are in order, by their number.
    records: dict[int, Record] = field(default_factory=dict[int, Record])
    problems: list[ScriptError] = field(default_factory=list[ScriptError])
    # How many lines a mistake keeps from being cut into records.
    unread: int = 0


def check_script(text: str, path: str = "") -> list[ScriptError]:
    """List every mistake in a script, in the order of its lines."""
    return scan_script(text, path).problems


def scan_script(text: str, path: str = "") -> Scan:
    """Read what can be read of a script."""
    try:
        parser = _Parser(text, path)
    except ScriptError as error:
        return Scan(problems=[error], unread=text.count("\n") + 1)
    scan = Scan(first=parser.first)
    top: list[ScriptError] = []
    broken: list[ScriptError] = []
    try:
        scan.frontmatter = parser.read_frontmatter()
    except ScriptError as error:
        top = [error]
    try:
        scan.blocks.extend(cut_blocks(parser.lines, parser.first, path))
        parser.refuse_empty(scan.blocks)
    except ScriptError as error:
        # What breaks the cutting hides the rest of the file, not what stands before it.
        broken = [error]
        scan.unread = len(parser.lines) + parser.first - error.line
    for block in scan.blocks:
        try:
            scan.records[block.number] = parser.read_record(block)
        except ScriptError as error:
            scan.problems.append(error)
    if not scan.problems:
        found = find_contradictions(list(scan.records.values()))
        scan.problems += [parser.contradict(each, scan.blocks) for each in found]
    scan.problems = [*top, *scan.problems, *broken]
    return scan


class _Parser:
    """Reads one text: its frontmatter, and its records one by one."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.slow = 0
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        top = split_metadata(lines)
        if top.text is None:
            self._refuse_unread(lines)
        self.lines = top.body
        self.first = len(lines) - len(top.body) + 1
        self.top = top

    def read_frontmatter(self) -> JsonObject:
        """Read and check the frontmatter."""
        values = {} if self.top.text is None else self.read_metadata(self.top.text, 2, 0, is_top=True)
        key, problem = check_frontmatter(values)
        if problem:
            line = _find_line(self.top, key, 2) or 1
            raise ScriptError(problem, path=self.path, line=line, rule=name_rule(key, values))
        return values

    def _refuse_unread(self, lines: list[str]) -> None:
        """Refuse what looks like frontmatter and would not be read as such."""
        if lines[0] == "---" and len(lines) > 1 and lines[1] != "---":
            raise ScriptError("the frontmatter is not closed. Write `---` below it", path=self.path, line=1)
        at = next((at for at, line in enumerate(lines) if line.strip(BLANKS + "\ufeff")), 0)
        if _RULE.fullmatch(lines[at]) and lines[at : at + 2] != ["---", "---"]:
            problem = (
                "the frontmatter must begin on the first line, with `---` alone. Take out what is before"
            )
            raise ScriptError(problem, path=self.path, line=at + 1, rule="frontmatter")

    def refuse_empty(self, records: list[Found]) -> list[Found]:
        if not records:
            problem = "no record in this file. Write at least one `### record <type>` block"
            raise ScriptError(problem, path=self.path, line=1)
        return records

    def read_record(self, block: Block) -> Record:
        """Read and check one record."""
        if block.type == "func_call_record":
            return self.check(block, self.read_call(block), BlockMetadata(None, block.lines))
        parts = split_metadata(block.lines)
        if parts.text is None:
            problem = f"this {block.type} has no metadata. Begin its block with `---`, `genseq: 1`, `---`"
            raise self.error(block, problem, rule="metadata")
        values = self.read_metadata(parts.text, block.start + 1, block.number)
        body_field = RULES[block.type].body
        for name in ("type", body_field):
            if name is not None and name in values:
                instead = "the heading names it" if name == "type" else "it is the text below the metadata"
                line = _find_line(parts, name, block.start + 1)
                raise self.error(block, f"take `{name}` out of the metadata: {instead}", line)
        body = "\n".join(parts.body)
        if body_field is not None:
            values[body_field] = restore_returns(body, values.pop("exactBody", None))
        elif body.strip(BLANKS + "\n"):
            line = block.start + len(block.lines) - len(parts.body)
            raise self.error(
                block, f"a {block.type} has no text. Take out what stands below its metadata", line
            )
        return self.check(block, values, parts)

    def read_call(self, block: Block) -> JsonObject:
        """Read the JSON object of a function call."""
        text = "\n".join(block.lines)
        if not text.strip(BLANKS + "\n"):
            raise self.error(block, 'the block is empty. Write a JSON object with "genseq", "id" and "name"')
        lead = len(text) - len(text.lstrip(BLANKS + "\n"))
        try:
            values = read_json(text.strip(BLANKS + "\n"))
        except json.JSONDecodeError as error:
            line = block.start + text.count("\n", 0, lead) + error.lineno - 1
            raise self.error(block, f"the block is not JSON: {error.msg}", line) from error
        except ValueError as error:
            raise self.error(block, f"the block is not JSON: {error}") from error
        if not isinstance(values, dict):
            raise self.error(block, "the block must be one JSON object: { … }")
        if values.pop("type", block.type) != block.type:
            raise self.error(block, f'"type" must be "{block.type}", as the heading says, or be left out')
        return values

    def check(self, block: Block, values: JsonObject, parts: BlockMetadata) -> Record:
        try:
            return check_record(block.type, values, block.heading)
        except FieldError as error:
            line = _find_line(parts, error.field, block.start + (parts.text is not None))
            raise self.error(block, f"{block.type}: {error}", line, rule=error.rule) from error

    def read_metadata(self, text: str, line: int, record: int, *, is_top: bool = False) -> JsonObject:
        try:
            values, is_slow = read_yaml(text)
        except YamlError as error:
            raise ScriptError(str(error), path=self.path, line=line + error.line, record=record) from error
        self.slow += len(text) if is_slow else 0
        if self.slow > SLOW_LIMIT:
            problem = (
                f"over {SLOW_LIMIT // 1024} KB of nested metadata; write nested values as JSON on one line"
            )
            raise ScriptError(problem, path=self.path, line=line, record=record)
        if isinstance(values, dict):
            return values
        if is_top and values is not None:
            # Taken for empty it would restrict the script to nobody's knowledge.
            raise ScriptError("the frontmatter must be `key: value` lines", path=self.path, line=line)
        return {}

    def contradict(self, found: Contradiction, blocks: list[Block]) -> ScriptError:
        block = next(block for block in blocks if block.heading == found.record.line)
        is_call = block.type == "func_call_record"
        parts = BlockMetadata(None, block.lines) if is_call else split_metadata(block.lines)
        line = _find_line(parts, found.key, block.start + (parts.text is not None))
        return self.error(block, f"{block.type}: {found.problem}", line, rule="contradiction")

    def error(self, block: Block, problem: str, line: int = 0, *, rule: str = "format") -> ScriptError:
        line = line or block.heading
        return ScriptError(problem, path=self.path, line=line, record=block.number, rule=rule)


def hide_returns(body: str) -> str:
    """Return a body without the carriage returns that reading would swallow."""
    return _RETURNS.sub("", body)


def restore_returns(body: str, exact: Any) -> str:
    """Return the exact body when it still says what the visible one says; an edited body wins."""
    return exact if isinstance(exact, str) and hide_returns(exact) == body else body


def _find_line(parts: BlockMetadata, field: str, first: int) -> int:
    """Find the line a field stands on; 0 when it cannot be told."""
    lines = parts.body if parts.text is None else parts.text.split("\n")
    # At the margin first: what is nested may have the same name.
    for lead in ("\"'", " \"'"):
        for at, line in enumerate(lines):
            if field and line.lstrip(lead).startswith(field):
                return first + at
    return 0

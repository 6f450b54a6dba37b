"""Cut a script into the blocks of its records. Nothing is read in them yet."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from shipmate.priming.script.record import BLANKS, ScriptError
from shipmate.priming.script.record_rule import RULES
from shipmate.priming.script.script_frontmatter import find_restriction

RECORD_LIMIT = 200_000
_HEADING = re.compile(rf"###[{BLANKS}]+record[{BLANKS}]+([A-Za-z0-9_]+)[{BLANKS}]*", re.IGNORECASE | re.ASCII)
_NEAR_HEADING = re.compile(rf"#+[{BLANKS}]*record[{BLANKS}:]+\w+_record\b.*", re.IGNORECASE | re.ASCII)
_OLD_HEADING = re.compile(rf"###[{BLANKS}]+(user|assistant)[{BLANKS}]*", re.IGNORECASE | re.ASCII)
_OPENING = re.compile(rf"(`{{3,}}|~{{3,}})[{BLANKS}]*[^`~]*")


class Block(NamedTuple):
    """The lines of one record, and where they stand (lines count from 1)."""

    type: str
    number: int
    heading: int
    start: int
    lines: list[str]


class BlockMetadata(NamedTuple):
    """What stands between `---` lines (None when there are none), and the lines below."""

    text: str | None
    body: list[str]


def split_metadata(lines: list[str]) -> BlockMetadata:
    """Take the frontmatter off; it ends at the first later line that is exactly `---`."""
    if lines and lines[0] == "---":
        for at in range(2, len(lines)):
            if lines[at] == "---":
                return BlockMetadata("\n".join(lines[1:at]), lines[at + 1 :])
    return BlockMetadata(None, lines)


def cut_blocks(lines: list[str], first: int, path: str) -> Iterator[Block]:
    """Find the record blocks in the lines below the frontmatter; `first` is the number of the first line."""
    at = number = 0
    while at < len(lines):
        kind = _read_heading(lines[at], first + at, path, number + 1)
        at += 1
        if kind is None:
            _refuse_restriction(lines[at - 1], first + at - 1, path)
            continue
        number += 1
        if number > RECORD_LIMIT:
            raise ScriptError(
                f"more than {RECORD_LIMIT} records; split the script", path=path, line=first + at - 1
            )
        heading = first + at - 1
        while at < len(lines) and not lines[at].strip(BLANKS):
            at += 1
        fence = match_fence(lines[at]) if at < len(lines) else ""
        start = at + 1 if fence else at
        end = (
            _find_closing(lines, start, fence, (path, heading, number, kind))
            if fence
            else _find_next_heading(lines, start, first, path, number + 1)
        )
        yield Block(kind, number, heading, first + start, lines[start:end])
        at = end + 1 if fence else end


def match_fence(line: str) -> str:
    """Return the run of backticks or tildes a line opens a block with, "" when it opens none."""
    found = _OPENING.fullmatch(line)
    return "" if found is None else found[1]


def is_heading(line: str) -> bool:
    """Return whether a line is the heading of a record."""
    found = _HEADING.fullmatch(line)
    return found is not None and found[1].lower() in RULES


def _refuse_restriction(line: str, number: int, path: str) -> None:
    """Refuse a line outside all blocks that says whom the script is for: nothing would heed it."""
    if key := find_restriction(line):
        problem = f"`{key}` counts in the frontmatter only. Begin the file with `---`, `{key}: …`, `---`"
        raise ScriptError(problem, path=path, line=number, rule="frontmatter")


def _read_heading(line: str, number: int, path: str, record: int) -> str | None:
    """Return the record type a line names, None for any other line; refuse what was meant as a heading."""
    if not line.startswith("#"):
        return None
    match = _HEADING.fullmatch(line)
    if match is not None:
        kind = match[1].lower()
        if kind not in RULES:
            near = difflib.get_close_matches(kind, RULES, 1) or ["human_text_record"]
            problem = f"there is no record type `{match[1]}`. Write for example `### record {near[0]}`"
            raise ScriptError(problem, path=path, line=number, record=record, rule="heading")
        return kind
    if old := _OLD_HEADING.fullmatch(line):
        kind = "human_text_record" if old[1].lower() == "user" else "agent_words_record"
        problem = f"`### {old[1]}` is no longer understood. Write `### record {kind}`"
        raise ScriptError(problem, path=path, line=number, record=record, rule="heading")
    if _NEAR_HEADING.fullmatch(line):
        problem = f"`{line.strip()}` is no record heading. Write `### record <type>` and nothing else"
        raise ScriptError(problem, path=path, line=number, record=record, rule="heading")
    return None


def _find_closing(lines: list[str], start: int, fence: str, place: tuple[str, int, int, str]) -> int:
    for at in range(start, len(lines)):
        if fence in lines[at] and lines[at].strip(BLANKS) == fence:
            return at
    path, heading, number, kind = place
    problem = f"the block of this {kind} is not closed. Write {fence} alone on a line below its text"
    raise ScriptError(problem, path=path, line=heading, record=number, rule="fence")


def _find_next_heading(lines: list[str], start: int, first: int, path: str, record: int) -> int:
    for at in range(start, len(lines)):
        if _read_heading(lines[at], first + at, path, record) is not None:
            return at
    return len(lines)

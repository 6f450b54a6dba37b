"""Find text that was meant for a record and belongs to none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.script.block import Block, is_heading, match_fence
from shipmate.priming.script.parse import Scan
from shipmate.priming.script.record import BLANKS
from shipmate.priming.script.record_rule import RULES

_MEANT_HEADING = re.compile(
    r"[\s>*_#-]*(?:#|\*\*)[\s*_`]*(?:record\b[\s:*_`-]*)?(\w+_record\b|record\s*$)", re.IGNORECASE
)
_METADATA = re.compile(r"---|[A-Za-z]\w*:( |$)")


class Fence(NamedTuple):
    """A fenced block and what stands below it up to the next heading; all by their line."""

    run: str
    opening: int
    closing: int
    end: int


def find_fence(lines: Sequence[str], block: Block) -> Fence | None:
    """Return the fence of a block and where the text below it ends, None when the block has no fence."""
    run = match_fence(lines[block.start - 2]) if block.start - 1 > block.heading else ""
    if not run:
        return None
    closing = block.start + len(block.lines)
    below = range(closing + 1, len(lines) + 1)
    end = next((number for number in below if is_heading(lines[number - 1])), len(lines) + 1)
    return Fence(run, block.start - 1, closing, end)


def find_strays(lines: Sequence[str], scan: Scan) -> Iterator[Mark]:
    """Yield what is said below or between the blocks and read by nobody."""
    first = scan.blocks[0].heading if scan.blocks else len(lines) + 1
    yield from _find_headings(lines, scan.first, first)
    for block in scan.blocks:
        fence = find_fence(lines, block)
        if fence is None:
            continue
        if mark := _find_swallowed(block, fence):
            yield mark
            continue
        headings = list(_find_headings(lines, fence.closing + 1, fence.end))
        yield from headings
        end = headings[0].line if headings else fence.end
        if mark := _judge(lines, block, fence._replace(end=end)):
            yield mark


def _find_swallowed(block: Block, fence: Fence) -> Mark | None:
    """Return the mark of a block that takes the records below it for its text."""
    for at, line in enumerate(block.lines):
        if not is_heading(line):
            continue
        below = next((each for each in block.lines[at + 1 :] if each.strip(BLANKS)), "")
        if match_fence(below) == fence.run:
            return _mark(
                block,
                block.start + at,
                "swallowed",
                f"the block of record {block.number} is not closed and takes this record for its text",
                f"Write {fence.run} alone on a line above it, or fence the text with more backticks",
            )
    return None


def _find_headings(lines: Sequence[str], start: int, end: int) -> Iterator[Mark]:
    for number in range(start, end):
        if is_heading(lines[number - 1]):
            # What broke the cutting hides it; nothing is wrong with it.
            return
        found = _MEANT_HEADING.match(lines[number - 1])
        if found is not None:
            kind = found[1].lower() if found[1].lower() in RULES else "<type>"
            yield Mark(
                line=number,
                record=0,
                level="error",
                rule="heading",
                reason="this is no record heading, and what stands below it is read by nobody",
                mend=f"Write `### record {kind}` and nothing else",
            )


def count_fences(lines: Sequence[str], fence: Fence) -> tuple[int, list[int]]:
    """Count the fences a text opens with a word behind them; list the lines that would close its block."""
    text = range(fence.opening + 1, fence.end)
    alone = [number for number in text if lines[number - 1].strip(BLANKS) == fence.run]
    begun = [number for number in text if match_fence(lines[number - 1].strip(BLANKS)) == fence.run]
    return len(begun) - len(alone), alone


def _judge(lines: Sequence[str], block: Block, fence: Fence) -> Mark | None:
    below = [at for at in range(fence.closing + 1, fence.end) if lines[at - 1].strip(BLANKS)]
    opens = any(
        match_fence(line.strip(BLANKS)) == fence.run and line.strip(BLANKS) != fence.run
        for line in block.lines
    )
    alone = [at for at in below if lines[at - 1].strip(BLANKS) == fence.run]
    first = lines[below[0] - 1] if below else ""
    begins_block = bool(match_fence(first)) and _is_block(lines, below)
    if opens or (alone and not begins_block):
        lost = f"; {len(below)} lines below are lost" if below else ""
        return _mark(
            block,
            fence.closing,
            "cut",
            f"the text of this {block.type} ends here, at a fence that is part of it{lost}",
            "Fence the block with more backticks than the text has",
        )
    if begins_block or match_fence(first):
        return _mark(
            block,
            below[0],
            "second-block",
            "a second block stands under one heading, and only the first is read",
            "Give it a `### record <type>` heading of its own, or take it out",
        )
    if below and (below[0] == fence.closing + 1 or any(_METADATA.match(lines[at - 1]) for at in below)):
        return _mark(
            block,
            below[0],
            "lost",
            "this text belongs to no record",
            "Move it into a block, or leave an empty line above it when it is a remark",
            is_error=False,
        )
    return None


def _is_block(lines: Sequence[str], below: Sequence[int]) -> bool:
    """Return whether a fence below a block begins one as records have it: metadata, JSON, or a word."""
    words = lines[below[0] - 1].strip(BLANKS).lstrip("`~").strip()
    inside = lines[below[1] - 1].strip() if len(below) > 1 else ""
    return bool(words) or inside == "---" or inside.startswith("{")


def _mark(block: Block, line: int, rule: str, reason: str, mend: str, *, is_error: bool = True) -> Mark:
    level = "error" if is_error else "warning"
    return Mark(line=line, record=block.number, level=level, rule=rule, reason=reason, mend=mend)

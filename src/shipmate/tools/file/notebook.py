"""Keep Markdown notes as sections under `##` headings, one for each thing known."""

from __future__ import annotations

import re

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}(#{1,2})[ \t]+(.*?)[ \t#]*$")


def upsert(text: str, heading: str, content: str) -> str:
    """Put content under a heading, in place of what stands there or at the end; empty content removes it."""
    lines = text.splitlines()
    block = [f"## {heading}", "", *tame(content)] if content.strip() else []
    start, end = _find(lines, heading)
    before, after = _trim(lines[:start]), _trim(lines[end:])
    pieces = ["\n".join(piece) for piece in (before, block, after) if piece]
    return "\n\n".join(pieces) + "\n" if pieces else ""


def tame(content: str) -> list[str]:
    """Make content that cannot pass for another section: headings go down, an open fence is closed."""
    lines = content.strip("\n").splitlines()
    for at, level, _ in list(_headings(lines)):
        lines[at] = "#" * (3 - level) + lines[at].lstrip()
    fence = ""
    for line in lines:
        fence = _fence_after(fence, line)
    return [*lines, fence] if fence else lines


def _find(lines: list[str], heading: str) -> tuple[int, int]:
    marks = list(_headings(lines))
    for number, (at, level, title) in enumerate(marks):
        if level == 2 and title.casefold() == heading.casefold():
            return at, marks[number + 1][0] if number + 1 < len(marks) else len(lines)
    return len(lines), len(lines)


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """List headings of the first two levels outside fences: line, level, words."""
    found: list[tuple[int, int, str]] = []
    fence = ""
    for at, line in enumerate(lines):
        if not fence and (heading := HEADING.match(line)):
            found.append((at, len(heading[1]), heading[2]))
        fence = _fence_after(fence, line)
    return found


def _fence_after(fence: str, line: str) -> str:
    """Return the fence that is open after a line, empty when none is."""
    mark = FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    closes = mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def _trim(lines: list[str]) -> list[str]:
    """Drop blank lines at both ends."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines

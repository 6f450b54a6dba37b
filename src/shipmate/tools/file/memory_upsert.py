"""Remember facts about the project and the people in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from shipmate.errors import ToolError
from shipmate.memory.reader import user_key
from shipmate.tools.file.diff import unified
from shipmate.tools.file.target import check_target, content_target
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.private import write_private

# Memory is part of every prompt.
FILE_LIMIT = 65_536
HEADING_LIMIT = 100
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}(#{1,2})[ \t]+(.*?)[ \t#]*$")


class MemoryUpsertArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scope: Literal["project", "user"]
    heading: str
    content: str


class MemoryUpsert(Tool[MemoryUpsertArguments]):
    """The tool that writes one note of long-term memory."""

    name = "memory_upsert"
    description = "Remember a fact under a heading, replacing what stood there; empty content forgets it."
    arguments = MemoryUpsertArguments
    labels = Labels(acts=True)

    async def picture(self, arguments: MemoryUpsertArguments, context: ToolContext) -> Picture:
        change = _change(arguments, context)
        diff = unified(str(change.path.relative_to(context.folder)), change.before, change.after)
        return Picture(reveal(diff) or "[nothing changes]", change.target)

    async def run(self, arguments: MemoryUpsertArguments, context: ToolContext) -> ToolResult:
        # Read and written in one go on the event loop, so that two notes at once cannot lose each other.
        change = _change(arguments, context)
        check_target(context, change.target)
        if change.before != change.after:
            write_private(change.path, change.after.encode())
        done = "Remembered" if arguments.content.strip() else "Forgotten"
        return ToolResult(
            output=f"{done}: {_heading(arguments)} ({change.path.relative_to(context.folder)})."
        )


class _Change(msgspec.Struct, frozen=True):
    """Which file changes, from what to what."""

    path: Path
    before: str
    after: str
    target: JsonObject


def _change(arguments: MemoryUpsertArguments, context: ToolContext) -> _Change:
    """Work out what a note changes; one reading serves the diff and the digest."""
    path = _path(arguments, context)
    data = path.read_bytes() if path.is_file() else None
    before = (data or b"").decode("utf-8", "replace")
    try:
        after = upsert(before, _heading(arguments), clean(arguments.content))
        size = len(after.encode())
    except UnicodeEncodeError as error:
        raise ToolError("The text holds half a character (a lone surrogate). Nothing was written.") from error
    if size > FILE_LIMIT:
        raise ToolError(
            f"Memory would grow past {FILE_LIMIT:,} bytes. Say it shorter, or forget something first."
        )
    real = str(path.resolve())
    target: JsonObject = {"path": real, "state": "absent"} if data is None else content_target(real, data)
    return _Change(path, before, after, target)


def _path(arguments: MemoryUpsertArguments, context: ToolContext) -> Path:
    if arguments.scope == "project":
        return context.layout.project_memory
    if not context.user_id:
        raise ToolError("Nobody in particular is speaking here; only the project can be remembered.")
    platform = ThreadId.parse(context.thread_id).platform
    return context.layout.user_memory(user_key(platform, context.user_id))


def _heading(arguments: MemoryUpsertArguments) -> str:
    heading = " ".join(clean(arguments.heading).strip(" \t\n#").split())
    if not heading or len(heading) > HEADING_LIMIT:
        raise ToolError(f"A heading is one line of 1 to {HEADING_LIMIT} characters.")
    return heading


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

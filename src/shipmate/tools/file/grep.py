"""Search the workspace's files with a regular expression."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from shipmate.errors import ToolError
from shipmate.tools.file.read import labels_by_path
from shipmate.tools.file.target import real_path
from shipmate.tools.file.tree import File, files_below
from shipmate.tools.file.wildcard import Wildcard
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult

if TYPE_CHECKING:
    import regex

MATCH_LIMIT = 200
PATTERN_LIMIT = 1_000
LINE_LIMIT = 300
FILE_LIMIT = 20_000_000
SECONDS = 10.0


class GrepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str = "."
    glob: Annotated[str, Meta(description="only files such as *.py")] = ""
    context: Annotated[int, Meta(ge=0, le=20, description="lines around")] = 0
    ignore_case: bool = False


class Grep(Tool[GrepArguments]):
    """Find lines that match."""

    name = "grep"
    description = "Search files for a regular expression; gives path:line:text."
    arguments = GrepArguments
    labels = Labels(reads_private=True)

    def labels_for(self, arguments: GrepArguments) -> Labels:
        return labels_by_path(arguments.path)

    async def picture(self, arguments: GrepArguments, context: ToolContext) -> Picture:
        return Picture((await super().picture(arguments, context)).text, real_path(context, arguments.path))

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolResult:
        if context.expected is not None:
            real_path(context, arguments.path)
        search = _Search(arguments, self.budget)
        return ToolResult(output=await asyncio.to_thread(search.run, context))


class _Search:
    """Collect matching lines until nothing is left, the room is full or the time is up."""

    def __init__(self, arguments: GrepArguments, budget: int) -> None:
        self.context = arguments.context
        self.path = arguments.path
        self.pattern = _compile(arguments)
        self.wildcard = _filter(arguments.glob)
        self.deadline = time.monotonic() + SECONDS
        self.room = budget
        self.matches = 0
        self.lines: list[str] = []

    def run(self, context: ToolContext) -> str:
        try:
            for file in files_below(context.folder, self.path):
                if self.wildcard.matches(file.below) and not self._search(file):
                    return self._report("more matches follow; give a narrower pattern, path or glob")
        except TimeoutError:
            return self._report(f"stopped after {SECONDS:.0f} s; give a simpler pattern or a narrower path")
        return self._report("" if self.lines else "no match")

    def _report(self, note: str) -> str:
        return "\n".join([*self.lines, f"[{note}]"] if note else self.lines)

    def _search(self, file: File) -> bool:
        """Search one file; False when the room is full."""
        before: deque[tuple[int, str]] = deque(maxlen=self.context)
        after = 0
        for number, line in _text_lines(file.handle):
            if self._is_match(line):
                self.matches += 1
                for earlier, text in before:
                    self._add(file.path, earlier, text, "-")
                before.clear()
                self._add(file.path, number, line, ":")
                after = self.context
            elif after:
                self._add(file.path, number, line, "-")
                after -= 1
            else:
                before.append((number, line))
            if self.matches >= MATCH_LIMIT or self.room < 0:
                return False
        return True

    def _is_match(self, line: str) -> bool:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        # `concurrent` lets other threads run meanwhile; `timeout` ends a pattern that backtracks without end.
        return self.pattern.search(line, timeout=left, concurrent=True) is not None

    def _add(self, path: str, number: int, text: str, mark: str) -> None:
        shown = clean(text if len(text) <= LINE_LIMIT else f"{text[:LINE_LIMIT]}…")
        self.lines.append(f"{path}{mark}{number}{mark}{shown}")
        self.room -= len(self.lines[-1]) + 1


def _compile(arguments: GrepArguments) -> regex.Pattern[str]:
    import regex

    if len(arguments.pattern) > PATTERN_LIMIT:
        raise ToolError(f"The pattern is longer than {PATTERN_LIMIT} characters.")
    try:
        return regex.compile(arguments.pattern, regex.IGNORECASE if arguments.ignore_case else 0)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ToolError(f"{arguments.pattern!r} is not a regular expression: {error}.") from error


def _filter(glob: str) -> Wildcard:
    """Match a filter without a slash at any depth, as people expect."""
    return Wildcard(glob if "/" in glob else f"**/{glob or '*'}")


def _text_lines(handle: int) -> Iterator[tuple[int, str]]:
    """Go over a file's lines; none when it is binary or huge."""
    if os.fstat(handle).st_size > FILE_LIMIT:
        return
    with os.fdopen(os.dup(handle), "rb") as file:
        if b"\0" in file.peek(8192)[:8192]:
            return
        for number, line in enumerate(file, 1):
            yield number, line.decode("utf-8", "replace").rstrip("\r\n")

"""Search the workspace's files with a regular expression."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.decoding.worker import Work, call
from shipmate.errors import DecodingError, DecodingLimitError, ToolError
from shipmate.tools.file.read import labels_by_path
from shipmate.tools.file.search.tree import files_below
from shipmate.tools.file.search.wildcard import Wildcard
from shipmate.tools.file.target import real_path
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult

MATCH_LIMIT = 200
LINE_LIMIT = 300
FILE_LIMIT = 20_000_000
SECONDS = 10.0
# A busy machine may let the search wait so much longer than it works.
GRACE_SECONDS = 5.0
MEMORY = 300_000_000
BATCH_SIZE = 1_000_000
BATCH_FILES = 200
MATCH = Work(
    function="shipmate.tools.file.search.grep:find_lines",
    subject="The files",
    seconds=SECONDS,
    memory=MEMORY,
)
PATTERN_LIMIT = 1_000


class GrepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str = "."
    glob: Annotated[str, Meta(description="only files such as *.py")] = ""
    context: Annotated[int, Meta(ge=0, le=20, description="lines around")] = 0
    ignore_case: bool = False


class Grep(Tool[GrepArguments]):
    """The tool that finds lines that match."""

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
    """Collects matching lines until nothing is left, the room is full or the time is up."""

    def __init__(self, arguments: GrepArguments, budget: int) -> None:
        if len(arguments.pattern) > PATTERN_LIMIT:
            raise ToolError(f"The pattern is longer than {PATTERN_LIMIT} characters.")
        self.arguments = arguments
        self.wildcard = _filter(arguments.glob)
        self.deadline = time.monotonic() + SECONDS
        self.room = budget
        self.matches = 0
        self.lines: list[str] = []

    def run(self, context: ToolContext) -> str:
        try:
            # Nothing to search in yet: says whether the pattern is one.
            self._match([])
            for texts in self._batches(context):
                if not self._search(texts):
                    return self._report("more matches follow; give a narrower pattern, path or glob")
        except TimeoutError:
            return self._report(
                f"stopped after {SECONDS:.0f} s or {MEMORY // 1_000_000} MB; "
                "give a simpler pattern or a narrower path"
            )
        return self._report("" if self.lines else "no match")

    def _report(self, note: str) -> str:
        return "\n".join([*self.lines, f"[{note}]"] if note else self.lines)

    def _batches(self, context: ToolContext) -> Iterator[list[tuple[str, bytes]]]:
        """Go over the texts to search, by path; small ones together, as each call has its price."""
        texts: list[tuple[str, bytes]] = []
        size = 0
        for file in files_below(context.folder, self.arguments.path):
            self._left()
            if not self.wildcard.matches(file.below) or not (data := _read_text(file.handle)):
                continue
            texts.append((file.path, data))
            size += len(data)
            if size > BATCH_SIZE or len(texts) >= BATCH_FILES:
                yield texts
                texts, size = [], 0
        yield texts

    def _match(self, texts: list[tuple[str, bytes]]) -> list[list[int]]:
        """Return the numbers of matching lines of each text; raises TimeoutError when that takes too long."""
        left = self._left()
        try:
            answer = call(
                msgspec.structs.replace(MATCH, seconds=left, wall_seconds=left + GRACE_SECONDS),
                b"".join(data for _, data in texts),
                pattern=self.arguments.pattern,
                ignore_case=self.arguments.ignore_case,
                sizes=",".join(str(len(data)) for _, data in texts),
                limit=MATCH_LIMIT - self.matches,
            )
        except DecodingLimitError as error:
            raise TimeoutError from error
        except DecodingError as error:
            raise ToolError(str(error)) from error
        return [[int(number) for number in line.split()] for line in answer.decode().split("\n")]

    def _search(self, texts: list[tuple[str, bytes]]) -> bool:
        """Search some texts; False when the room is full."""
        for (path, data), numbers in zip(texts, self._match(texts), strict=False):
            if numbers:
                self._show(path, split_lines(data), numbers)
            if self.matches >= MATCH_LIMIT or self.room < 0:
                return False
        return True

    def _show(self, path: str, lines: list[str], numbers: list[int]) -> None:
        """Add matching lines with those around them, each line once."""
        matching = set(numbers)
        shown = 0
        for number in numbers:
            self.matches += 1
            first = max(shown + 1, number - self.arguments.context)
            last = min(len(lines), number + self.arguments.context)
            for near in range(first, last + 1):
                self._add(path, near, lines[near - 1], ":" if near in matching else "-")
            shown = max(shown, last)
            if self.room < 0:
                return

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _add(self, path: str, number: int, text: str, mark: str) -> None:
        shown = clean(text if len(text) <= LINE_LIMIT else f"{text[:LINE_LIMIT]}…")
        self.lines.append(f"{path}{mark}{number}{mark}{shown}")
        self.room -= len(self.lines[-1]) + 1


def _filter(glob: str) -> Wildcard:
    """Match a filter without a slash at any depth, as people expect."""
    return Wildcard(glob if "/" in glob else f"**/{glob or '*'}")


def _read_text(handle: int) -> bytes:
    """Return a file's bytes; none when it is binary or huge."""
    if os.fstat(handle).st_size > FILE_LIMIT:
        return b""
    with os.fdopen(os.dup(handle), "rb") as file:
        data = file.read(FILE_LIMIT + 1)
    return b"" if b"\0" in data[:8192] or len(data) > FILE_LIMIT else data


def find_lines(data: bytes, *, pattern: str, ignore_case: bool, sizes: str, limit: int) -> bytes:
    """Return the numbers of matching lines of texts of `sizes` bytes: a line of them for each text."""
    import regex

    try:
        search = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0).search
    except (regex.error, RecursionError, OverflowError) as error:
        raise ToolError(f"{pattern!r} is not a regular expression: {error}.") from error
    except MemoryError as error:
        raise ToolError(f"{pattern!r} repeats too much; give a simpler pattern.") from error
    at, left = 0, limit
    answers: list[str] = []
    for size in map(int, sizes.split(",") if sizes else ()):
        found: list[str] = []
        for number, line in enumerate(split_lines(data[at : at + size]), 1):
            if left <= 0:
                break
            if search(line) is not None:
                found.append(str(number))
                left -= 1
        answers.append(" ".join(found))
        at += size
    return "\n".join(answers).encode()


def split_lines(data: bytes) -> list[str]:
    """Return the lines of a text without their ends."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.decode("utf-8", "replace").rstrip("\r") for line in lines]

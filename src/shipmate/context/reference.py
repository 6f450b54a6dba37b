"""Follow the `@path` lines of AGENTS.md: a line that is nothing but `@relative/path` pulls that file in.

Where document 003 holds, a line that is nothing but the path of a file does so too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.secret.secret import holds_secrets

COUNT_LIMIT = 50
DEPTH_LIMIT = 5
BYTES_LIMIT = 256 * 1024
# Longer lines are sentences, and of more lines than this nobody made a list of files.
PATH_LIMIT = 255
LINE_LIMIT = 1_000
# Document 003: headings and items of lists name no file.
NO_PATH = ("#", "-")

_LINE = re.compile(r"@(\S(?:.*\S)?)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


def find_references(text: str) -> list[str]:
    """List the paths of `@path` lines, outside of code blocks, each once."""
    return list(dict.fromkeys(path for path, is_marked in _find_lines(text) if is_marked))


def _find_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Go over the lines that may name a file, and whether they are marked as doing so."""
    fence = ""
    for line in text.splitlines():
        words = line.strip()
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif fence or not words:
            continue
        elif match := _LINE.fullmatch(words):
            yield match[1], True
        elif not words.startswith(NO_PATH) and len(words) <= PATH_LIMIT:
            yield words, False


def follow(file: FileText, root: Path, files: FileCache) -> tuple[list[FileText], list[str]]:
    """Read the files a text refers to, and those they refer to; give them and what went wrong."""
    return follow_all([file], root, files)


def follow_all(
    texts: Sequence[FileText], root: Path, files: FileCache, *, is_bare: bool = False
) -> tuple[list[FileText], list[str]]:
    """Read the files that texts refer to, each once; `is_bare` counts lines that are the path of a file."""
    walk = _Walk(root, files, is_bare=is_bare)
    walk.seen.update(os.path.realpath(file.path) for file in texts)
    for file in texts:
        walk.visit(file, DEPTH_LIMIT)
    return walk.found, walk.problems


def find_places(file: FileText, root: Path, files: FileCache, *, is_bare: bool = False) -> set[str]:
    """Return the real paths a text refers to, directly or not, whether there is such a file yet or not."""
    walk = _Walk(root, files, is_bare=is_bare)
    walk.visit(file, DEPTH_LIMIT)
    return walk.seen | walk.tried


class _Walk:
    """Collects references, each file once, within the limits."""

    def __init__(self, root: Path, files: FileCache, *, is_bare: bool = False) -> None:
        self.root = os.path.realpath(root)
        self.is_bare = is_bare
        # Where bare lines would find a file if there were one.
        self.tried: set[str] = set()
        self.files = files
        self.found: list[FileText] = []
        self.problems: list[str] = []
        self.seen: set[str] = set()
        self.room = BYTES_LIMIT

    def visit(self, file: FileText, depth: int) -> None:
        folder = Path(file.path).parent
        if self.is_bare:
            self.visit_bare(file, folder, depth)
            return
        for path in find_references(file.text):
            if depth == 0:
                self.problems.append(f"@{path}: references go deeper than {DEPTH_LIMIT} files")
                return
            self.take(path, folder, depth)

    def visit_bare(self, file: FileText, folder: Path, depth: int) -> None:
        """Follow the lines of a text; one without an @ is a sentence unless there is such a file."""
        for path, is_marked in _find_lines(file.text):
            if depth == 0:
                return
            if is_marked or self.is_file(path, folder):
                self.take(path, folder, depth)

    def is_file(self, path: str, folder: Path) -> bool:
        """Return whether a bare line is the path of a file here that may be shown."""
        parts = path.split("/")
        if "\0" in path or path.startswith(("/", "~")) or ".." in parts or holds_secrets(parts):
            return False
        if len(self.tried) >= LINE_LIMIT:
            return False
        self.tried.add(os.path.realpath(folder / path))
        return os.path.isfile(folder / path)  # noqa: PTH113  # Path.is_file() raises for a name too long

    def take(self, path: str, folder: Path, depth: int) -> None:
        place = os.path.realpath(folder / path) if "\0" not in path else ""
        if path.startswith("~") or Path(path).is_absolute() or not place.startswith(f"{self.root}{os.sep}"):
            self.problems.append(f"@{path}: outside the workspace")
        elif holds_secrets(Path(place).parts[len(Path(self.root).parts) :]):
            self.problems.append(f"@{path}: it may hold secrets, which no prompt does")
        elif place not in self.seen:
            self.seen.add(place)
            self.add(path, self.files.read(os.path.normpath(folder / path)), depth)

    def add(self, path: str, file: FileText, depth: int) -> None:
        size = len(file.text.encode("utf-8", "surrogatepass"))
        if file.is_missing:
            self.problems.append(f"@{path}: there is no such file")
        elif not file.text.strip():
            self.problems.append(f"@{path}: {file.problem}")
        elif size > self.room or len(self.found) == COUNT_LIMIT:
            self.problems.append(
                f"@{path}: left out, past {COUNT_LIMIT} files or {BYTES_LIMIT // 1024} KB of references"
            )
        else:
            self.room -= size
            self.found.append(file)
            self.visit(file, depth - 1)

"""Follow the `@path` lines of AGENTS.md: a line that is nothing but `@relative/path` pulls that file in."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shipmate.workspace.file import FileCache, FileText

COUNT_LIMIT = 50
DEPTH_LIMIT = 5
BYTES_LIMIT = 256 * 1024

_LINE = re.compile(r"@(\S(?:.*\S)?)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


def find_references(text: str) -> list[str]:
    """List the paths of `@path` lines, outside of code blocks, each once."""
    found: dict[str, None] = {}
    fence = ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and (match := _LINE.fullmatch(line.strip())):
            found.setdefault(match[1])
    return list(found)


def follow(file: FileText, root: Path, files: FileCache) -> tuple[list[FileText], list[str]]:
    """Read the files a text refers to, and those they refer to; give them and what went wrong."""
    walk = _Walk(root, files)
    walk.seen.add(os.path.realpath(file.path))
    walk.visit(file, DEPTH_LIMIT)
    return walk.found, walk.problems


def find_places(file: FileText, root: Path, files: FileCache) -> set[str]:
    """Return the real paths a text refers to, directly or not, whether there is such a file yet or not."""
    walk = _Walk(root, files)
    walk.visit(file, DEPTH_LIMIT)
    return walk.seen


class _Walk:
    """Collect references, each file once, within the limits."""

    def __init__(self, root: Path, files: FileCache) -> None:
        self.root = os.path.realpath(root)
        self.files = files
        self.found: list[FileText] = []
        self.problems: list[str] = []
        self.seen: set[str] = set()
        self.room = BYTES_LIMIT

    def visit(self, file: FileText, depth: int) -> None:
        for path in find_references(file.text):
            if depth == 0:
                self.problems.append(f"@{path}: references go deeper than {DEPTH_LIMIT} files")
                return
            self.take(path, Path(file.path).parent, depth)

    def take(self, path: str, folder: Path, depth: int) -> None:
        place = os.path.realpath(folder / path) if "\0" not in path else ""
        if path.startswith("~") or Path(path).is_absolute() or not place.startswith(f"{self.root}{os.sep}"):
            self.problems.append(f"@{path}: outside the workspace")
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

"""Find words in the files of a workspace that tell something: memory and priming scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from shipmate.memory.reader import MemoryReader
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.workspace.file import FileCache, FileText
from shipmate.workspace.layout import Layout
from shipmate.workspace.member import Member


class FileHit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A line that holds the words: of a memory file, named from the workspace, or of a script, by its ref."""

    kind: Literal["memory", "script"]
    path: str
    line: int
    text: str


def search_lines(
    kind: Literal["memory", "script"], files: Iterable[tuple[str, str]], query: str
) -> Iterator[FileHit]:
    """Find the lines of files, by their names, that hold all words of a query, in capitals or not."""
    words = query.casefold().split()
    if not words:
        return
    for path, text in files:
        if not all(word in text.casefold() for word in words):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if all(word in line.casefold() for word in words):
                yield FileHit(kind=kind, path=path, line=number, text=line.strip())


def search_files(layout: Layout, members: Iterable[Member], query: str, limit: int) -> list[FileHit]:
    """Search the memory of all and every script, for whoever the workspace belongs to."""
    files = FileCache(layout.root)
    crew = list(members)
    memory: dict[str, FileText] = {}
    for member in crew:
        for each in MemoryReader(layout, files, member.own).every("", ""):
            memory[each.path] = each
    for path in sorted(layout.user_memory("x").parent.glob("*.md")):
        memory[str(path)] = files.read(path)
    library = Library(layout)
    refs = dict.fromkeys(each.script_ref for member in crew for each in library.list(member.id).entries)
    scripts = ((ref, files.read(ScriptRef.parse(ref).path(layout)).text) for ref in refs)
    found = [
        *search_lines(
            "memory", ((layout.name_of(Path(at)), each.text) for at, each in memory.items()), query
        ),
        *search_lines("script", scripts, query),
    ]
    return found[:limit]

"""Find passages in the folders that are a member's knowledge, each with the place to cite."""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.documents.citing import CitedPassage, split_text, split_units
from shipmate.documents.document import DOCUMENT_LIMIT, kind_of, may_be_document, read_whole
from shipmate.errors import DecodingError, ToolError
from shipmate.store.sqlite.search import tokens
from shipmate.tools.file.confine import read_up_to
from shipmate.tools.file.read import labels_by_path
from shipmate.tools.file.search.tree import files_below
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult

FILE_COUNT = 2_000
TEXT_LIMIT = 2_000_000
PASSAGE_COUNT = 20_000
# What is not read by then is read by the next search.
SECONDS = 20.0

# In a small folder a word of a question may be rare, and still says nothing.
COMMON = frozenset(
    tokens(
        "a an and are as at be by can do does for from how i in is it many much my of on or our that the this"
        " to was we what when where which who why will with you"
    )
)
# Orders passages by how well they answer words, best first; those that do not are left out.
Ranking = Callable[[Sequence[CitedPassage], str], list[CitedPassage]]


class SearchKnowledgeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=1, max_length=1_000)]
    count: Annotated[int, Meta(ge=1, le=20)] = 5


class Knowledge(msgspec.Struct, frozen=True):
    """The passages of some folders, and what could not be read."""

    passages: list[CitedPassage]
    troubles: list[str]


class KnowledgeFolders:
    """Folders as passages; a file is taken apart once for as long as it stays as it is."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._known: dict[str, tuple[tuple[int, int, int], list[CitedPassage], str]] = {}

    def read(self, context: ToolContext) -> Knowledge:
        """Read what changed, within a limit of time; the rest is read another time."""
        until = time.monotonic() + SECONDS
        passages: list[CitedPassage] = []
        troubles: list[str] = []
        seen: set[str] = set()
        late = 0
        for path, handle in self._files(context, troubles):
            status = os.fstat(handle)
            mark = status.st_ino, status.st_mtime_ns, status.st_size
            if len(seen) >= FILE_COUNT or len(passages) >= PASSAGE_COUNT:
                troubles.append(
                    f"more than {FILE_COUNT:,} files or {PASSAGE_COUNT:,} passages: the rest is left out"
                )
                break
            known = self._known.get(path)
            if known is None or known[0] != mark:
                if time.monotonic() > until:
                    late += 1
                    continue
                known = self._known[path] = mark, *_read_file(path, handle)
            seen.add(path)
            passages += known[1]
            if known[2]:
                troubles.append(known[2])
        if late:
            troubles.append(f"{late} files are not read yet: search again")
        else:
            self._known = {path: known for path, known in self._known.items() if path in seen}
        return Knowledge(passages[:PASSAGE_COUNT], troubles)

    def _files(self, context: ToolContext, troubles: list[str]) -> Iterator[tuple[str, int]]:
        for folder in self._folders:
            try:
                for file in files_below(context.folder, folder):
                    yield file.path, file.handle
            except ToolError as error:
                troubles.append(str(error))


def _read_file(path: str, handle: int) -> tuple[list[CitedPassage], str]:
    """Return the passages of a file, and why it has none."""
    data = read_up_to(handle, DOCUMENT_LIMIT + 1)
    name = path.rpartition("/")[2]
    kind = kind_of(data) if may_be_document(data) else None
    if kind is None:
        is_text = b"\0" not in data[:8192]
        return (
            list(split_text(path, clean(data[:TEXT_LIMIT].decode("utf-8", "replace")))) if is_text else []
        ), ""
    if len(data) > DOCUMENT_LIMIT:
        return [], f"{path} is larger than {DOCUMENT_LIMIT // 1_000_000} MB and was left out"
    try:
        unit_name, units = read_whole(data, kind, name, TEXT_LIMIT)
    except DecodingError as error:
        return [], str(error)
    cleaned = (msgspec.structs.replace(unit, text=clean(unit.text)) for unit in units)
    return list(split_units(path, cleaned, unit_name)), ""


def rank_by_words(passages: Sequence[CitedPassage], query: str) -> list[CitedPassage]:
    """Order passages by the words of a query they hold; a word that few hold counts more."""
    said = set(tokens(query))
    # One character of Chinese says little; a word is met with and without the `s` of many.
    wanted = {each.removesuffix("s") if len(each) > 3 else each for each in said - COMMON or said}
    texts = [f"{each.citation}\n{each.text}".lower() for each in passages]
    words = "|".join(re.escape(term) for term in wanted if term.isascii())
    # Whole words, without taking every passage apart.
    pattern = re.compile(rf"(?<![a-z0-9])(?:{words})(?=s?(?![a-z0-9]))")
    pairs = [term for term in wanted if not term.isascii() and len(term) > 1]
    held = [
        {*(pattern.findall(text) if words else ()), *(pair for pair in pairs if pair in text)}
        for text in texts
    ]
    shares = Counter(term for each in held for term in each)
    weights = {term: math.log(1 + len(passages) / count) for term, count in shares.items()}
    scored = [(sum(weights[term] for term in each), at) for at, each in enumerate(held) if each]
    return [passages[at] for _, at in sorted(scored, key=lambda each: (-each[0], each[1]))]


class SearchKnowledge(Tool[SearchKnowledgeArguments]):
    """The tool that looks things up in a member's knowledge."""

    name = "search_knowledge"
    description = "Search the knowledge base; cite the place of what you use."
    arguments = SearchKnowledgeArguments
    labels = Labels(reads_private=True)

    def __init__(self, folders: Sequence[str], ranking: Ranking = rank_by_words) -> None:
        self._folders = KnowledgeFolders(folders)
        self._ranking = ranking
        if any(labels_by_path(folder).reads_untrusted for folder in folders):
            self.labels = Labels(reads_private=True, reads_untrusted=True)

    async def run(self, arguments: SearchKnowledgeArguments, context: ToolContext) -> ToolResult:
        return ToolResult(output=await asyncio.to_thread(self._search, arguments, context))

    def _search(self, arguments: SearchKnowledgeArguments, context: ToolContext) -> str:
        known = self._folders.read(context)
        best = self._ranking(known.passages, arguments.query)[: arguments.count]
        shown = [f"[{number}] {each.citation}\n{each.text}" for number, each in enumerate(best, 1)]
        return "\n\n".join([*(shown or ["Nothing was found."]), *(f"[{each}]" for each in known.troubles)])

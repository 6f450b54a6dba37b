"""Find what is remembered for somebody's words, among what does not stand in the prompt whole."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import lru_cache

import msgspec

from shipmate.memory.memory_passage import MemoryPassage, cut_passages
from shipmate.memory.reader import MemoryReader
from shipmate.recall.text_ranking import Ranked, Ranking
from shipmate.recall.vector import load_vectors
from shipmate.values.message import estimate_tokens
from shipmate.workspace.file import FileText

# The right one is often not the first: a model is handed several.
RECALLED = 8
# So few passages are found by their words; loading vectors would take longer than reading them all.
FEW_PASSAGES = 30
# How often files are looked at: a memory may have thousands, and what was just said is in the thread anyway.
LOOK_SECONDS = 2.0
# For how many people what was read is kept, beside the one who speaks.
KEPT = 3


class Recalled(msgspec.Struct, frozen=True):
    """A passage that was found, and why."""

    passage: MemoryPassage
    ranked: Ranked

    @property
    def reason(self) -> str:
        """Say why the passage was found."""
        words = ", ".join(self.ranked.words[:4])
        alike = f"{round(self.ranked.alike * 100)} % alike" if self.ranked.alike > 0 else ""
        return f"{self.passage.path} ({', '.join(filter(None, (words, alike)))})"


class MemoryRecall:
    """What one member remembers, indexed once per change."""

    def __init__(self, reader: MemoryReader, root: str) -> None:
        self._reader = reader
        self._root = f"{root}/"
        self._looked: dict[tuple[str, str], tuple[float, list[FileText]]] = {}
        self._indexed: dict[tuple[int, ...], tuple[list[FileText], list[MemoryPassage], Ranking]] = {}

    def find(
        self, query: str, platform: str, user_id: str, shown: Collection[str], room: int
    ) -> list[Recalled]:
        """Return the passages that best meet a query within a number of tokens.

        Only the member's own memory, the project's and that of this person are looked at; of those, files
        that are `shown` whole are left out.
        """
        if not query.strip():
            return []
        files = [each for each in self._look(platform, user_id) if each.path not in shown]
        passages, ranking = self._index(files)
        if not passages:
            return []
        vectors = load_vectors() if len(passages) > FEW_PASSAGES else None
        found: list[Recalled] = []
        for ranked in ranking.rank(query, vectors, RECALLED):
            room -= estimate_tokens(str(passages[ranked.place])) + 2
            if room < 0:
                break
            found.append(Recalled(passages[ranked.place], ranked))
        return found

    def _look(self, platform: str, user_id: str) -> list[FileText]:
        now = time.monotonic()
        looked, files = self._looked.get((platform, user_id), (-LOOK_SECONDS, []))
        if now - looked >= LOOK_SECONDS:
            files = self._reader.every(platform, user_id)
            self._looked = {**dict(list(self._looked.items())[-KEPT:]), (platform, user_id): (now, files)}
        return files

    def _index(self, files: list[FileText]) -> tuple[list[MemoryPassage], Ranking]:
        # The same object is given until a file changes, and is kept here: its id is no other's.
        key = tuple(map(id, files))
        if key not in self._indexed:
            passages = [each for file in files for each in _cut(file, self._root)]
            ranking = Ranking([each.text for each in passages], [each.heading for each in passages])
            self._indexed = {**dict(list(self._indexed.items())[-KEPT:]), key: (files, passages, ranking)}
        return self._indexed[key][1:]


@lru_cache(maxsize=4096)
def _cut(file: FileText, root: str) -> list[MemoryPassage]:
    return cut_passages(file.path.removeprefix(root), file.text)

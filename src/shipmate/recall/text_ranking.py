"""Rank texts by how well they meet somebody's words: by the words, and by meaning where vectors are there.

Words are weighed by BM25, over words and, for Chinese, over characters and pairs of neighbours. To the
cosine of two texts this adds a little: a word that both have tells more than that both are about work.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from heapq import nsmallest
from importlib.resources import files

import msgspec

from shipmate.recall.vector import Vectors, WordVectors
from shipmate.store.sqlite.search import FIRST_CJK, tokens

# A pasted document says no more about what is wanted than its beginning does.
QUERY_LIMIT = 2_000
# What a word in a name says more than one in the text below it.
NAME_WEIGHT = 3
SATURATION, LENGTH = 1.2, 0.75
WORD_SHARE = 0.03
# Below this two short texts are no more alike than any two.
LEAST_ALIKE = 0.2
_ENDING = re.compile(r"(?<=\w{3})(?:ing|edly|ed|es|s|ly)$", re.ASCII)


class Ranked(msgspec.Struct, frozen=True):
    """A text that was found: its place, how well it does, and why."""

    place: int
    score: float
    # The words it has of those that were looked for, the rarest first.
    words: tuple[str, ...] = ()
    # How alike the meanings are; 0 when that was not looked at.
    alike: float = 0.0


@cache
def _stop() -> frozenset[str]:
    return frozenset(files("shipmate.recall").joinpath("stop.txt").read_text("utf-8").split())


@lru_cache(maxsize=8192)
def terms(text: str) -> tuple[str, ...]:
    """Return what of a text tells it from others: words without their endings, characters and pairs."""
    found: list[str] = []
    stop = _stop()
    for token in tokens(text):
        if token[0] < FIRST_CJK:
            if token not in stop:
                found.append(_ENDING.sub("", token))
            continue
        if token[0] not in stop:
            found.append(token[0])
        if len(token) == 2 and not stop.issuperset(token):
            found.append(token)
    return tuple(found)


class Ranking:
    """Some texts, ready to be ranked again and again."""

    def __init__(self, texts: Sequence[str], names: Sequence[str] = ()) -> None:
        """Take texts; the words of their names count more."""
        self.texts = texts
        self._names = names
        self._vectors: tuple[Vectors, object] | None = None
        held = [Counter(terms(text)) for text in texts]
        for place, name in enumerate(names):
            held[place].update(dict.fromkeys(terms(name), NAME_WEIGHT))
        mean = sum(map(Counter.total, held)) / max(1, len(held)) or 1.0
        self._places: dict[str, list[tuple[int, float]]] = {}
        for place, counts in enumerate(held):
            drag = SATURATION * (1 - LENGTH + LENGTH * counts.total() / mean)
            for term, count in counts.items():
                weight = count * (SATURATION + 1) / (count + drag)
                self._places.setdefault(term, []).append((place, weight))

    def rank(self, query: str, vectors: Vectors | None = None, limit: int | None = None) -> list[Ranked]:
        """Return the texts that meet a query, the best first; equals keep their order."""
        said = query[:QUERY_LIMIT]
        scores: dict[int, float] = {}
        shared: dict[int, list[tuple[float, str]]] = {}
        for term in dict.fromkeys(terms(said)):
            places = self._places.get(term, ())
            rarity = math.log(1 + (len(self.texts) - len(places) + 0.5) / (len(places) + 0.5))
            for place, weight in places:
                scores[place] = scores.get(place, 0.0) + rarity * weight
                shared.setdefault(place, []).append((-rarity, term))
        alike = self._compare(said, vectors)
        if alike is not None:
            near = {
                place: value for place, value in enumerate(alike) if value >= LEAST_ALIKE or place in scores
            }
            scores = {place: value + WORD_SHARE * scores.get(place, 0.0) for place, value in near.items()}
        best = nsmallest(limit or len(scores), scores, key=lambda place: (-scores[place], place))
        return [
            Ranked(
                place,
                scores[place],
                tuple(term for _, term in sorted(shared.get(place, ()))),
                alike[place] if alike is not None else 0.0,
            )
            for place in best
        ]

    def _compare(self, said: str, vectors: Vectors | None) -> list[float] | None:
        if vectors is None or not self.texts or not said.strip():
            return None
        if self._vectors is None or self._vectors[0] is not vectors:
            names = [f"{name}: " if name else "" for name in self._names] or [""] * len(self.texts)
            whole = [name + text for name, text in zip(names, self.texts, strict=True)]
            self._vectors = (vectors, vectors.make(whole))
        return vectors.compare(self._vectors[1], said)


def loaded_vectors() -> Vectors | None:
    """Return the vectors of the extra `recall` if something needed them already: nobody waits here."""
    return WordVectors.loaded

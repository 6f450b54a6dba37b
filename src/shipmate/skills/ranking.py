"""Rank skills by how well their names and descriptions meet a person's words."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from shipmate.skills.skill import Skill

NAME_WEIGHT = 3.0
# A pasted document says no more about what is wanted than its beginning does.
QUERY_LIMIT = 2_000

_WORD = re.compile(r"[a-z0-9]{2,}")
# Compiled when first needed: a class of so many characters takes milliseconds.
_IDEOGRAPHS = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"


@lru_cache(maxsize=2048)
def terms(text: str) -> frozenset[str]:
    """Return the words of a text, and the pairs of neighbours where it is written without spaces."""
    lowered = text.lower()
    found = {_stem(word) for word in _WORD.findall(lowered)}
    for run in () if lowered.isascii() else re.findall(_IDEOGRAPHS, lowered):
        found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return frozenset(found)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


@lru_cache(maxsize=16)
def _index(skills: tuple[Skill, ...]) -> dict[str, list[tuple[int, float]]]:
    """Note, for each term, the skills that have it and what it says for them."""
    found: dict[str, list[tuple[int, float]]] = {}
    for at, skill in enumerate(skills):
        name = terms(skill.name)
        for term in name | terms(skill.description):
            found.setdefault(term, []).append((at, NAME_WEIGHT if term in name else 1.0))
    # A word that many skills share tells them apart the less.
    return {
        term: [(at, weight * math.log(1 + len(skills) / len(places))) for at, weight in places]
        for term, places in found.items()
    }


def rank(skills: tuple[Skill, ...], text: str) -> list[Skill]:
    """Order skills by relevance to a text; those it does not touch keep their order at the end."""
    index = _index(skills)
    scores = [0.0] * len(skills)
    for term in sorted(terms(text[:QUERY_LIMIT])):
        for at, weight in index.get(term, ()):
            scores[at] += weight
    return [skills[at] for at in sorted(range(len(skills)), key=lambda at: -scores[at])]

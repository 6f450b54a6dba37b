"""Rank skills by how well their names and descriptions meet a person's words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from shipmate.skills.skill import Skill

NAME_WEIGHT = 3.0
# A pasted document says no more about what is wanted than its beginning does.
QUERY_LIMIT = 2_000

_WORD = re.compile(r"[a-z0-9]{2,}")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@lru_cache(maxsize=2048)
def terms(text: str) -> frozenset[str]:
    """Give the words of a text, and the pairs of neighbours where it is written without spaces."""
    lowered = text.lower()
    found = {_stem(word) for word in _WORD.findall(lowered)}
    for run in _IDEOGRAPHS.findall(lowered):
        found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return frozenset(found)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def rank(skills: Sequence[Skill], text: str) -> list[Skill]:
    """Order skills by relevance to a text; those it does not touch keep their order at the end."""
    wanted = terms(text[:QUERY_LIMIT])
    if not wanted:
        return list(skills)
    names = [wanted & terms(skill.name) for skill in skills]
    words = [wanted & terms(skill.description) for skill in skills]
    count = Counter(term for name, word in zip(names, words, strict=True) for term in name | word)
    # A word that many skills share tells them apart the less.
    weight = {term: math.log(1 + len(skills) / number) for term, number in count.items()}
    scores = [
        NAME_WEIGHT * sum(weight[term] for term in name) + sum(weight[term] for term in word)
        for name, word in zip(names, words, strict=True)
    ]
    order = sorted(range(len(skills)), key=lambda at: (-scores[at], at))
    return [skills[at] for at in order]

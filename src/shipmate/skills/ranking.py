"""Rank skills by how well their names and descriptions meet a person's words."""

from __future__ import annotations

from functools import lru_cache

from shipmate.recall.text_ranking import Ranking, loaded_vectors
from shipmate.skills.skill import Skill


@lru_cache(maxsize=16)
def _index(skills: tuple[Skill, ...]) -> Ranking:
    return Ranking([each.description for each in skills], [each.name for each in skills])


def rank(skills: tuple[Skill, ...], text: str) -> list[Skill]:
    """Order skills by relevance to a text; those it does not touch keep their order at the end."""
    found = [skills[each.place] for each in _index(skills).rank(text, loaded_vectors())]
    touched = set(map(id, found))
    return [*found, *(each for each in skills if id(each) not in touched)]

"""Find the key somebody meant who misspelt it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEPARATOR = re.compile(r"[^a-z0-9]+")
# How many slips are taken for one: none in the shortest words, where anything is near.
_SHORT, _LONG = 4, 8


def find_near(name: str, known: Iterable[str]) -> str:
    """Return the known key that a name is a slip of, "" when it is none."""
    given = _SEPARATOR.sub("", name.lower())
    for key in known:
        wanted = _SEPARATOR.sub("", key.lower())
        slips = 2 if len(wanted) >= _LONG else 1 if len(wanted) >= _SHORT else 0
        if given and abs(len(given) - len(wanted)) <= slips and count_slips(given, wanted, slips) <= slips:
            return key
    return ""


def count_slips(given: str, wanted: str, limit: int) -> int:
    """Count the letters that are missing, too many, wrong or swapped; stop counting above `limit`."""
    before: list[int] = []
    row = list(range(len(wanted) + 1))
    for at, letter in enumerate(given, 1):
        older, before, row = before, row, [at]
        for place, other in enumerate(wanted, 1):
            best = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != other))
            if older and place > 1 and letter == wanted[place - 2] and given[at - 2] == other:
                best = min(best, older[place - 2] + 1)
            row.append(best)
        if min(row) > limit:
            return limit + 1
    return row[-1]

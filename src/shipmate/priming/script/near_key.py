"""Find the key somebody meant who misspelt it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SEPARATOR = re.compile(r"[^a-z0-9]+")
# Letters of other alphabets that look like Latin ones; wide and ornate forms are folded before.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb\u04cf\u043c\u0442\u043a\u0432\u043d"
    "\u03b1\u03b5\u03bf\u03c1\u03b9\u03bd\u03ba\u03c4\u03c5\u03c7\u0131\u0261\u026a\u029f",
    "aeopcyxisjdhlmtkbhaeopivktuxigil",
)
# How many slips are taken for one: none in the shortest words, where anything is near.
_SHORT, _LONG = 4, 8


def find_near(name: str, known: Iterable[str]) -> str:
    """Return the known key that a name is a slip of, "" when it is none."""
    given = fold_key(name)
    for key in known:
        wanted = fold_key(key)
        slips = 2 if len(wanted) >= _LONG else 1 if len(wanted) >= _SHORT else 0
        if given and abs(len(given) - len(wanted)) <= slips and count_slips(given, wanted, slips) <= slips:
            return key
    return ""


def fold_key(name: str) -> str:
    """Return the letters and digits of a key as people see them."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name).lower().translate(_LOOK_ALIKES)
    return _SEPARATOR.sub("", name.lower())


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

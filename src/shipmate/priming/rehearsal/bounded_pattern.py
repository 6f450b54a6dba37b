"""Search with patterns that a script's author wrote, within bounds: no pattern may hold a rehearsal up."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

from shipmate.errors import PrimingError

LENGTH_LIMIT = 1_000
TEXT_LIMIT = 1_000_000
# Repetitions inside repetitions are unrolled when a pattern is made ready; a million takes about a second.
REPEAT_LIMIT = 1_000_000
SECONDS = 0.5
_REPEATS = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)")


class SlowPatternError(PrimingError):
    """That pattern takes too long. Write a simpler one, or `contains`."""


@lru_cache(maxsize=256)
def read_pattern(text: str) -> Any:
    """Make a pattern ready; raise `PrimingError` for one that is wrong or repeats too much."""
    import regex

    if len(text) > LENGTH_LIMIT:
        raise PrimingError(f"the pattern has {len(text)} characters; at most {LENGTH_LIMIT} are allowed")
    if _count_repeats(text) > REPEAT_LIMIT:
        raise PrimingError(f"the pattern {text!r} repeats too much. Write a simpler one")
    try:
        # `.` covers line ends, because answers have many lines.
        return regex.compile(text, regex.DOTALL | regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise PrimingError(f"{text!r} is not a regular expression: {error}") from error


def _count_repeats(text: str) -> int:
    # As if each stood inside the other: never less than what is unrolled.
    counts = (max(int(number[:9] or 1) for number in found) for found in _REPEATS.findall(text))
    return math.prod(max(count, 1) for count in counts)


def find_pattern(pattern: str, text: str) -> bool:
    """Return whether a pattern occurs in a text; raise `SlowPatternError` when that takes too long."""
    if len(text) > TEXT_LIMIT:
        raise SlowPatternError(f"the text has {len(text)} characters; {TEXT_LIMIT} can be searched")
    try:
        return read_pattern(pattern).search(text, timeout=SECONDS) is not None
    except TimeoutError:
        problem = f"the pattern {pattern!r} takes too long. Write a simpler one, or `contains`"
        raise SlowPatternError(problem) from None

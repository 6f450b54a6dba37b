"""Regular expressions: those of ours are compiled when first used, those of others searched within bounds."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, cast

from shipmate.errors import PatternError, SlowPatternError

LENGTH_LIMIT = 1_000
TEXT_LIMIT = 1_000_000
# Repetitions inside repetitions are unrolled when a pattern is made ready; a million takes about a second.
REPEAT_LIMIT = 1_000_000
SECONDS = 0.5
_REPEATS = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)")


class _Pattern:
    """A pattern in waiting; its methods are those of the compiled one."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        # From now on found without coming here.
        setattr(self, name, found)
        return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that costs nothing until it is used: some take a millisecond to compile."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


@lru_cache(maxsize=256)
def read_pattern(text: str, *, spans_lines: bool = False) -> Any:
    """Make a pattern of others ready; with `spans_lines`, `.` covers line ends and `^` begins each line.

    Raise `PatternError` for one that is wrong or repeats too much.
    """
    import regex

    if len(text) > LENGTH_LIMIT:
        raise PatternError(f"the pattern has {len(text)} characters; at most {LENGTH_LIMIT} are allowed")
    if _count_repeats(text) > REPEAT_LIMIT:
        raise PatternError(f"the pattern {text!r} repeats too much. Write a simpler one")
    try:
        return regex.compile(text, regex.DOTALL | regex.MULTILINE if spans_lines else 0)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise PatternError(f"{text!r} is not a regular expression: {error}") from error


def find_pattern(pattern: str, text: str, *, spans_lines: bool = False) -> bool:
    """Return whether a pattern of others is in a text; raise `SlowPatternError` when that takes too long."""
    if len(text) > TEXT_LIMIT:
        raise SlowPatternError(f"the text has {len(text)} characters; {TEXT_LIMIT} can be searched")
    try:
        return read_pattern(pattern, spans_lines=spans_lines).search(text, timeout=SECONDS) is not None
    except TimeoutError:
        raise SlowPatternError(f"the pattern {pattern!r} takes too long. Write a simpler one") from None


def _count_repeats(text: str) -> int:
    # As if each stood inside the other: never less than what is unrolled.
    counts = (max(int(number[:9] or 1) for number in found) for found in _REPEATS.findall(text))
    return math.prod(max(count, 1) for count in counts)

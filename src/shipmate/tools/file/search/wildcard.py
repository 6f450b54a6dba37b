"""Match paths against patterns: `*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from shipmate.errors import ToolError

BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
ALTERNATIVES_LIMIT = 64
# Making an expression of a longer one can take seconds.
PATTERN_LIMIT = 1_000


class Wildcard:
    """One pattern, ready to match."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > PATTERN_LIMIT:
            raise ToolError(f"The pattern of paths is longer than {PATTERN_LIMIT} characters.")
        if "\0" in pattern or ".." in pattern.split("/"):
            raise ToolError(f"{pattern!r} is not a pattern of paths inside the workspace.")
        self._alternatives = [_segments(each) for each in expand(pattern)]

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether a path, given as its names, fits."""
        return any(_fits(segments, parts) for segments in self._alternatives)


def expand(pattern: str) -> list[str]:
    """Write out the alternatives in braces."""
    patterns = [pattern]
    while any(BRACES.search(each) for each in patterns):
        patterns = [longer for each in patterns for longer in _expand_first(each)]
        if len(patterns) > ALTERNATIVES_LIMIT:
            raise ToolError(f"{pattern!r} has more than {ALTERNATIVES_LIMIT} alternatives.")
    return patterns


def _expand_first(pattern: str) -> list[str]:
    found = BRACES.search(pattern)
    if found is None:
        return [pattern]
    return [pattern[: found.start()] + choice + pattern[found.end() :] for choice in found[1].split(",")]


def _segments(pattern: str) -> list[re.Pattern[str] | None]:
    """Compile each name of a pattern; None stands for `**`."""
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    # fnmatch's expressions do not backtrack from star to star, so a hostile pattern stays fast.
    return [None if name == "**" else re.compile(fnmatch.translate(name)) for name in names]


def _fits(segments: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    # reached[i]: the first i segments can have matched the parts seen so far.
    reached = _skip_folders(segments, [True, *[False] * len(segments)])
    for part in parts:
        step = [False] * (len(segments) + 1)
        for index, segment in enumerate(segments):
            if not reached[index]:
                continue
            if segment is None:
                step[index] = True
            elif segment.match(part):
                step[index + 1] = True
        if True not in step:
            return False
        reached = _skip_folders(segments, step)
    return reached[-1]


def _skip_folders(segments: Sequence[re.Pattern[str] | None], reached: list[bool]) -> list[bool]:
    """Let `**` stand for no folder at all."""
    for index, segment in enumerate(segments):
        if segment is None and reached[index]:
            reached[index + 1] = True
    return reached

"""Show how a text changes."""

from __future__ import annotations

import difflib

# Above this many line pairs a line-by-line comparison takes too long; the changed stretch is shown as one.
WORK_LIMIT = 4_000_000


def unified(path: str, old: str, new: str) -> str:
    """Give the whole change in unified form."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    same = _common(before, after)
    until = _common(before[same:][::-1], after[same:][::-1])
    if (len(before) - same - until) * (len(after) - same - until) > WORK_LIMIT:
        lines = _replace(path, before, after, same, until)
    else:
        lines = list(difflib.unified_diff(before, after, path, path))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def summary(old: str, new: str) -> str:
    """Count the lines added and removed."""
    changes = [line for line in unified("", old, new).splitlines()[2:] if line[:1] in ("+", "-")]
    added = sum(line.startswith("+") for line in changes)
    return f"+{added} −{len(changes) - added} lines"


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _replace(path: str, before: list[str], after: list[str], same: int, until: int) -> list[str]:
    gone, come = before[same : len(before) - until], after[same : len(after) - until]
    place = f"@@ -{same + 1},{len(gone)} +{same + 1},{len(come)} @@\n"
    return [
        f"--- {path}\n",
        f"+++ {path}\n",
        place,
        *(f"-{line}" for line in gone),
        *(f"+{line}" for line in come),
    ]

"""Show how a text changes."""

from __future__ import annotations

import difflib

# Above this many line pairs a line-by-line comparison takes too long; the changed stretch is shown as one.
WORK_LIMIT = 4_000_000
# Above this many lines even splitting the texts takes hundreds of MB; both are shown whole.
LINE_LIMIT = 400_000


def unified(path: str, old: str, new: str) -> str:
    """Return the whole change in unified form."""
    if old.count("\n") + new.count("\n") > LINE_LIMIT:
        return _show_both(path, old, new)
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
    if old.count("\n") + new.count("\n") > LINE_LIMIT:
        gone, come = (text.count("\n") + (not text.endswith("\n")) for text in (old, new))
        return f"+{come} −{gone} lines"
    changes = [line for line in unified("", old, new).splitlines()[2:] if line[:1] in ("+", "-")]
    added = sum(line.startswith("+") for line in changes)
    return f"+{added} −{len(changes) - added} lines"


def _show_both(path: str, old: str, new: str) -> str:
    lines = [text.count("\n") + (not text.endswith("\n")) for text in (old, new)]
    return "".join(
        (
            f"--- {path}\n+++ {path}\n@@ -1,{lines[0]} +1,{lines[1]} @@\n",
            _mark("-", old),
            _mark("+", new),
        )
    )


def _mark(mark: str, text: str) -> str:
    """Put a mark before every line of a text."""
    if not text:
        return ""
    end = "" if text.endswith("\n") else "\n\\ No newline at end of file\n"
    return mark + text.removesuffix("\n").replace("\n", f"\n{mark}") + (end or "\n")


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

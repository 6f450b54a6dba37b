"""Mend a script as far as that is mechanical."""

from __future__ import annotations

from shipmate.priming.lint.lint import lint_script
from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.lint.mend import MendEffort, split_lines
from shipmate.priming.script.line_end import restore_ends
from shipmate.priming.script.parse import scan_script

# Mending one thing may show the next; no script needs as many rounds.
ROUNDS = 20
# Some seconds; what is left then, the next time mends.
EFFORT = 8_000_000


def fix_script(text: str) -> str:
    """Return a script with all mended that does not take a person; never one that reads worse than before."""
    lines = split_lines(text)
    marks = lint_script(text)
    effort = MendEffort(EFFORT)
    for _ in range(ROUNDS):
        mended = _mend(lines, marks, effort)
        if mended == lines:
            break
        lines, marks = mended, lint_script("\n".join(mended))
    fixed = "\n".join(lines)
    if lines == split_lines(text) or _standing(fixed, marks) > _standing(text, lint_script(text)):
        return text
    return restore_ends(text, fixed)


def _mend(lines: list[str], marks: list[Mark], effort: MendEffort) -> list[str]:
    """Mend from the end, so that what is added moves nothing that is still to be mended."""
    for mark in reversed(marks):
        mended = effort.mend(mark, lines)
        lines = lines if mended is None else mended
    return lines


def _standing(text: str, marks: list[Mark]) -> tuple[int, int, int]:
    """Return how bad a script is: what hides the rest of it counts before what it hid."""
    scan = scan_script(text)
    # Contradictions are looked for when every record can be read, so they come to light with the mending.
    problems = sum(problem.rule != "contradiction" for problem in scan.problems)
    return scan.unread, problems, sum(mark.level == "error" for mark in marks)

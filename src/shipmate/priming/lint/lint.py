"""Find everything that is wrong with a script."""

from __future__ import annotations

import msgspec

from shipmate.priming.lint.lint_mark import Mark, mark_error
from shipmate.priming.lint.mend import MendEffort, split_lines
from shipmate.priming.lint.oddity import find_oddities
from shipmate.priming.lint.pairing import find_shared, find_unpaired
from shipmate.priming.lint.stray import find_strays
from shipmate.priming.rehearsal.recorded import check_expects
from shipmate.priming.script.parse import scan_script
from shipmate.priming.script.record import Script, ScriptError

# About a second: people wait for marks while they type.
EFFORT = 2_000_000
_EXPECT = "Write what is expected as docs/rehearsal.md shows it, or take `expect` out"


def mark_expect(error: ScriptError) -> Mark:
    """Return the mark of an `expect` that no rehearsal understands."""
    _, _, hint = error.problem.partition(". ")
    return msgspec.structs.replace(mark_error(error), rule="expect", mend=hint or _EXPECT)


def lint_script(text: str, name: str = "") -> list[Mark]:
    """List what is wrong with a script, in the order of its lines.

    Errors keep it from being read, or lose what was meant; of the rest it is only said. `name` is what the
    file is called.
    """
    scan = scan_script(text, name)
    lines = split_lines(text)
    marks = [mark_error(error) for error in scan.problems]
    known = {mark.line for mark in marks}
    marks += [mark for mark in find_strays(lines, scan) if mark.line not in known]
    marks += find_oddities(scan, lines)
    if not scan.problems:
        # A record that could not be read would leave others alone that are not.
        marks += [*find_unpaired(scan.records), *find_shared(scan.records)]
        script = Script(scan.frontmatter, list(scan.records.values()))
        marks += [mark_expect(error) for error in check_expects(script)]
    found = sorted(marks, key=lambda mark: (mark.line, mark.record))
    effort = MendEffort(EFFORT)
    return [msgspec.structs.replace(mark, can_fix=effort.mend(mark, lines) is not None) for mark in found]

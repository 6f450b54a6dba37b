"""Describe what is wrong at one place of a script."""

from __future__ import annotations

from typing import Literal

import msgspec

from shipmate.priming.script.record import ScriptError


class Mark(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that is wrong: where, why, what to do, and whether `--fix` does it. Lines count from 1."""

    line: int
    record: int
    level: Literal["error", "warning"]
    rule: str
    reason: str
    mend: str
    can_fix: bool = False


def mark_error(error: ScriptError) -> Mark:
    """Return the mark of a mistake that keeps a script from being read."""
    reason, _, mend = error.problem.partition(". ")
    if not mend and " must be " in reason:
        mend = f"Write {reason.partition(' must be ')[2]}"
    return Mark(
        line=max(error.line, 1), record=error.record, level="error", rule=error.rule, reason=reason, mend=mend
    )

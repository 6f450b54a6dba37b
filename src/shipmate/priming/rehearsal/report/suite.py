"""Sum up the rehearsals of several scripts, each held once or several times."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shipmate.priming.rehearsal.report.rehearsal_report import RehearsalVerdict, Report

# What a command ends with; the first that any script has counts.
EXIT_CODES: dict[RehearsalVerdict, int] = {"broken": 3, "unusable": 4, "differs": 1, "same": 0}


class RehearsedScript(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The rehearsals of one script, and whether enough of them were as recorded."""

    ref: str
    verdict: RehearsalVerdict
    passed: int
    runs: int
    pass_rate: float
    reports: list[Report]

    @property
    def reason(self) -> str:
        """Return why the first rehearsal that was not as recorded was not."""
        return next((report.reason for report in self.reports if report.verdict != "same"), "")


class RehearsalSuite(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All scripts of one command."""

    verdict: RehearsalVerdict
    scripts: list[RehearsedScript]

    @property
    def exit_code(self) -> int:
        """Return what a command ends with."""
        return EXIT_CODES[self.verdict]


def sum_script(ref: str, reports: Sequence[Report], needed: float = 1.0) -> RehearsedScript:
    """Sum up the rehearsals of a script; `needed` is the share that must be as recorded."""
    passed = sum(report.verdict == "same" for report in reports)
    rate = passed / len(reports)
    worst = _worst([report.verdict for report in reports])
    # What could not be rehearsed was not passed, however many were.
    verdict: RehearsalVerdict = (
        worst if worst in ("broken", "unusable") else "same" if rate >= needed else worst
    )
    return RehearsedScript(
        ref=ref, verdict=verdict, passed=passed, runs=len(reports), pass_rate=rate, reports=list(reports)
    )


def sum_suite(scripts: Sequence[RehearsedScript]) -> RehearsalSuite:
    """Sum up several scripts."""
    return RehearsalSuite(verdict=_worst([script.verdict for script in scripts]), scripts=list(scripts))


def _worst(verdicts: Sequence[RehearsalVerdict]) -> RehearsalVerdict:
    worst: RehearsalVerdict = "same"
    for verdict in verdicts:
        worst = min(worst, verdict, key=list(EXIT_CODES).index)
    return worst

"""Sum up the rehearsals of several scripts, each held once or several times."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.report.rehearsal_report import Deviation, RehearsalVerdict, Report

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


class EqualRuns(msgspec.Struct, frozen=True):
    """Rehearsals that were not as recorded in the same way: their numbers, and the first report."""

    numbers: list[int]
    report: Report

    def name(self, runs: int) -> str:
        """Return which runs these are, of so many; "" where there is but one."""
        if runs == 1:
            return ""
        return f"{'Run' if len(self.numbers) == 1 else 'Runs'} {', '.join(map(str, self.numbers))}"


def group_runs(script: RehearsedScript) -> list[EqualRuns]:
    """Return the rehearsals that were not as recorded, equal ones together."""
    found: dict[str, EqualRuns] = {}
    for number, report in enumerate(script.reports, 1):
        if report.verdict != "same":
            same = found.setdefault(_outline(report), EqualRuns([], report))
            same.numbers.append(number)
    return list(found.values())


def _outline(report: Report) -> str:
    """Return what two reports have in common that say the same; ids and measured times do not count."""
    deviations = [
        (
            at,
            each.kind,
            each.place,
            each.kind if each.kind in ("time", "cost") else each.reason,
            *_sides(each),
        )
        for at, turn in enumerate(report.turns)
        for each in turn.deviations
    ]
    # What was said may hold characters that no JSON can.
    return repr((report.verdict, deviations or report.reason))


def _sides(deviation: Deviation) -> list[AnswerPiece | None]:
    sides = (deviation.recorded, deviation.new)
    return [side and msgspec.structs.replace(side, call_id="") for side in sides]


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

from __future__ import annotations

import pytest

from shipmate.priming.rehearsal.report.rehearsal_report import RehearsalVerdict, Report
from shipmate.priming.rehearsal.report.suite import sum_script, sum_suite


@pytest.mark.parametrize(
    ("verdicts", "needed", "verdict", "code"),
    [
        (["same"], 1.0, "same", 0),
        (["same", "differs"], 1.0, "differs", 1),
        (["same", "differs"], 0.5, "same", 0),
        (["same", "differs", "differs"], 0.5, "differs", 1),
        (["same", "unusable"], 0.5, "unusable", 4),
        (["differs", "unusable"], 0.0, "unusable", 4),
        (["broken"], 0.0, "broken", 3),
        (["unusable", "broken"], 1.0, "broken", 3),
    ],
)
def test_repeated_rehearsals_pass_by_their_rate(
    verdicts: list[RehearsalVerdict], needed: float, verdict: str, code: int
) -> None:
    script = sum_script("team_shared/a", [Report(verdict=each, reason=each) for each in verdicts], needed)
    assert (script.verdict, sum_suite([script]).exit_code) == (verdict, code)
    assert script.pass_rate == verdicts.count("same") / len(verdicts)


def test_the_worst_script_decides() -> None:
    def one(verdict: RehearsalVerdict) -> int:
        scripts = [sum_script("a", [Report(verdict=each)]) for each in ("same", verdict, "differs")]
        return sum_suite(scripts).exit_code

    assert [one("same"), one("unusable"), one("broken")] == [1, 4, 3]

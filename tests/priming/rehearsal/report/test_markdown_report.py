from __future__ import annotations

from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.report.markdown_report import write_markdown
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.priming.rehearsal.report.suite import sum_script, sum_suite
from tests.support.rehearsed import answered, as_recorded, make, parts_of, said


def test_a_table_names_every_script_and_details_follow() -> None:
    script = make(said("hi"), answered("hello"))
    performed = as_recorded(script)
    parts_of(performed)[0]["text"] = "````\nother | <b>\n````"
    text = write_markdown(
        sum_suite(
            [
                sum_script("team_shared/good", [Report(verdict="same", ms=1200, cost_usd=0.5)]),
                sum_script("team_shared/wrong", [compare(script, performed)]),
            ]
        )
    )
    assert text.startswith("# Rehearsal: not as recorded\n")
    assert "| team\\_shared/good | as recorded | 1 of 1 | 1.2 s | $0.5000 |\n" in text
    assert "| team\\_shared/wrong | not as recorded | 0 of 1 | 0.0 s |  |\n" in text
    assert "  `````\n  ````\n  other | <b>\n  ````\n  `````\n" in text
    assert "## team\\_shared/good" not in text


def test_nothing_said_becomes_markup() -> None:
    broken = Report(verdict="broken", reason="<img src=x> |\n# heading ![a](b)")
    text = write_markdown(sum_suite([sum_script("team_shared/a", [broken])]))
    assert "\\<img src=x\\> \\| \\# heading !\\[a\\](b)\n" in text

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.performed import Performed
from shipmate.priming.rehearsal.report.junit import write_junit
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.priming.rehearsal.report.suite import sum_script, sum_suite
from tests.support.rehearsed import answered, as_recorded, make, parts_of, said

HOSTILE = 'a\x00\x1b[31m]]> <b> & "quoted" \ud800 \ufffe 你好'


def read(*scripts: tuple[str, list[Report]]) -> ElementTree.Element:
    return ElementTree.fromstring(write_junit(sum_suite([sum_script(ref, found) for ref, found in scripts])))


def test_each_script_is_a_test_case() -> None:
    good = Report(verdict="same", ms=1500)
    suite = read(
        ("team_shared/a/good", [good, good]),
        ("individual/ux/wrong", [good, Report(verdict="differs", reason="turn 1: other words")]),
        ("team_shared/bad", [Report(verdict="broken", reason="line 3")]),
        ("team_shared/far", [Report(verdict="unusable", reason="no key")]),
    )[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "time")] == ["4", "1", "2", "4.500"]
    cases = list(suite)
    assert [(case.get("classname"), case.get("name")) for case in cases[:2]] == [
        ("team_shared.a", "good"),
        ("individual.ux", "wrong"),
    ]
    assert [[child.tag for child in case][1:] for case in cases] == [[], ["failure"], ["error"], ["error"]]
    assert cases[1][1].get("message") == "1 of 2 as recorded; turn 1: other words"
    assert [case[1].get("type") for case in cases[2:]] == ["broken", "unusable"]


def test_every_deviation_is_told() -> None:
    script = make(said("hi"), answered("hello"), said("and"), answered("so"))
    performed = as_recorded(script)
    parts_of(performed, 0)[0]["text"] = "other"
    parts_of(performed, 1)[0]["text"] = "other"
    failure = read(("team_shared/a", [compare(script, performed)]))[0][0][1]
    assert (failure.text or "").splitlines() == [
        "turn 1: the words: not as recorded",
        "turn 2: the words: not as recorded",
    ]


def test_whatever_is_said_the_document_can_be_read() -> None:
    broken = Report(verdict="broken", reason=HOSTILE)
    told = read(("team_shared/a", [broken]))[0][0][1]
    assert "你好" in (told.get("message") or "")
    script = make(said("hi"), answered("hello"))
    report = compare(script, Performed(unusable=HOSTILE))
    assert read(("team_shared/a", [report]))[0][0][1].tag == "error"

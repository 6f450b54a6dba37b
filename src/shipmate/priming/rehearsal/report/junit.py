"""Write rehearsals as JUnit XML, which forges read."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from shipmate.priming.rehearsal.report.suite import EqualRuns, RehearsalSuite, RehearsedScript, group_runs

# Characters that no XML document may hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(suite: RehearsalSuite) -> str:
    """Return a JUnit document with one test case for each script."""
    count = {verdict: sum(each.verdict == verdict for each in suite.scripts) for verdict in _ENDINGS}
    seconds = sum(_seconds(each) for each in suite.scripts)
    head = (
        f'<testsuite name="shipmate rehearsal" tests="{len(suite.scripts)}" failures="{count["differs"]}" '
        f'errors="{count["broken"] + count["unusable"]}" skipped="0" time="{seconds:.3f}">'
    )
    cases = "".join(map(_write_case, suite.scripts))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{head}\n{cases}</testsuite>\n</testsuites>\n'
    )


_ENDINGS = {"differs": "failure", "broken": "error", "unusable": "error"}


def _seconds(script: RehearsedScript) -> float:
    return sum(report.ms for report in script.reports) / 1000


def _write_case(script: RehearsedScript) -> str:
    folder, _, name = script.ref.rpartition("/")
    opening = (
        f"<testcase classname={_attribute(folder.replace('/', '.'))} name={_attribute(name)} "
        f'time="{_seconds(script):.3f}">'
    )
    rate = f'<properties><property name="passed" value="{script.passed}/{script.runs}"/></properties>'
    ending = _ENDINGS.get(script.verdict)
    if ending is None:
        return f"{opening}{rate}</testcase>\n"
    told = "\n\n".join(_describe(each, script.runs) for each in group_runs(script))
    message = f"{script.passed} of {script.runs} as recorded; {script.reason}"
    failure = (
        f"<{ending} message={_attribute(message)} type={_attribute(script.verdict)}>{_text(told)}</{ending}>"
    )
    return f"{opening}{rate}{failure}</testcase>\n"


def _describe(same: EqualRuns, runs: int) -> str:
    found = [
        f"turn {number}: {deviation.reason}"
        for number, turn in enumerate(same.report.turns, 1)
        for deviation in turn.deviations
    ]
    return "\n".join([*filter(None, [same.name(runs)]), *(found or [same.report.reason])])


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("�", text))

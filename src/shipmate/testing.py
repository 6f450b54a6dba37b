"""Make priming scripts tests: a fixture for pytest that rehearses them.

In a `conftest.py`:

    pytest_plugins = ["shipmate.testing"]

and in a test:

    def test_the_mate_keeps_a_log(rehearse):
        rehearse("team_shared/log")
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.rehearsal.rehearsal_setting import Setting, ToolMode
from shipmate.rehearsal.service import choose_member
from shipmate.rehearsal.service import rehearse as rehearse_script
from shipmate.workspace.layout import Layout

__all__ = ["DeviationError", "Rehearse", "rehearse"]
SHOWN_LIMIT = 500


class DeviationError(AssertionError):
    """A rehearsal that was not as recorded; `report` says all of it."""

    def __init__(self, report: Report) -> None:
        super().__init__(tell(report))
        self.report = report


class Rehearse:
    """Rehearses scripts of a workspace, and fails the test where one is not as recorded."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout.find(folder)

    def __call__(
        self,
        ref: str,
        *,
        member: str | None = None,
        model: str | None = "script",
        tools: ToolMode = "script",
        forced: bool = False,
        ignore: Collection[str] = (),
    ) -> Report:
        """Return the report of a rehearsal; raise DeviationError unless everything was as recorded.

        Without a member it is the one the script is for.
        `model` is "script" for the member's side as recorded, None for the member's own model, or a name.
        """
        chosen = choose_member(self.layout, ScriptRef.parse(ref), member)
        setting = Setting(member=chosen, model=model, tools=tools, forced=forced, ignore=ignore)
        work = rehearse_script(self.layout, ref, setting)
        # A test that is asynchronous itself has a loop running in this thread.
        with ThreadPoolExecutor(1) as worker:
            report = worker.submit(asyncio.run, work).result()
        if report.verdict != "same":
            raise DeviationError(report)
        return report


@pytest.fixture
def rehearse(request: pytest.FixtureRequest) -> Rehearse:
    """Rehearse scripts of the workspace that the tests lie in."""
    return Rehearse(request.path.parent)


def tell(report: Report) -> str:
    """Return what differs, turn by turn."""
    lines = [f"{report.ref}: {report.verdict}: {report.reason}"]
    for number, turn in enumerate(report.turns, 1):
        for deviation in turn.deviations:
            lines.append(f"  turn {number} ({_cut(turn.said)}): {deviation.kind}: {deviation.reason}")
            for name, piece in (("recorded", deviation.recorded), ("now", deviation.new)):
                if piece is not None:
                    what = piece.text or piece.value
                    lines.append(f"    {name}: {piece.kind} {piece.name} {_cut(str(what))}".rstrip())
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_LIMIT else f"{text[:SHOWN_LIMIT]}…"

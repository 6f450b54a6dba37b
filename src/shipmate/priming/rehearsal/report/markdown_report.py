"""Write rehearsals as Markdown, for a comment on a change."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.report.rehearsal_report import Deviation, RehearsalVerdict
from shipmate.priming.rehearsal.report.suite import RehearsalSuite, RehearsedScript, group_runs

NAMES: dict[RehearsalVerdict, str] = {
    "same": "as recorded",
    "differs": "not as recorded",
    "broken": "broken",
    "unusable": "no model",
}
_TEXT_LIMIT = 2_000
_DEVIATION_LIMIT = 20
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


def write_markdown(suite: RehearsalSuite) -> str:
    """Return a table of all scripts, and what differs below it."""
    rows = "".join(map(_write_row, suite.scripts))
    head = "| script | verdict | passed | time | cost |\n|---|---|---|---|---|\n"
    details = "".join(_write_details(script) for script in suite.scripts if script.verdict != "same")
    return f"# Rehearsal: {NAMES[suite.verdict]}\n\n{head}{rows}{details}"


def _write_row(script: RehearsedScript) -> str:
    ms = sum(report.ms for report in script.reports)
    costs = [report.cost_usd for report in script.reports if report.cost_usd is not None]
    cost = f"${sum(costs):.4f}" if costs else ""
    passed = f"{script.passed} of {script.runs}"
    return f"| {_plain(script.ref)} | {NAMES[script.verdict]} | {passed} | {ms / 1000:.1f} s | {cost} |\n"


def _write_details(script: RehearsedScript) -> str:
    lines = [f"\n## {_plain(script.ref)}\n"]
    for each in group_runs(script):
        which = f"{name}: " if (name := each.name(script.runs)) else ""
        lines.append(f"\n{which}{_plain(each.report.reason)}\n")
        for number, turn in enumerate(each.report.turns, 1):
            for deviation in turn.deviations[:_DEVIATION_LIMIT]:
                lines += _write_deviation(number, deviation)
    return "".join(lines)


def _write_deviation(turn: int, deviation: Deviation) -> Iterator[str]:
    yield f"\n- turn {turn}: {_plain(deviation.reason)}\n"
    for name, piece in (("recorded", deviation.recorded), ("now", deviation.new)):
        if piece is not None:
            yield f"\n  {name}:\n\n{_fence(show_piece(piece))}"


def show_piece(piece: AnswerPiece) -> str:
    """Return a piece as people read it."""
    if piece.kind == "call":
        return f"{piece.name} {msgspec.json.encode(piece.value).decode()}"
    if piece.value is not None:
        return msgspec.json.format(msgspec.json.encode(piece.value)).decode()
    return piece.text


def _fence(text: str) -> str:
    shown = text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}…"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    body = "".join(f"  {line}\n" for line in shown.splitlines() or [""])
    return f"  {fence}\n{body}  {fence}\n"


def _plain(text: str) -> str:
    """Return a text on one line that no Markdown reader takes for more than words."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))

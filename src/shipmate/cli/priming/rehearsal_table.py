"""Show a rehearsal in the terminal: one line where all is as recorded, both sides where it is not."""

from __future__ import annotations

import click

from shipmate.cli.terminal.card import clean, describe_time, shorten
from shipmate.priming.rehearsal.report.markdown_report import NAMES, show_piece
from shipmate.priming.rehearsal.report.rehearsal_report import Comparison, Report
from shipmate.priming.rehearsal.report.suite import RehearsedScript, group_runs

CELL_LIMIT = 1_000


def show_script(script: RehearsedScript) -> None:
    """Print what came of the rehearsals of one script."""
    spent = describe_time(sum(report.ms for report in script.reports))
    count = f"{script.passed} of {script.runs} runs, {script.pass_rate:.0%}, " if script.runs > 1 else ""
    click.echo(f"{script.ref}: {NAMES[script.verdict]} ({count}{spent})")
    for each in group_runs(script):
        _show_report(each.report, f"{name}, " if (name := each.name(script.runs)) else "")


def _show_report(report: Report, run: str) -> None:
    if report.verdict in ("broken", "unusable"):
        click.echo(f"  {clean(report.reason)}")
        return
    for number, turn in enumerate(report.turns, 1):
        if turn.deviations:
            click.echo(f"  {run}Turn {number}, {shorten(clean(turn.said))}:")
            _show_turn(turn)


def _show_turn(turn: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True)
    for heading in ("", "recorded", "now"):
        table.add_column(heading, overflow="fold")
    for deviation in turn.deviations:
        sides = [
            "" if piece is None else clean(show_piece(piece)[:CELL_LIMIT])
            for piece in (deviation.recorded, deviation.new)
        ]
        table.add_row(Text(clean(deviation.reason)), *map(Text, sides))
    Console().print(table)

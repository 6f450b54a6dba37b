"""Check scripts and show every mistake."""

from __future__ import annotations

from pathlib import Path

import click

from shipmate.cli.place import find_layout
from shipmate.cli.priming.option import JSON, NO_SCRIPTS, print_json
from shipmate.cli.terminal.card import clean
from shipmate.priming.check import check_file
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.workspace.layout import Layout


@click.command()
@click.argument("scripts", nargs=-1, metavar="[FILE|REF]...")
@JSON
@click.pass_context
def check(context: click.Context, scripts: tuple[str, ...], as_json: bool) -> int:
    """Check scripts and show every mistake with its line; without a name, all scripts of the workspace.

    Exit code 1 when there is a mistake.
    """
    layout = find_layout(context)
    files = [_locate(layout, given) for given in scripts] or [
        (path.relative_to(layout.root).as_posix(), path) for _, path in Library(layout).every()
    ]
    problems = [problem for name, path in files for problem in check_file(layout, name, path)]
    if as_json:
        shown = [{"path": p.path, "line": p.line, "record": p.record, "problem": p.problem} for p in problems]
        print_json({"checked": len(files), "problems": shown})
        return 1 if problems else 0
    for problem in problems:
        click.echo(clean(str(problem)))
    if not files:
        click.echo(NO_SCRIPTS)
    elif not problems:
        click.echo(f"{len(files)} {'script' if len(files) == 1 else 'scripts'} checked, no mistakes.")
    return 1 if problems else 0


def _locate(layout: Layout, given: str) -> tuple[str, Path]:
    """Take a name for a file when there is one, else for a ref."""
    return (given, Path(given)) if Path(given).exists() else (given, ScriptRef.parse(given).path(layout))

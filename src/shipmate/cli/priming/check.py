"""Check scripts, show every mistake, and mend what is mechanical."""

from __future__ import annotations

from pathlib import Path

import click

from shipmate.cli.place import find_layout
from shipmate.cli.priming.option import JSON, NO_SCRIPTS, print_json
from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import echo
from shipmate.priming.check import fix_file, lint_file
from shipmate.priming.library import Library
from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.ref import ScriptRef
from shipmate.values.message import JsonObject
from shipmate.workspace.layout import Layout


@click.command()
@click.argument("scripts", nargs=-1, metavar="[FILE|REF]...")
@click.option("--fix", "fixes", is_flag=True, help="Mend what is mechanical, in the files themselves.")
@JSON
@click.pass_context
def check(context: click.Context, scripts: tuple[str, ...], fixes: bool, as_json: bool) -> int:
    """Check scripts and show every mistake with its line; without a name, all scripts of the workspace.

    Also what reading passes over in silence: texts that are cut, calls without results, ids given twice.
    Exit code 1 when there is a mistake; warnings leave it 0.
    """
    layout = find_layout(context)
    files = [_locate(layout, given) for given in scripts] or [
        (path.relative_to(layout.root).as_posix(), path) for _, path in Library(layout).every()
    ]
    fixed = [name for name, path in files if fixes and fix_file(layout, name, path)]
    found = [(name, mark) for name, path in files for mark in lint_file(layout, name, path)]
    mistakes = sum(mark.level == "error" for _, mark in found)
    if as_json:
        shown = [_show(name, mark) for name, mark in found]
        print_json({"checked": len(files), **({"fixed": fixed} if fixes else {}), "problems": shown})
        return 1 if mistakes else 0
    for name in fixed:
        echo(f"{clean(name)}: mended")
    for name, mark in found:
        click.echo(clean(_write(name, mark)))
    if not files:
        echo(NO_SCRIPTS)
    elif not mistakes:
        click.echo(f"{len(files)} {'script' if len(files) == 1 else 'scripts'} checked, no mistakes.")
    return 1 if mistakes else 0


def _show(name: str, mark: Mark) -> JsonObject:
    problem = f"{mark.reason}. {mark.mend}" if mark.mend else mark.reason
    return {
        "path": name,
        "line": mark.line,
        "record": mark.record,
        "problem": problem,
        "level": mark.level,
        "rule": mark.rule,
        "reason": mark.reason,
        "mend": mark.mend,
        "canFix": mark.can_fix,
    }


def _write(name: str, mark: Mark) -> str:
    which = f"record {mark.record}: " if mark.record else ""
    level = "warning: " if mark.level == "warning" else ""
    words = f"{mark.reason}. {mark.mend}" if mark.mend else mark.reason
    return f"{name}:{mark.line}: {which}{level}{words}{' (--fix does it)' if mark.can_fix else ''}"


def _locate(layout: Layout, given: str) -> tuple[str, Path]:
    """Take a name for a file when there is one, else for a ref."""
    return (given, Path(given)) if Path(given).exists() else (given, ScriptRef.parse(given).path(layout))

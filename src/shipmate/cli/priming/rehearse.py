"""Rehearse scripts from the command line."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import click

from shipmate.cli.place import find_layout
from shipmate.cli.priming.option import JSON

ASPECTS = ("words", "calls", "results", "files", "others")
FILE = click.Path(path_type=Path, dir_okay=False)


def _check_finite(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("no rehearsal could exceed it; give a number.")
    return value


@click.command()
@click.argument("scripts", nargs=-1, required=True, metavar="REF|FOLDER...")
@click.option("-m", "--member", help="The member to rehearse with; else the one a script is for.")
@click.option(
    "--model",
    metavar="PROVIDER:MODEL|script",
    help="Rehearse with this model; `script` plays the member's side as recorded, with no model at all.",
)
@click.option(
    "--tools",
    type=click.Choice(["script", "sandbox", "live"]),
    default="script",
    show_default=True,
    help="Answer calls from the script, run them in a throw-away copy of the workspace, or run them live.",
)
@click.option("--forced", is_flag=True, help="Put the script's own history before each turn.")
@click.option(
    "--ignore", multiple=True, type=click.Choice(ASPECTS), help="Do not count differences in these."
)
@click.option("--judge", metavar="PROVIDER:MODEL", help="Have rubrics judged by this model.")
@click.option(
    "--max-ms",
    type=click.FloatRange(0),
    callback=_check_finite,
    help="Allow a rehearsal at most so many milliseconds.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(0),
    callback=_check_finite,
    help="Allow a rehearsal at most so many US dollars.",
)
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, metavar="N", help="Rehearse each script N times."
)
@click.option(
    "--pass-rate",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="The share of repeated rehearsals that must be as recorded.",
)
@click.option("--update", is_flag=True, help="Write the new answers into the scripts, and show what changed.")
@click.option("--junit", type=FILE, help="Write a JUnit report to this file.")
@click.option("--markdown", type=FILE, help="Write a Markdown report to this file.")
@JSON
@click.pass_context
def rehearse(context: click.Context, scripts: tuple[str, ...], **options: Any) -> int:
    """Say the user turns of scripts again and show where the answers are not as recorded.

    A folder stands for all scripts in it. No thread is made. With live tools, what your rules allow runs, and
    what asks for approval is denied.

    Exit code 0 when all is as recorded, 1 when something deviates, 3 when a script is broken, 4 when no model
    could be asked.
    """
    from shipmate.cli.priming.rehearsal import RehearseOptions, run_rehearsals

    if options["update"] and options["repeat"] > 1:
        raise click.UsageError("--update takes one rehearsal: leave --repeat out.")
    return asyncio.run(run_rehearsals(find_layout(context), scripts, RehearseOptions(**options)))

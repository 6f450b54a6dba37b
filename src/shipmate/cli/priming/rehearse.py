"""Rehearse a script from the command line."""

from __future__ import annotations

import asyncio

import click

from shipmate.cli.place import find_layout
from shipmate.cli.priming.option import JSON, MEMBER, REF, print_json
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearse import ASPECTS


@click.command()
@REF
@MEMBER
@click.option("--model", metavar="PROVIDER:MODEL", help="Rehearse with this model.")
@click.option(
    "--ignore", multiple=True, type=click.Choice(ASPECTS), help="Do not count differences in these."
)
@JSON
@click.pass_context
def rehearse(
    context: click.Context, ref: str, member: str, model: str | None, ignore: tuple[str, ...], as_json: bool
) -> int:
    """Say a script's user turns again and show where the answers differ.

    A call that asks for approval is denied; what your rules allow runs. Exit code 0 when all is as in the
    script, else 1.
    """
    from shipmate.cli.priming.rehearsal import run_rehearsal, show_rehearsal

    layout = find_layout(context)
    script = Library(layout).load(ScriptRef.parse(ref), member)
    report = asyncio.run(run_rehearsal(layout, script, member, model, ignore))
    if as_json:
        print_json(report)
    else:
        show_rehearsal(report)
    return 0 if report.matches else 1

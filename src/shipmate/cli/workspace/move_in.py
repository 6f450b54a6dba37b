"""Move in from another program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import language, say
from shipmate.cli.workspace.adopt import format_lines
from shipmate.moving.landing import MoveReport
from shipmate.moving.move_plan import Switch
from shipmate.moving.service import PROGRAMS, move_in
from shipmate.values.reveal import reveal
from shipmate.values.saying import tell
from shipmate.workspace.layout import CAPTAIN

# More names of one kind than this are only counted.
SHOWN = 6


@click.command(epilog="Nothing of PATH is changed. The same command again takes only what is new.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken, and write nothing.")
@click.option(
    "--on",
    type=click.Choice(["channels", "tasks", "mcp", "rights"]),
    multiple=True,
    help="Switch on what is else taken switched off, or left; may be given several times.",
)
@click.option("--member", default=CAPTAIN, help="Who stands for a program that has one agent.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("program", type=click.Choice(list(PROGRAMS)))
@click.argument("path", type=click.Path(path_type=Path))
@click.pass_context
def command(
    context: click.Context,
    program: str,
    path: Path,
    member: str,
    *,
    dry_run: bool,
    on: tuple[Switch, ...],
    as_json: bool,
) -> None:
    """Take threads, memory, skills, members, settings and tasks from another program.

    PATH is its home or data folder. Keys go to .env, by name only into ship.json.
    """
    work = move_in(
        find_layout(context),
        program,
        path.expanduser(),
        on=on,
        member=member,
        is_dry=dry_run,
        progress=_show_progress,
    )
    report = asyncio.run(work)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report, enc_hook=str)))
        return
    for line in _describe(report):
        click.echo(reveal(line))


def _show_progress(number: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if number == total else ""
        click.echo(f"\r{number:,} of {total:,} threads{end}", nl=False, err=True)


def _describe(report: MoveReport) -> Iterator[str]:
    yield say(f"From {report.program} in {report.source}:")
    new, grown, same = (len(report.threads[key]) for key in ("new", "grown", "same"))
    yield say(
        f"  threads: {new:,} new, {grown:,} grown, {same:,} as before; {report.messages:,} messages taken"
    )
    for title, found in (
        ("files", report.files),
        ("tasks", report.tasks),
        ("settings", report.settings),
        ("variables in .env", report.variables),
    ):
        if found["new"] or found["same"]:
            yield say(f"  {title}: {len(found['new']):,} new, {len(found['same']):,} as before")
            yield from _name_some(found["new"])
    if report.members:
        yield say(f"  members: {', '.join(report.members)}")
    if report.left:
        yield say("Not taken, or not as it was:")
    for each in report.left:
        yield f"  {each.what}"
        yield f"      {tell(each.why, language())}"
        if each.lines:
            yield f"      {format_lines(each.lines)}"
    if report.is_dry:
        yield say("Nothing was written; without --dry-run it is.")


def _name_some(names: list[str]) -> Iterator[str]:
    if names:
        more = f", … ({len(names) - SHOWN:,} more)" if len(names) > SHOWN else ""
        yield f"      {', '.join(names[:SHOWN])}{more}"

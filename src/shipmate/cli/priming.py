"""Check, search, save and rehearse priming scripts."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from shipmate.cli.place import find_layout, open_records, parse_thread_id
from shipmate.cli.terminal.card import clean, shorten
from shipmate.priming.check import check_file
from shipmate.priming.export import Saved, ScriptExistsError, save_script
from shipmate.priming.library import Library, Listing
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearse import ASPECTS
from shipmate.workspace.layout import CAPTAIN, Layout

REF = click.argument("ref", metavar="REF")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
MEMBER = click.option(
    "-m", "--member", default=CAPTAIN, show_default=True, help="The member the scripts are for."
)
NO_SCRIPTS = (
    "No scripts yet. Save a conversation as one with `shipmate priming save THREAD SLUG`, "
    "or write .minds/priming/team_shared/NAME.md."
)
NO_RECENT = "No script was used yet. Start with one: `shipmate chat --prime REF`."


@click.group(epilog="REF is individual/<member>/<slug> or team_shared/<slug>.")
def command() -> None:
    """Check, search, save and rehearse priming scripts: conversations kept as Markdown files."""


@command.command("list")
@MEMBER
@JSON
@click.pass_context
def list_scripts(context: click.Context, member: str, as_json: bool) -> None:
    """List the scripts a member may be primed with, newest first."""
    _print_listing(Library(find_layout(context)).list(member), NO_SCRIPTS, as_json=as_json)


@command.command()
@click.argument("query")
@MEMBER
@JSON
@click.pass_context
def search(context: click.Context, query: str, member: str, as_json: bool) -> None:
    """Find scripts whose slug, ref or title contains QUERY."""
    found = Library(find_layout(context)).search(member, query)
    _print_listing(found, f"No script matches {query!r}. `shipmate priming list` shows all.", as_json=as_json)


@command.command()
@MEMBER
@JSON
@click.pass_context
def recent(context: click.Context, member: str, as_json: bool) -> None:
    """List the scripts that dialogs of a member were last created with."""
    layout = find_layout(context)
    _print_listing(Recents(layout).list(Library(layout), member), NO_RECENT, as_json=as_json)


def _print_listing(found: Listing, empty: str, *, as_json: bool) -> None:
    if as_json:
        _print_json({"scripts": found.entries, "problems": found.problems})
        return
    for problem in found.problems:
        click.echo(f"shipmate: {clean(problem)}", err=True)
    if not found.entries:
        click.echo(empty)
    width = max((len(entry.script_ref) for entry in found.entries), default=0)
    for entry in found.entries:
        at = (entry.used_at or entry.updated_at)[:16].replace("T", " ")
        title = shorten(entry.title or "", 50)
        click.echo(f"{entry.script_ref:<{width}}  {at}  {entry.records:>5}  {title}".rstrip())


@command.command()
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
        _print_json({"checked": len(files), "problems": shown})
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


@command.command()
@REF
@JSON
@click.pass_context
def show(context: click.Context, ref: str, as_json: bool) -> None:
    """Print a script as it stands on disk."""
    shown = Library(find_layout(context)).show(ScriptRef.parse(ref))
    if as_json:
        _print_json(shown)
        return
    # A pipe gets the file as it is; a screen must not be steered by it.
    click.echo(clean(shown.text) if sys.stdout.isatty() else shown.text, nl=False)
    for problem in shown.problems:
        click.echo(f"shipmate: {clean(problem)}", err=True)


@command.command()
@click.argument("thread", metavar="THREAD")
@click.argument("slug")
@click.option("--course", type=click.IntRange(min=1), help="The course to save; the current one by default.")
@click.option("--title", help="A title; the slug's last part by default.")
@click.option("--overwrite", is_flag=True, help="Replace the script if there is one.")
@JSON
@click.pass_context
def save(
    context: click.Context,
    thread: str,
    slug: str,
    course: int | None,
    title: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Save a course of THREAD as the script SLUG of the member it belongs to."""
    layout = find_layout(context)

    async def work(replace: bool) -> Saved:
        async with open_records(layout) as records:
            return await save_script(
                Library(layout),
                records.threads,
                records.store,
                thread_id=parse_thread_id(thread),
                slug=slug,
                course=course,
                title=title,
                overwrite=replace,
            )

    try:
        saved = asyncio.run(work(overwrite))
    except ScriptExistsError:
        if not sys.stdin.isatty() or not click.confirm(f"{slug} exists already. Replace it?"):
            raise
        saved = asyncio.run(work(True))
    if as_json:
        _print_json(saved)
    else:
        click.echo(f"Saved {saved.records} records to {saved.path}. Use it with --prime {saved.script_ref}.")


@command.command()
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
    from shipmate.cli.rehearsal import run_rehearsal, show_rehearsal

    layout = find_layout(context)
    script = Library(layout).load(ScriptRef.parse(ref), member)
    report = asyncio.run(run_rehearsal(layout, script, member, model, ignore))
    if as_json:
        _print_json(report)
    else:
        show_rehearsal(report)
    return 0 if report.matches else 1


def _print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())

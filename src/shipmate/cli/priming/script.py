"""List, search, show and save scripts."""

from __future__ import annotations

import asyncio
import sys

import click

from shipmate.cli.place import find_layout, open_records, parse_thread_id
from shipmate.cli.priming.option import JSON, MEMBER, NO_SCRIPTS, REF, check_member, print_json
from shipmate.cli.terminal.card import clean, shorten
from shipmate.cli.terminal.show import local_time
from shipmate.cli.terminal.tongue import complain, echo, say
from shipmate.priming.export import Saved, ScriptExistsError, offer_name, save_script
from shipmate.priming.library import Library, Listing
from shipmate.priming.recent import Recents
from shipmate.priming.ref import ScriptRef

NO_RECENT = "No script was used yet. Start with one: `shipmate chat --prime REF`."


@click.command("list")
@MEMBER
@JSON
@click.pass_context
def list_scripts(context: click.Context, member: str, as_json: bool) -> None:
    """List the scripts a member may be primed with, newest first."""
    layout = find_layout(context)
    check_member(layout, member)
    _print_listing(Library(layout).list(member), NO_SCRIPTS, as_json=as_json)


@click.command()
@click.argument("query")
@MEMBER
@JSON
@click.pass_context
def search(context: click.Context, query: str, member: str, as_json: bool) -> None:
    """Find scripts whose slug, ref or title contains QUERY."""
    layout = find_layout(context)
    check_member(layout, member)
    found = Library(layout).search(member, query)
    _print_listing(found, f"No script matches {query!r}. `shipmate priming list` shows all.", as_json=as_json)


@click.command()
@MEMBER
@JSON
@click.pass_context
def recent(context: click.Context, member: str, as_json: bool) -> None:
    """List the scripts that dialogs of a member were last created with."""
    layout = find_layout(context)
    check_member(layout, member)
    _print_listing(Recents(layout).list(Library(layout), member), NO_RECENT, as_json=as_json)


def _print_listing(found: Listing, empty: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"scripts": found.entries, "problems": found.problems})
        return
    for problem in found.problems:
        complain(clean(problem))
    if not found.entries:
        echo(empty)
    width = max((len(entry.script_ref) for entry in found.entries), default=0)
    for entry in found.entries:
        at = local_time(entry.used_at or entry.updated_at)
        title = shorten(entry.title or "", 50)
        click.echo(f"{entry.script_ref:<{width}}  {at}  {entry.records:>5}  {title}".rstrip())


@click.command()
@REF
@JSON
@click.pass_context
def show(context: click.Context, ref: str, as_json: bool) -> None:
    """Print a script as it stands on disk."""
    shown = Library(find_layout(context)).show(ScriptRef.parse(ref))
    if as_json:
        print_json(shown)
        return
    # A pipe gets the file as it is; a screen must not be steered by it.
    click.echo(clean(shown.text) if sys.stdout.isatty() else shown.text, nl=False)
    for problem in shown.problems:
        complain(clean(problem))


@click.command()
@click.argument("thread", metavar="THREAD")
@click.argument("slug", required=False)
@click.option("--course", type=click.IntRange(min=1), help="The course to save; the current one by default.")
@click.option("--title", help="A title; the thread's by default.")
@click.option("--overwrite", is_flag=True, help="Replace the script if there is one.")
@click.option("--full", is_flag=True, help="Tell who spoke where and when, and which run answered.")
@JSON
@click.pass_context
def save(
    context: click.Context,
    thread: str,
    slug: str | None,
    course: int | None,
    title: str | None,
    overwrite: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Save a course of THREAD as the script SLUG of the member it belongs to.

    Without SLUG it is named after the thread. People become s1, s2, and secrets are masked.
    """
    layout = find_layout(context)
    library = Library(layout)

    async def work(replace: bool) -> Saved:
        async with open_records(layout) as records:
            thread_id = parse_thread_id(thread)
            return await save_script(
                library,
                records.threads,
                records.store,
                thread_id=thread_id,
                slug=slug or await offer_name(library, records.threads, records.store, thread_id, course),
                course=course,
                title=title,
                overwrite=replace,
                full=full,
            )

    try:
        saved = asyncio.run(work(overwrite))
    except ScriptExistsError:
        if not sys.stdin.isatty() or not click.confirm(say(f"{slug} exists already. Replace it?")):
            raise
        saved = asyncio.run(work(True))
    if as_json:
        print_json(saved)
    else:
        echo(f"Saved {saved.records} records to {saved.path}. Use it with --prime {saved.script_ref}.")

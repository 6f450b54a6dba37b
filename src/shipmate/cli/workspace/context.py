"""Show what goes into the prompt, and why; compare the prompts of two turns."""

from __future__ import annotations

import asyncio
import sys

import click
import msgspec

from shipmate.cli.place import PLATFORM, find_layout, open_records, parse_thread_id
from shipmate.cli.workspace.inspection import describe, draw, draw_difference
from shipmate.context.budget import fit_tools
from shipmate.context.builder import ContextBuilder
from shipmate.context.difference import compare
from shipmate.context.request import Context, ContextRequest, Section
from shipmate.context.snapshot import read_snapshots
from shipmate.errors import NotFoundError, UserError
from shipmate.values.message import metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config


@click.command(
    epilog="THREAD is an id such as web:room:1; a bare name is short for cli:chat:NAME. "
    "Turns are counted from 1, the oldest that is remembered."
)
@click.option(
    "--thread", metavar="THREAD", default=None, help="The prompt the next turn of this thread would have."
)
@click.option("--member", metavar="ID", default=None, help="Whose prompt; the captain's by default.")
@click.option("--profile", default=None, help="Another profile than ship.json's, such as nanobot or zyhive.")
@click.option("--show", metavar="SECTION", default=None, help="Print one section as it stands in the prompt.")
@click.option("--full", is_flag=True, help="Print the whole prompt.")
@click.option("--diff", is_flag=True, help="Compare two turns of THREAD: turns A B, or the last two.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("turns", nargs=-1, type=click.IntRange(1), metavar="[A B]")
@click.pass_context
def command(
    context: click.Context,
    thread: str | None,
    member: str | None,
    profile: str | None,
    show: str | None,
    full: bool,
    diff: bool,
    as_json: bool,
    turns: tuple[int, ...],
) -> None:
    """Show what goes into the prompt, and why: one line per section, with what it costs."""
    layout = find_layout(context)
    thread_id = parse_thread_id(thread) if thread else None
    if diff:
        _show_difference(layout, thread_id, turns, as_json)
        return
    if turns:
        raise UserError("turns are compared with --diff: shipmate context --thread THREAD --diff A B.")
    built = _build(layout, thread_id, member, profile)
    if show:
        click.echo(_find(built, show).text)
    elif as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(describe(built, with_text=full))).decode())
    elif full:
        click.echo(built.system)
    else:
        draw(built, is_terminal=sys.stdout.isatty())


def _build(layout: Layout, thread_id: ThreadId | None, member: str | None, profile: str | None) -> Context:
    from shipmate.models.choice import ModelChoice
    from shipmate.models.choose import name_model
    from shipmate.models.selection.window import Windows
    from shipmate.tools.toolset import default_toolset

    loaded = load_config(layout)
    said, user, owner = asyncio.run(_look_up(layout, thread_id)) if thread_id else ("", "", CAPTAIN)
    crew = Crew(layout, loaded)
    chosen = crew.choose(member) if member is not None else crew.find(owner)
    model, lacks = name_model(chosen.config.llm, loaded.environ)
    if lacks:
        click.echo(f"shipmate: {lacks}", err=True)
    choice = ModelChoice(chosen.config.llm, loaded.environ, windows=Windows(layout.windows))
    window = None if lacks else choice.recall_window().tokens
    request = ContextRequest(
        thread_id=str(thread_id) if thread_id else None,
        user_id=user,
        platform=thread_id.platform if thread_id else PLATFORM,
        model=model,
        tools=fit_tools(default_toolset(chosen).specs(), window),
        last_text=said,
        profile=profile,
        window=window,
    )
    return ContextBuilder(chosen, environ=loaded.environ).build(request)


async def _look_up(layout: Layout, thread_id: ThreadId) -> tuple[str, str, str]:
    """Return the last words said in a thread, who said them, and the thread's member."""
    async with open_records(layout) as records:
        history = (await records.threads.read(thread_id)).history()
        info = await records.store.threads.find(str(thread_id))
    last = next((message for message in reversed(history) if message["role"] == "user"), None)
    user = str(metadata_of(last).get("userId", "")) if last else ""
    return text_of(last) if last else "", user, info.member if info else CAPTAIN


def _find(built: Context, name: str) -> Section:
    section = next((each for each in built.sections if each.name == name), None)
    if section is None:
        known = ", ".join(each.name for each in built.sections)
        raise NotFoundError(f"there is no section {name!r}. There are: {known}.")
    if not section.included:
        raise NotFoundError(f"section {name} is not in this prompt: {section.reason}.")
    return section


def _show_difference(
    layout: Layout, thread_id: ThreadId | None, turns: tuple[int, ...], as_json: bool
) -> None:
    if thread_id is None:
        raise UserError("--diff compares two turns of a thread: add --thread THREAD.")
    known = read_snapshots(layout, thread_id)
    if len(known) < 2:
        raise NotFoundError(f"{thread_id} has {len(known)} remembered turns; two are needed to compare.")
    before, after = turns if len(turns) == 2 else (len(known) - 1, len(known))
    if len(turns) not in (0, 2) or max(before, after) > len(known):
        raise UserError(f"give two turns between 1 and {len(known)}, or none to compare the last two.")
    found = compare(known, before - 1, after - 1)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        draw_difference(found, known[before - 1], known[after - 1], (before, after))

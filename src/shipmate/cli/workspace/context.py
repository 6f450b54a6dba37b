"""Show what a model reads and why, or what it read at a turn; compare two turns."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import click
import msgspec

from shipmate.cli.place import PLATFORM, find_layout, open_records, parse_thread_id
from shipmate.cli.terminal import tongue
from shipmate.cli.workspace.inspection import Drawing, describe, say
from shipmate.context.budget import fit_tools
from shipmate.context.builder import ContextBuilder
from shipmate.context.difference import compare
from shipmate.context.kept.account import Account, KeptTurn, list_turns, read_account, write_account
from shipmate.context.kept.kept_file import KeptThread
from shipmate.context.request import ContextRequest
from shipmate.errors import NotFoundError, UserError
from shipmate.orchestrator.compaction.clearing import Clearing
from shipmate.store.port import StepUsage
from shipmate.values.message import UIMessage, metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, load_config


@click.command(
    epilog="THREAD is an id such as web:room:1; a bare name is short for cli:chat:NAME. "
    "Turns are counted from 1, the oldest that is kept."
)
@click.option(
    "--thread", metavar="THREAD", default=None, help="What the next turn of this thread would read."
)
@click.option("--turn", type=click.IntRange(1), default=None, help="What turn N of THREAD read.")
@click.option(
    "--step", type=click.IntRange(1), default=None, help="At which step of it; the last by default."
)
@click.option("--member", metavar="ID", default=None, help="Whose prompt; the captain's by default.")
@click.option("--profile", default=None, help="Another profile than ship.json's, such as nanobot or zyhive.")
@click.option(
    "--show", metavar="NAME", default=None, help="Print one section or tool, or the message of a number."
)
@click.option("--full", is_flag=True, help="Print the whole prompt; with --turn tools and history as well.")
@click.option("--diff", is_flag=True, help="Compare two turns of THREAD: turns A B, or the last two.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("turns", nargs=-1, type=click.IntRange(1), metavar="[A B]")
@click.pass_context
def command(
    context: click.Context,
    thread: str | None,
    turn: int | None,
    step: int | None,
    member: str | None,
    profile: str | None,
    show: str | None,
    full: bool,
    diff: bool,
    as_json: bool,
    turns: tuple[int, ...],
) -> None:
    """Show what a model reads, and why: one line for each section, tool and message, with what it costs."""
    layout = find_layout(context)
    loaded = load_config(layout)
    drawing = Drawing(is_terminal=sys.stdout.isatty())
    thread_id = parse_thread_id(thread) if thread else None
    if turns and not diff:
        raise UserError(say("need-diff"))
    if diff or turn is not None:
        option = "--diff" if diff else "--turn"
        if thread_id is None:
            raise UserError(say("need-thread", option=option))
        from shipmate.residence import open_shelf

        kept = context.with_resource(open_shelf(layout)).read_kept(str(thread_id))
        known = _list_turns(kept, thread_id, loaded.config.context)
        if diff:
            _show_difference(drawing, kept, known, thread_id, turns, as_json)
            return
        found = _find_turn(known, thread_id, turn or 1)
        number = step or len(found.places)
        if number > len(found.places):
            raise NotFoundError(say("no-step", turn=found.number, last=len(found.places)))
        account = read_account(kept, found.places[number - 1])
        asked = kept.steps[found.places[number - 1]]
        if not (show or as_json or full):
            used = asyncio.run(_read_usage(layout, thread_id, found.run_id))
            drawing.draw_turn(found, [kept.steps[place] for place in found.places], number, used)
        model, window = asked.model, asked.window
    else:
        account, model, window = _build(layout, loaded, thread_id, member, profile)
    _print(drawing, account, model, window, show=show, full=full, as_json=as_json, is_sent=turn is not None)


def _print(
    drawing: Drawing,
    account: Account,
    model: str,
    window: int | None,
    *,
    show: str | None,
    full: bool,
    as_json: bool,
    is_sent: bool,
) -> None:
    if show:
        click.echo(drawing.text(_find(account, show)))
    elif as_json:
        found = describe(account, model, window, with_text=full)
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif full:
        click.echo(drawing.text(account.system))
        for row in account.of("tool") + account.of("message") if is_sent else []:
            kind = drawing.words(f"{row.kind}-kind", name=row.name)
            click.echo(f"\n--- {kind} {row.title if row.kind == 'message' else ''}".rstrip())
            click.echo(drawing.text(row.text))
    else:
        drawing.draw(account, model, window)


def _build(
    layout: Layout, loaded: Loaded, thread_id: ThreadId | None, member: str | None, profile: str | None
) -> tuple[Account, str, int | None]:
    from shipmate.models.choice import ModelChoice
    from shipmate.models.choose import name_model
    from shipmate.models.selection.window import Windows
    from shipmate.models.to_model import describe_history
    from shipmate.tools.toolset import default_toolset

    history, owner = asyncio.run(look_up(layout, thread_id)) if thread_id else ([], CAPTAIN)
    last = next((message for message in reversed(history) if message["role"] == "user"), None)
    crew = Crew(layout, loaded)
    chosen = crew.choose(member) if member is not None else crew.find(owner)
    model, lacks = name_model(chosen.config.llm, loaded.environ)
    if lacks:
        tongue.complain(lacks)
    choice = ModelChoice(chosen.config.llm, loaded.environ, windows=Windows(layout.windows))
    window = None if lacks else choice.recall_window().tokens
    tools = fit_tools(default_toolset(chosen).specs(), window)
    request = ContextRequest(
        thread_id=str(thread_id) if thread_id else None,
        user_id=str(metadata_of(last).get("userId", "")) if last else "",
        platform=thread_id.platform if thread_id else PLATFORM,
        model=model,
        tools=tools,
        last_text=text_of(last) if last else "",
        profile=profile,
        window=window,
    )
    built = ContextBuilder(chosen, environ=loaded.environ).build(request)
    account = write_account(built, tools, describe_history(history, model, built.zone))
    return account, model, window


async def look_up(layout: Layout, thread_id: ThreadId) -> tuple[list[UIMessage], str]:
    """Return what the model sees of a thread, and the thread's member."""
    async with open_records(layout) as records:
        thread = await records.threads.read(thread_id)
        history = Clearing(layout).show(thread, thread.history())
        info = await records.store.threads.find(str(thread_id))
    return history, info.member if info else CAPTAIN


async def _read_usage(layout: Layout, thread_id: ThreadId, run_id: str) -> list[StepUsage]:
    async with open_records(layout) as records:
        return await records.store.ledger.usage("", str(thread_id), run_id)


def _find(account: Account, name: str) -> str:
    row = next((each for each in account.rows if each.name == name), None)
    if row is not None:
        return row.text if row.is_known else say("gone")
    if left := next((each for each in account.left_out if each.name == name), None):
        raise NotFoundError(say("row-out", name=name, reason=tongue.say(left.reason)))
    known = [each.name for each in account.rows if each.kind != "message"]
    raise NotFoundError(say("no-row", name=repr(name), known=", ".join(known)))


def _list_turns(kept: KeptThread, thread_id: ThreadId, settings: ContextSettings) -> list[KeptTurn]:
    known = list_turns(kept)
    if not known:
        key = "none-kept" if settings.keep else "keeping-off"
        values = {"days": settings.keep_days} if settings.keep else {}
        raise NotFoundError(say(key, thread=thread_id, **values))
    return known


def _find_turn(known: Sequence[KeptTurn], thread_id: ThreadId, number: int) -> KeptTurn:
    if number > len(known):
        raise NotFoundError(say("no-turn", turn=number, thread=thread_id, last=len(known)))
    return known[number - 1]


def _show_difference(
    drawing: Drawing,
    kept: KeptThread,
    known: Sequence[KeptTurn],
    thread_id: ThreadId,
    turns: tuple[int, ...],
    as_json: bool,
) -> None:
    if len(known) < 2:
        raise NotFoundError(say("two-needed", thread=thread_id, count=len(known)))
    if len(turns) not in (0, 2):
        raise UserError(say("two-turns", last=len(known)))
    numbers = turns if turns else (len(known) - 1, len(known))
    before, after = (_find_turn(known, thread_id, number) for number in numbers)
    found = compare(read_account(kept, before.places[0]), read_account(kept, after.places[0]))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        drawing.draw_difference(found, before, after)

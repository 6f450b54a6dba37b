"""Talk to a member in the terminal."""

from __future__ import annotations

import sys

import click

from shipmate.cli.completion import complete_member, complete_thread
from shipmate.cli.place import (
    PLATFORM,
    OpenWorkspace,
    find_layout,
    new_thread_id,
    open_records,
    parse_thread_id,
    run_opened,
)
from shipmate.cli.ship import open_ship, prime, read_names
from shipmate.cli.terminal.leaving import run
from shipmate.errors import NotFoundError, UserError
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN, Layout

LOOKED_THROUGH = 500


@click.command(epilog="Type /help in the chat for its commands.")
@click.option(
    "-t",
    "--thread",
    default=None,
    metavar="ID",
    shell_complete=complete_thread,
    help="Go on in this thread; a new one by default.",
)
@click.option(
    "-c",
    "--continue",
    "goes_on",
    is_flag=True,
    help="Go on in the thread you used last, with the member if one is named.",
)
@click.option(
    "--prime", "refs", multiple=True, metavar="REF", help="Begin the new thread with this priming script."
)
@click.option("--hide-priming", is_flag=True, help="Do not show the replayed messages.")
@click.option("--model", default=None, metavar="PROVIDER:MODEL", help="Another model for this chat.")
@click.option(
    "--member",
    default=None,
    metavar="ID",
    shell_complete=complete_member,
    help="Who answers; else the thread's member.",
)
@click.option(
    "-m", "named", multiple=True, metavar="NAME", help="Short for either: a member, or PROVIDER:MODEL."
)
@click.pass_context
def command(
    context: click.Context,
    thread: str | None,
    goes_on: bool,
    refs: tuple[str, ...],
    hide_priming: bool,
    model: str | None,
    member: str | None,
    named: tuple[str, ...],
) -> None:
    """Talk to a member in the terminal. Ctrl-C stops the run, Ctrl-D leaves."""
    layout = find_layout(context)
    model, member = read_names(named, model, member)
    if hide_priming and not refs:
        raise UserError("--hide-priming needs --prime REF. `shipmate priming list` shows the scripts.")
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise UserError("chat needs a terminal. In a pipe or script use `shipmate ask`.")
    if goes_on and (thread or refs):
        raise UserError("--continue finds the thread by itself. Leave --thread and --prime out.")
    thread_id = parse_thread_id(thread) if thread else new_thread_id()
    if goes_on:
        thread_id = run_opened(context, open_records, lambda records: _find_last(layout, records, member))
    run(_chat(layout, thread_id, refs, model, member, shows_priming=not hide_priming))


async def _find_last(layout: Layout, records: OpenWorkspace, member: str | None) -> ThreadId:
    """Return the thread of the terminal that was used last, with a member if one is named."""
    from shipmate.workspace.crew import Crew
    from shipmate.workspace.load import load_config

    named = Crew(layout, load_config(layout)).choose(member).id if member is not None else None
    await records.store.reconcile()
    found = await records.store.threads.list(limit=LOOKED_THROUGH)
    for info in found:
        is_here = ThreadId.parse(info.thread_id).platform == PLATFORM
        if is_here and (named is None or info.member == named):
            return ThreadId.parse(info.thread_id)
    raise NotFoundError("there is no thread to go on with. Begin one with `shipmate chat`.")


async def _chat(
    layout: Layout,
    thread_id: ThreadId,
    refs: tuple[str, ...],
    model: str | None,
    member: str | None,
    *,
    shows_priming: bool,
) -> None:
    from shipmate.cli.talk.conversation import Conversation

    async with open_ship(layout, finishes=False, keeps_time=True) as ship:
        named = ship.crew.choose(member).id if member is not None else None
        if model is not None:
            ship.equip(named or CAPTAIN).models.named(model)
        await prime(ship, thread_id, refs, show_in_ui=shows_priming)
        await Conversation(ship, thread_id, model, named).hold()

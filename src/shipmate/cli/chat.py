"""Talk to a member in the terminal."""

from __future__ import annotations

import asyncio
import sys

import click

from shipmate.cli.place import find_layout, new_thread_id, parse_thread_id
from shipmate.cli.ship import open_ship
from shipmate.errors import UserError
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout


@click.command(epilog="Type /help in the chat for its commands.")
@click.option(
    "-t", "--thread", default=None, metavar="ID", help="Go on in this thread; a new one by default."
)
@click.option("--prime", default=None, metavar="REF", help="Begin the new thread with this priming script.")
@click.option("--hide-priming", is_flag=True, help="Do not show the replayed script.")
@click.option("--model", default=None, metavar="PROVIDER:MODEL", help="Another model for this chat.")
@click.pass_context
def command(
    context: click.Context, thread: str | None, prime: str | None, hide_priming: bool, model: str | None
) -> None:
    """Talk to a member in the terminal. Ctrl-C stops the run, Ctrl-D leaves."""
    layout = find_layout(context)
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise UserError("chat needs a terminal. In a pipe or script use `shipmate ask`.")
    thread_id = parse_thread_id(thread) if thread else new_thread_id()
    asyncio.run(_chat(layout, thread_id, model))


async def _chat(layout: Layout, thread_id: ThreadId, model: str | None) -> None:
    from shipmate.cli.conversation import Conversation

    async with open_ship(layout, model) as ship:
        await Conversation(ship, thread_id).hold()

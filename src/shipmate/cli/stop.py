"""Stop the run of a thread, whichever process works it."""

from __future__ import annotations

import click

from shipmate.cli.completion import complete_thread
from shipmate.cli.place import find_layout, parse_thread_id
from shipmate.cli.ship import open_ship
from shipmate.cli.terminal.leaving import run
from shipmate.cli.terminal.tongue import complain, echo
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout


@click.command()
@click.argument("thread", metavar="THREAD", shell_complete=complete_thread)
@click.pass_context
def command(context: click.Context, thread: str) -> int:
    """Stop the run of THREAD where it is, whichever process works it. What was said and done stays."""
    thread_id = parse_thread_id(thread)
    if run(_stop(find_layout(context), thread_id)):
        echo(f"Stopped the run of {thread_id}.")
        return 0
    complain(f"nothing runs in {thread_id}.")
    return 1


async def _stop(layout: Layout, thread_id: ThreadId) -> bool:
    async with open_ship(layout, finishes=False) as ship:
        return await ship.keeper.stop(str(thread_id))

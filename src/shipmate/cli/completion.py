"""Complete names of threads and members in the shell."""

from __future__ import annotations

import asyncio

import click
from click.shell_completion import CompletionItem

from shipmate.cli.place import PLATFORM, SCOPE, find_layout, open_records
from shipmate.cli.terminal.card import shorten
from shipmate.errors import ShipmateError
from shipmate.store.port import ThreadInfo

LISTED = 100


def complete_thread(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the threads whose id begins so, with their titles; those of the terminal by their bare names."""

    async def work() -> list[ThreadInfo]:
        async with open_records(find_layout(context)) as records:
            return await records.store.threads.list(limit=LISTED)

    try:
        found = asyncio.run(work())
    except (ShipmateError, OSError):
        # Whoever presses Tab is asking for names, not for trouble.
        return []
    # Shells part words at colons, so the short name is the one that can be completed everywhere.
    own = "" if ":" in incomplete else f"{PLATFORM}:{SCOPE}:"
    named = [(info.thread_id.removeprefix(own), shorten(info.title, 50)) for info in found]
    return [CompletionItem(name, help=title) for name, title in named if name.startswith(incomplete)]


def complete_member(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the members whose id begins so, with their names."""
    from shipmate.workspace.crew import Crew
    from shipmate.workspace.load import load_config

    try:
        layout = find_layout(context)
        members = Crew(layout, load_config(layout)).list()
    except (ShipmateError, OSError):
        return []
    return [
        CompletionItem(each.id, help=shorten(each.name, 50))
        for each in members
        if each.id.startswith(incomplete)
    ]

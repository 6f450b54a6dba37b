"""Rebuild the thread list and the search tables from the thread files."""

from __future__ import annotations

import asyncio
import sys

import click

from shipmate.approvals.service import ApprovalService
from shipmate.cli.place import Records, find_layout, open_records
from shipmate.workspace.config import Permissions

EVERYTHING = 1_000_000


@click.command()
@click.pass_context
def command(context: click.Context) -> None:
    """Rebuild the lists of threads and approvals, and the search, from their files."""
    layout = find_layout(context)

    async def work() -> tuple[int, int, int]:
        async with open_records(layout) as records:
            return await _rebuild(records)

    threads, messages, problems = asyncio.run(work())
    click.echo(f"Indexed {messages:,} messages of {threads:,} threads.")
    if problems:
        click.echo(f"{problems} rows cannot be read; `shipmate doctor` names them.", err=True)


async def _rebuild(records: Records) -> tuple[int, int, int]:
    ids = await records.threads.ids()
    await records.store.search.clear()
    messages = problems = 0
    for number, thread_id in enumerate(ids, 1):
        thread = await records.threads.read(thread_id)
        await records.store.threads.note(str(thread_id), thread.messages)
        await records.store.search.index(str(thread_id), thread.messages)
        messages += len(thread.messages)
        problems += len(thread.problems)
        _show_progress(number, len(ids))
    await _forget_missing(records, {str(thread_id) for thread_id in ids})
    await ApprovalService(records.layout, Permissions(), records.store).reindex()
    return len(ids), messages, problems


async def _forget_missing(records: Records, present: set[str]) -> None:
    """Drop listed threads whose file is gone; one that has no words yet never had a file."""
    for info in await records.store.threads.list(archived=None, limit=EVERYTHING):
        if info.thread_id not in present and info.message_count:
            await records.store.threads.remove(info.thread_id)


def _show_progress(number: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if number == total else ""
        click.echo(f"\r{number:,} of {total:,} threads{end}", nl=False, err=True)

"""Rebuild the index from the files, by hand; it is brought up to date by itself as well."""

from __future__ import annotations

import asyncio
import sys

import click

from shipmate.cli.place import find_layout, open_records
from shipmate.cli.terminal.tongue import echo
from shipmate.store.port import Reconciled


@click.command()
@click.pass_context
def command(context: click.Context) -> None:
    """Rebuild the lists of threads and approvals, and the search, from their files."""
    layout = find_layout(context)

    async def work() -> Reconciled:
        async with open_records(layout) as records:
            return await records.store.reconcile(_show_progress, anew=True)

    found = asyncio.run(work())
    echo(f"Indexed {found.messages:,} messages of {found.threads:,} threads.")
    if found.problems:
        echo(f"{found.problems} rows cannot be read; `shipmate doctor` names them.", err=True)


def _show_progress(number: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if number == total else ""
        click.echo(f"\r{number:,} of {total:,} threads{end}", nl=False, err=True)

"""Bring the database of a fleet to this version, and move a workspace into it or out of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shipmate.cli.place import find_layout
from shipmate.cli.terminal.tongue import echo
from shipmate.errors import UserError
from shipmate.residence import MISSING, find_address
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from shipmate.store.postgres.postgres_store import PostgresStore

NO_ADDRESS = (
    'this workspace lies in its own folder. Write "store": "postgresql://…" into ship.json, '
    "or set SHIPMATE_STORE."
)


@click.group(epilog="docs/postgresql.md says how a workspace is moved into PostgreSQL and back.")
def command() -> None:
    """Look after the PostgreSQL of a workspace that many machines work on."""


@command.command()
@click.pass_context
def migrate(context: click.Context) -> None:
    """Make the tables, or bring them to this version; older versions that can go on with them do."""
    layout = find_layout(context)
    done = asyncio.run(_migrate(_address(layout)))
    for name in done:
        echo(f"✓ {name}")
    echo("The database is at this version." if done else "The database was at this version already.")


@command.command("import")
@click.pass_context
def bring_in(context: click.Context) -> None:
    """Bring what the folder keeps into the database; what was brought in before is not again."""
    layout = find_layout(context)
    moved, count = _run(layout, lambda store: _import(layout, store))
    echo(f"Brought in {moved:,} of {count:,} files; the others were there. The folder stays as it is.")


@command.command("export")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.pass_context
def write_out(context: click.Context, folder: Path | None) -> None:
    """Write what the database keeps into this workspace's folder, or into another FOLDER."""
    layout = find_layout(context)
    target = Layout(folder.absolute()) if folder is not None else layout
    moved, count = _run(layout, lambda store: _export(target, store))
    echo(f"Wrote {moved:,} of {count:,} files; the others were there. The database stays as it is.")


def _run(layout: Layout, work: Callable[[PostgresStore], Awaitable[tuple[int, int]]]) -> tuple[int, int]:
    """Do a move while no process keeps the folder."""
    from shipmate.orchestrator.keeper.unix_socket import UnixSocket

    address, keeper = _address(layout), UnixSocket(layout)
    if not keeper.hold():
        raise UserError("a process works this workspace. End it (`shipmate serve`, a chat), then move.")

    async def opened() -> tuple[int, int]:
        from shipmate.store.postgres.postgres_store import open_postgres_store

        store = await open_postgres_store(address)
        try:
            return await work(store)
        finally:
            await store.close()

    try:
        return asyncio.run(opened())
    finally:
        keeper.release()


async def _migrate(address: str) -> list[str]:
    from shipmate.store.postgres.database import PostgresDatabase
    from shipmate.store.postgres.schema import migrate as bring_up

    database = PostgresDatabase(address)
    try:
        await database.open()
        return [f"{step.number:04d} {step.name}" for step in await bring_up(database)]
    finally:
        await database.close()


async def _import(layout: Layout, store: PostgresStore) -> tuple[int, int]:
    from shipmate.store.postgres.importing import Importing

    return await Importing(layout, store).run(_show_progress)


async def _export(layout: Layout, store: PostgresStore) -> tuple[int, int]:
    from shipmate.store.postgres.exporting import Exporting

    return await Exporting(layout, store).run(_show_progress)


def _address(layout: Layout) -> str:
    address = find_address(layout)
    if not address:
        raise UserError(NO_ADDRESS)
    if find_spec("psycopg_pool") is None:
        raise UserError(MISSING)
    return address


def _show_progress(number: int, total: int, name: str) -> None:
    if sys.stderr.isatty():
        of = f" of {total:,}" if total else ""
        click.echo(f"\r\033[K{number:,}{of} {name[-60:]}", nl=number == total, err=True)

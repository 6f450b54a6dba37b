"""Bring the tables of a database to this version, and see at each start that they are."""

from __future__ import annotations

import psycopg

from shipmate.errors import StorageError
from shipmate.store.migration import Migration, read_migrations
from shipmate.store.postgres.database import BEHIND, PACKAGE, AsyncLink, PostgresDatabase, statements

# The step whose statements come with a package.
QUEUE = "procrastinate"


async def migrate(database: PostgresDatabase) -> list[Migration]:
    """Apply the steps that are missing, each in a transaction of its own; return them."""
    sql, done = statements("version"), list[Migration]()
    async with database.transaction() as link:
        await link.execute(sql["make"])
    for step in read_migrations(PACKAGE):
        try:
            async with database.transaction() as link:
                # Two who migrate at once do it one after the other.
                await link.execute(sql["lock"])
                if await _version(link) >= step.number:
                    continue
                await link.execute((_read_queue() if step.name == QUEUE else step.sql).encode())
                await link.execute(
                    sql["note"], {"number": step.number, "name": step.name, "breaks": step.breaks}
                )
        except psycopg.Error as error:
            raise StorageError(
                f"step {step.number} ({step.name}) of {database.name} failed: {error}. "
                "Nothing of it stands; mend this and migrate again."
            ) from error
        done.append(step)
    return done


async def check(database: PostgresDatabase) -> None:
    """Refuse tables that are older than this version, or that only a newer one can use."""
    known = len(read_migrations(PACKAGE))
    async with database.transaction() as link:
        found = await _version(link)
        if found < known:
            has = f"version {found}" if found else "no tables of Shipmate"
            raise StorageError(f"{database.name} has {has}, and this Shipmate needs {known}. {BEHIND}")
        if found > known:
            sql = statements("version")
            breaks = await (await link.execute(sql["breaks"], {"number": known})).fetchone()
            if breaks is not None and breaks[0]:
                raise StorageError(
                    f"{database.name} has version {found}, made by a newer Shipmate than this one ({known}). "
                    "Update this one."
                )


def _read_queue() -> str:
    """Return what makes the tables of the queue, from the package whose they are."""
    try:
        from procrastinate.schema import SchemaManager
    except ImportError as error:
        raise StorageError('The queue needs `pip install "shipmate[fleet]"`.') from error
    return SchemaManager.get_schema()


async def _version(link: AsyncLink) -> int:
    """Return the last step that was applied; 0 for a database without our tables."""
    sql = statements("version")
    there = await (await link.execute(sql["is_made"])).fetchone()
    if there is None or not there[0]:
        return 0
    found = await (await link.execute(sql["last"])).fetchone()
    return found[0] if found is not None else 0

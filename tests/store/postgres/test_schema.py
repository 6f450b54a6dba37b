"""Tables are made by steps that stand whole or not at all, and those of another version are refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from shipmate.errors import StorageError
from shipmate.store.migration import BREAKS, Migration, read_migrations
from shipmate.store.postgres import schema
from shipmate.store.postgres.database import PACKAGE, PostgresDatabase
from shipmate.store.postgres.schema import check, migrate


@pytest.fixture
async def database(postgres: str) -> AsyncGenerator[PostgresDatabase]:
    made = PostgresDatabase(postgres)
    await made.open()
    yield made
    await made.close()


def knowing(monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    """Let the program know further steps."""
    own = read_migrations(PACKAGE)
    steps = [*own, *(Migration(len(own) + at, f"more{at}", sql) for at, sql in enumerate(more, 1))]
    monkeypatch.setattr(schema, "read_migrations", lambda _: steps)


async def test_tables_are_made_once_and_those_of_other_versions_are_refused_or_borne(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageError, match=r"has no tables of Shipmate.*shipmate db migrate"):
        await check(database)
    own = len(await migrate(database))
    assert await migrate(database) == []
    await check(database)
    with monkeypatch.context() as patch:
        knowing(patch, "CREATE TABLE more (a int)")
        with pytest.raises(StorageError, match=rf"has version {own}, and this Shipmate needs {own + 1}"):
            await check(database)
        assert [step.name for step in await migrate(database)] == ["more1"]
    # An older version goes on beside the newer one while nothing it needs was changed.
    await check(database)
    with monkeypatch.context() as patch:
        knowing(patch, "SELECT 1", f"{BREAKS}\nDROP TABLE more")
        await migrate(database)
    with pytest.raises(StorageError, match="made by a newer Shipmate"):
        await check(database)


async def test_a_step_that_fails_leaves_nothing_of_itself(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = len(await migrate(database))
    with monkeypatch.context() as patch:
        knowing(patch, "CREATE TABLE half (a int); SELECT 1 / 0;")
        with pytest.raises(StorageError, match=rf"step {own + 1} \(more1\).*Nothing of it stands"):
            await migrate(database)
    assert await database.rows(b"SELECT to_regclass('half')") == [(None,)]
    with monkeypatch.context() as patch:
        knowing(patch, "CREATE TABLE half (a int)")
        assert len(await migrate(database)) == 1

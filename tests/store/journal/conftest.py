"""The places that a journal's keeper and a fleet write to."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from shipmate.store.postgres.database import PostgresDatabase
from shipmate.workspace.disk.memory_disk import MemoryDisk
from tests.support.store import Place


@pytest.fixture(params=["journal", "postgres"])
async def place(request: pytest.FixtureRequest) -> AsyncGenerator[Place]:
    """Return where inbox and outbox lie: files, or PostgreSQL."""
    if request.param == "journal":
        yield MemoryDisk()
        return
    database = PostgresDatabase(request.getfixturevalue("postgres_tables"))
    await database.open()
    yield database
    await database.close()

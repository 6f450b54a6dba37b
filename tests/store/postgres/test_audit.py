"""Each worker has a chain of its own, and the log of all of them is read and checked as one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from shipmate.store.postgres.audit import PostgresChain
from shipmate.store.postgres.database import PostgresDatabase


@pytest.fixture
async def database(postgres_tables: str) -> AsyncGenerator[PostgresDatabase]:
    made = PostgresDatabase(postgres_tables)
    await made.open()
    yield made
    await made.close()


async def test_chains_of_workers_are_joined_and_any_change_shows(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipmate.store.postgres.audit.PAGE", 4)
    chains = [PostgresChain(database, name) for name in ("a", "b")]
    assert chains[0].verify().entries == 0
    for number in range(10):
        chains[number % 2].append({"event": "ran", "what": str(number)})
    assert [entry["what"] for entry in chains[0].backward()] == [str(number) for number in range(9, -1, -1)]
    assert (chains[1].verify().entries, chains[1].verify().holds) == (10, True)

    async def broken(statement: bytes) -> list[str]:
        async with database.transaction() as link:
            await link.execute(statement)
        return [str(each) for each in chains[0].verify().breaks]

    assert await broken(
        b"UPDATE audit_entry SET line = replace(encode(line, 'escape'), '\"4\"', '\"5\"')::bytea "
        b"WHERE worker = 'a' AND seq = 3"
    ) == ["a:3: entry 3 was changed: its hash does not fit"]
    found = await broken(b"DELETE FROM audit_entry WHERE worker = 'b' AND seq = 5")
    assert "b head: the log ends with entry 4, but 5 were written: its end was cut off" in found
    # What goes on behind a cut says so, for good.
    chains[1].append({"event": "ran", "what": "10"})
    assert any("follows entry 4: 1 missing" in str(each) for each in chains[0].verify().breaks)

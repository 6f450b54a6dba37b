"""One suite for every engine: order, no overlap, no repeat, and trouble of processes and of the database."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.postgres_store import open_postgres_store
from shipmate.store.postgres.schema import migrate
from shipmate.thread.log import FileLog, Log
from shipmate.thread.service import ThreadService
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.engine_storm import Storm, check_thread, raging
from tests.support.postgres import PostgresServer

# `SHIPMATE_FLEET=200x20` is the whole proof.
THREADS, MESSAGES = (int(each) for each in os.environ.get("SHIPMATE_FLEET", "12x5").split("x"))
ENGINES = {
    "files": ["all-in-one"] * 3,
    "postgresql": [*["worker"] * 4, *["gateway"] * 2],
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def address(engine: str, request: pytest.FixtureRequest) -> str | None:
    if engine == "files":
        return None
    # What the database has confirmed it must still know when it comes back.
    address = f"{request.getfixturevalue('postgres')}&options=-c%20synchronous_commit%3Don"
    database = PostgresDatabase(address)
    await database.open()
    await migrate(database)
    await database.close()
    return address


@asynccontextmanager
async def opened_log(folder: Path, address: str | None) -> AsyncGenerator[Log]:
    if address is None:
        yield FileLog(Layout(folder))
        return
    store = await open_postgres_store(address, worker="looking")
    yield store.log
    await store.close()


async def find_wrong(folder: Path, address: str | None) -> list[str]:
    async with opened_log(folder, address) as log:
        threads = ThreadService(log)
        wrong: list[str] = []
        for number in range(THREADS):
            thread = await threads.read(ThreadId.parse(f"cli:dm:t{number}"))
            wrong += [f"t{number}: {each}" for each in check_thread(list(thread.messages), number, MESSAGES)]
        return wrong


async def everything(storm: Storm) -> None:
    await asyncio.gather(*(storm.end(number, MESSAGES) for number in range(THREADS)))


async def test_everything_said_is_answered_once_and_in_order(
    tmp_path: Path, engine: str, address: str | None
) -> None:
    async with raging(tmp_path, address, random.Random(1), ENGINES[engine]) as storm:
        await asyncio.gather(*(storm.talk(number, MESSAGES) for number in range(THREADS)))
        await everything(storm)
        assert storm.repeats > 0
        assert set(storm.new.values()) == {1}
        assert storm.overlaps() == []
    assert await find_wrong(tmp_path, address) == []


async def test_nothing_is_lost_or_doubled_when_processes_die_freeze_or_lose_the_database(
    tmp_path: Path, engine: str, address: str | None, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(os.environ.get("SHIPMATE_SEED", "2"))
    async with raging(tmp_path, address, chance, ENGINES[engine], pause=0.05) as storm:
        talking = asyncio.gather(*(storm.talk(number, MESSAGES) for number in range(THREADS)))
        for trouble in range(max(1, THREADS // 20)):
            await storm.said(chance.randint(5, 15))
            victim = await storm.kill()
            await storm.start(victim.kind)
            # Longer than a process may be silent: where others can, they go on with its threads.
            await storm.freeze(lambda: asyncio.sleep(4.5))
            if engine == "postgresql" and trouble % 2 == 0:
                await restart(request.getfixturevalue("postgres_server"))
        await talking
        await everything(storm)
        assert storm.overlaps() == []
    assert await find_wrong(tmp_path, address) == []


async def restart(server: PostgresServer) -> None:
    """Let the database go away as if it was killed, and come back."""
    if server.is_ours:
        await asyncio.to_thread(server.stop, mode="immediate")
        await asyncio.to_thread(server.start)

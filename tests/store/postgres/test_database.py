"""A database that goes away and comes back loses and doubles nothing, and no password is ever shown."""

from __future__ import annotations

import asyncio
import logging

import pytest

from shipmate.errors import StorageError, UserError
from shipmate.store.postgres import database as module
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, describe
from shipmate.store.postgres.postgres_store import open_postgres_store
from shipmate.thread.log import Position
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from tests.support.postgres import PostgresServer
from tests.support.wait import LONG

ROOM = ThreadId("web", "room", "1")


async def test_a_database_that_went_away_and_came_back_lost_nothing(
    postgres_server: PostgresServer, postgres_tables: str, caplog: pytest.LogCaptureFixture
) -> None:
    if not postgres_server.is_ours:
        pytest.skip("this server is not ours to stop")
    store = await open_postgres_store(postgres_tables, worker="a")
    try:
        async with store.log.lock(ROOM):
            await store.log.append(ROOM, [user_message("m1", "before")])
            await asyncio.to_thread(postgres_server.stop, mode="immediate")
            try:
                with caplog.at_level(logging.WARNING):
                    writing = asyncio.create_task(store.log.append(ROOM, [user_message("m2", "meanwhile")]))
                    with pytest.raises(StorageError, match="cannot use database shipmate"):
                        store.database.do(lambda link: link.execute(b"SELECT 1"), patience=0)
                    assert store.revision() == b""
            finally:
                await asyncio.to_thread(postgres_server.start)
            await asyncio.wait_for(writing, LONG)
            await store.log.append(ROOM, [user_message("m3", "after")])
        tail = await store.log.read(ROOM, Position())
        assert [row["id"] for row in tail.rows] == ["m1", "m2", "m3"]
        assert "does not answer" in caplog.text
        assert "answers again" in caplog.text
        assert store.revision() != b""
    finally:
        await store.close()


async def test_an_answer_that_was_lost_after_the_commit_is_not_written_again(
    postgres_tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = PostgresDatabase(postgres_tables)
    await database.open()
    tries: list[int] = []

    async def work(link: AsyncLink) -> int:
        tries.append(link.info.backend_pid)
        await link.execute(b"INSERT INTO mark VALUES ('a', '')")
        return len(tries)

    import psycopg

    end = psycopg.AsyncTransaction.__aexit__

    async def cut(self: psycopg.AsyncTransaction, *given: object) -> bool:
        await end(self, *given)  # pyright: ignore[reportArgumentType]
        monkeypatch.undo()
        # The commit stands; that it does is not heard of.
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(psycopg.AsyncTransaction, "__aexit__", cut)
    try:
        assert await database.run(work) == 1
        assert len(tries) == 1
        assert await database.rows(b"SELECT thread_id FROM mark") == [("a",)]
    finally:
        await database.close()


async def test_a_pool_without_a_free_connection_says_so(
    postgres_tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_PATIENCE", 0.2)
    database = PostgresDatabase(postgres_tables, size=1)
    await database.open()
    try:
        async with database.transaction():
            with pytest.raises(StorageError, match="all 1 are busy"):
                await database.rows(b"SELECT 1")
        assert await database.rows(b"SELECT 1") == [(1,)]
    finally:
        await database.close()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hunter2hunter2@/nothing?host=/nowhere",
        "postgresql://ann:hunter2hunter2@localhost:1/nothing",
        "postgresql://ann:hunter2hunter2@host/x?port=what=no",
    ],
)
async def test_no_refusal_shows_a_password(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises((StorageError, UserError)) as caught:
        await open_postgres_store(address)
    assert "hunter2" not in f"{caught.value} {caught.value.__cause__} {caplog.text} {describe(address)}"

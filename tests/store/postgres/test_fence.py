"""Who lost a thread writes nothing more, and a dead holder's thread is free at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from shipmate.errors import FencedError
from shipmate.store.port import InboxRow
from shipmate.store.postgres.database import AsyncLink
from shipmate.store.postgres.postgres_store import PostgresStore, open_postgres_store
from shipmate.thread.log import Position
from shipmate.values.event import EgressMessage, Outcome, TextEvent
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from tests.support.wait import LONG

ROOM = ThreadId("web", "room", "1")
KILL = b"SELECT pg_terminate_backend(pid) FROM fence_session WHERE worker = 'a'"


@pytest.fixture
async def stores(postgres_tables: str) -> AsyncGenerator[tuple[PostgresStore, PostgresStore]]:
    first = await open_postgres_store(postgres_tables, worker="a")
    second = await open_postgres_store(postgres_tables, worker="b")
    yield first, second
    await first.close()
    await second.close()


def event(message_id: str) -> TextEvent:
    return TextEvent(
        platform="web", thread_id=str(ROOM), user_id="u", message_id=message_id, timestamp="t", text="hi"
    )


async def test_a_worker_that_lost_its_thread_writes_nothing_more(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    first, second = stores
    row, _ = await first.inbox.accept(event("m1"))
    taken = asyncio.Event()

    async def take_over() -> None:
        async with second.log.lock(ROOM):
            taken.set()
            await second.log.append(ROOM, [user_message("m2", "by the second")])

    async with first.log.lock(ROOM):
        await first.log.append(ROOM, [user_message("m1", "by the first")])
        await first.inbox.take([row], "run_1")
        other = asyncio.create_task(take_over())
        # As a worker that stands still: its session is ended from elsewhere.
        await second.database.rows(KILL)
        await asyncio.wait_for(other, LONG)
        sends = [EgressMessage(thread_id=str(ROOM), text="x")]
        with pytest.raises(FencedError):
            await first.log.append(ROOM, [user_message("m3", "too late")])
        with pytest.raises(FencedError):
            await first.inbox.finish([row], Outcome(run_id="run_1", status="replied"), sends)
        with pytest.raises(FencedError):
            await first.inbox.ask("run_1", 1)
        with pytest.raises(FencedError):
            await first.outbox.intend("run_1", "1", sends)
        with pytest.raises(FencedError):
            await first.ledger.keep_context(str(ROOM), "m1", "words")
        # A person's word at any gateway goes through, whoever holds the thread.
        await first.inbox.stop("run_1")
    tail = await second.log.read(ROOM, Position())
    assert [found["id"] for found in tail.rows] == ["m1", "m2"]
    assert [found.is_stopped for found in await second.inbox.open(str(ROOM))] == [True]
    assert await second.outbox.list() == []
    # It may hold it again, and then it writes again.
    async with first.log.lock(ROOM):
        await first.log.append(ROOM, [user_message("m3", "again")])


async def test_a_lost_session_costs_nothing_while_nobody_took_the_thread(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    first, second = stores
    async with first.log.lock(ROOM):
        token = first.fences.token(str(ROOM))
        await second.database.rows(KILL)
        await first.fences.open()
        await first.log.append(ROOM, [user_message("m1", "hello")])
        assert first.fences.token(str(ROOM)) == token
        waiting = asyncio.create_task(second.log.lock(ROOM).__aenter__())
        await asyncio.sleep(0.05)
        # It was locked again, so the other still waits.
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_an_event_and_what_hangs_on_it_are_accepted_in_one_step(
    stores: tuple[PostgresStore, PostgresStore],
) -> None:
    first, second = stores
    seen: list[int] = []

    async def refuse(link: AsyncLink, row: InboxRow) -> None:
        seen.append(row.seq)
        await link.execute(b"INSERT INTO paper (path) VALUES ('job')")
        raise RuntimeError("the queue refused")

    first.inbox.on_accept = refuse
    with pytest.raises(RuntimeError):
        await first.inbox.accept(event("m1"))
    assert await second.inbox.threads() == []
    assert await second.database.rows(b"SELECT path FROM paper") == []
    first.inbox.on_accept = None
    # Whoever comes first is the one, though many gateways hear the same.
    found = await asyncio.gather(*(each.inbox.accept(event("m2")) for each in (first, second) * 5))
    assert sorted(is_new for _, is_new in found) == [False] * 9 + [True]
    assert len({row.seq for row, _ in found}) == 1
    assert len(seen) == 1

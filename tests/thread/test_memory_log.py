"""The log in memory does what the log on disk does: whoever tests with it tests the product."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError, UserError
from shipmate.thread.log import Log
from shipmate.thread.service import ThreadService
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from tests.support.store import any_log

ROOM = ThreadId("web", "room", "1")


@pytest.fixture(params=["file", "memory", "postgres"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Log]:
    async with any_log(request, request.param, tmp_path) as made:
        yield made


async def test_what_was_appended_is_read_by_another_service(log: Log) -> None:
    async with ThreadService(log).open(ROOM) as thread:
        await thread.append(user_message("m1", "hello"), user_message("m2", "again"))
    read = await ThreadService(log).read(ROOM)
    assert [message["id"] for message in read.messages] == ["m1", "m2"]
    assert await log.exists(ROOM)


async def test_a_thread_is_made_once(log: Log) -> None:
    async with log.lock(ROOM):
        await log.create(ROOM, [user_message("m1", "hello")])
        with pytest.raises(UserError, match="exists already"):
            await log.create(ROOM, [user_message("m1", "other words")])
    read = await ThreadService(log).read(ROOM)
    assert [message["id"] for message in read.messages] == ["m1"]


async def test_a_thread_goes_to_the_bin_and_comes_back(log: Log) -> None:
    service = ThreadService(log)
    async with service.open(ROOM) as thread:
        await thread.append(user_message("m1", "hello"))
    await service.bin(ROOM)
    assert (await log.exists(ROOM), await log.is_binned(ROOM)) == (False, True)
    await service.restore(ROOM)
    assert (await log.exists(ROOM), await log.is_binned(ROOM)) == (True, False)
    assert (await service.read(ROOM)).find("m1") is not None
    with pytest.raises(NotFoundError):
        await service.restore(ROOM)


async def test_a_thread_in_the_bin_is_revived_by_whoever_has_it_open(log: Log) -> None:
    service = ThreadService(log)
    async with service.open(ROOM) as thread:
        await thread.append(user_message("m1", "hello"))
        assert not await service.revive(thread)
    await service.bin(ROOM)
    async with service.open(ROOM) as thread:
        assert thread.messages == []
        assert await service.revive(thread)
        assert [message["id"] for message in thread.messages] == ["m1"]
        assert not await service.revive(thread)


async def test_a_thread_that_is_back_already_is_not_overwritten(log: Log) -> None:
    service = ThreadService(log)
    async with service.open(ROOM) as thread:
        await thread.append(user_message("m1", "old"))
    await service.bin(ROOM)
    async with service.open(ROOM) as thread:
        await thread.append(user_message("m2", "new"))
    with pytest.raises(UserError, match="exists already"):
        await service.restore(ROOM)
    assert (await service.read(ROOM)).find("m2") is not None

"""A slow disk is waited for in threads, in order, to the end, and never while the disk is quick."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.store.file_store import open_store
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.event import TextEvent
from shipmate.values.message import user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import OsDisk
from shipmate.workspace.disk.pace import SLOW, Pace, pace_of
from shipmate.workspace.layout import Layout
from tests.support.wait import LONG

ROOM = ThreadId("cli", "dm", "ann")


@pytest.fixture(autouse=True)
def any_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be slow, as elsewhere in these tests it never is."""
    monkeypatch.setattr("shipmate.workspace.disk.pace.SLOW", SLOW)


class SlowDisk(OsDisk):
    """A disk each of whose syncs takes a while; the thread each was waited for in is noted."""

    def __init__(self, seconds: float = 2 * SLOW) -> None:
        self.seconds = seconds
        self.waited: list[int] = []
        self.begun = threading.Event()
        self.refuses = False

    def fdatasync(self, handle: int) -> None:
        self.waited.append(threading.get_ident())
        self.begun.set()
        time.sleep(self.seconds)
        if self.refuses:
            raise OSError(5, os.strerror(5))
        super().fdatasync(handle)


async def slow_down(disk: SlowDisk) -> None:
    """Let a disk's pace find out that it is slow."""
    for _ in range(20):
        await pace_of(disk).wait(lambda: time.sleep(disk.seconds))


def event(number: int) -> TextEvent:
    return TextEvent(
        platform="cli",
        thread_id=str(ROOM),
        user_id="ann",
        message_id=f"m{number}",
        timestamp="2026-01-01T00:00:00.000Z",
        text=f"words {number}",
    )


async def test_a_quick_disk_is_waited_for_here() -> None:
    pace = Pace(measures=True)
    assert [await pace.wait(threading.get_ident) for _ in range(5)] == [threading.get_ident()] * 5


async def test_a_slow_disk_is_waited_for_elsewhere_until_it_is_quick_again() -> None:
    pace = Pace(measures=True)
    for _ in range(20):
        await pace.wait(lambda: time.sleep(2 * SLOW))
    assert await pace.wait(threading.get_ident) != threading.get_ident()
    for _ in range(40):
        await pace.wait(lambda: None)
    assert await pace.wait(threading.get_ident) == threading.get_ident()


async def test_others_go_on_while_rows_wait_for_the_disk(tmp_path: Path) -> None:
    disk = SlowDisk()
    await slow_down(disk)
    threads = ThreadService(FileLog(Layout(tmp_path), disk))
    order: list[str] = []

    async def write() -> None:
        async with threads.open(ROOM) as thread:
            await thread.append(user_message("u", "hi"))
        order.append("written")

    async def pass_by() -> None:
        await asyncio.to_thread(disk.begun.wait, LONG)
        order.append("passed")

    await asyncio.gather(write(), pass_by())
    assert order == ["passed", "written"]
    assert disk.waited != [threading.get_ident()]


async def test_a_cancelled_writer_has_written_and_knows_it(tmp_path: Path) -> None:
    disk = SlowDisk(0.05)
    await slow_down(disk)
    threads = ThreadService(FileLog(Layout(tmp_path), disk))
    async with threads.open(ROOM) as thread:
        writing = asyncio.create_task(thread.append(user_message("u", "hi")))
        await asyncio.to_thread(disk.begun.wait, LONG)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
    # Whoever asked once is not outnumbered: a runner takes Ctrl-C for what it is only then.
    assert writing.cancelling() == 1
    assert b'"hi"' in Layout(tmp_path).thread(ROOM).read_bytes()
    assert [each["id"] for each in (await threads.read(ROOM)).messages] == ["u"]


async def test_events_that_come_at_once_get_numbers_of_their_own_and_repeats_none(tmp_path: Path) -> None:
    disk = SlowDisk()
    await slow_down(disk)
    store = open_store(Layout(tmp_path), disk=disk)
    taken = await asyncio.gather(*(store.inbox.accept(event(number % 20)) for number in range(40)))
    assert sorted(row.seq for row, is_new in taken if is_new) == list(range(1, 21))
    later = open_store(Layout(tmp_path))
    assert len(await later.inbox.open(str(ROOM))) == 20
    await later.close()
    await store.close()


async def test_an_event_the_disk_refused_takes_nothing_of_others_with_it(tmp_path: Path) -> None:
    disk = SlowDisk()
    await slow_down(disk)
    store = open_store(Layout(tmp_path), disk=disk)
    row, _ = await store.inbox.accept(event(1))
    disk.refuses = True
    disk.begun.clear()
    accepting = asyncio.create_task(store.inbox.accept(event(2)))
    await asyncio.to_thread(disk.begun.wait, LONG)
    # Another lane notes something behind it while it is waited for.
    await store.inbox.take([row], "run_1")
    with pytest.raises(StorageError):
        await accepting
    disk.refuses = False
    rows = await store.inbox.open(str(ROOM))
    assert [each.run_id for each in rows if each.event.message_id == "m1"] == ["run_1"]
    assert (await store.inbox.accept(event(3)))[1]
    await store.close()

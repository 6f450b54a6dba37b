"""The outbox sends what was intended, once, in order, whenever it is read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shipmate.store.journal.outbox import JournalOutbox
from shipmate.values.event import EgressMessage
from shipmate.workspace.disk.disk import append_to, read_file
from shipmate.workspace.disk.memory_disk import MemoryDisk
from shipmate.workspace.layout import Layout

ROOM = "web:room:1"
LAYOUT = Layout(Path("/ship"))


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def opened(disk: MemoryDisk) -> JournalOutbox:
    return JournalOutbox(LAYOUT, disk)


def sends(*texts: str) -> list[EgressMessage]:
    return [EgressMessage(thread_id=ROOM, text=text) for text in texts]


async def test_sends_go_out_in_order_and_once(disk: MemoryDisk) -> None:
    await opened(disk).intend("run_1", "1", sends("one", "two"))
    await opened(disk).intend("run_1", "1", sends("one", "two"))
    outbox = opened(disk)
    first = await outbox.next("web")
    assert first is not None
    assert await outbox.next("telegram") is None
    await outbox.sent(first, "receipt-1")
    # A process that dies while it sends leaves a doubt, never a repetition.
    second = await outbox.next("web")
    assert second is not None
    assert [first.message.text, second.message.text] == ["one", "two"]
    later = opened(disk)
    assert await later.next("web") is None
    assert await later.doubt("web") == 1
    rows = await opened(disk).list()
    assert [(row.status, row.receipt) for row in rows] == [("sent", "receipt-1"), ("uncertain", None)]


async def test_a_run_that_goes_on_sends_further_segments(disk: MemoryDisk) -> None:
    await opened(disk).intend("run_1", "1", sends("May I?"))
    await opened(disk).intend("run_1", "2", sends("Done."))
    assert [(row.segment, row.message.text) for row in await opened(disk).list()] == [
        (0, "May I?"),
        (1, "Done."),
    ]


async def test_a_failed_send_is_tried_again_only_when_told(disk: MemoryDisk) -> None:
    outbox = opened(disk)
    await outbox.intend("run_1", "1", sends("x"))
    send = await outbox.next("web")
    assert send is not None
    await outbox.failed(send, "busy", retry=True)
    again = await opened(disk).next("web")
    assert again is not None
    assert again.attempts == 2
    later = opened(disk)
    await later.failed(again, "gone", retry=False)
    assert await opened(disk).next("web") is None
    assert [(row.status, row.error) for row in await opened(disk).list("failed")] == [("failed", "gone")]


async def test_an_unreadable_line_is_set_aside(disk: MemoryDisk) -> None:
    await opened(disk).intend("run_1", "1", sends("one"))
    append_to(disk, LAYOUT.outbox, b"rubbish\n")
    assert len(await opened(disk).list()) == 1
    (kept,) = disk.listdir(LAYOUT.damaged)
    assert read_file(disk, LAYOUT.damaged / kept) == b"rubbish\n"


async def test_receipts_are_forgotten_after_their_time_and_numbers_go_on(disk: MemoryDisk) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    outbox = JournalOutbox(LAYOUT, disk, lambda: now)
    for number in range(300):
        await outbox.intend(f"run_{number}", f"{number}", sends("x"))
        send = await outbox.next("web")
        assert send is not None
        assert send.id == number + 1
        await outbox.sent(send, "r")
        now += timedelta(days=1)
    assert read_file(disk, LAYOUT.outbox).count(b"\n") < 900
    assert len(await outbox.list()) <= 31


async def test_a_send_and_its_receipt_would_survive_a_power_cut() -> None:
    class Recording(MemoryDisk):
        synced = b""

        def fdatasync(self, handle: int) -> None:
            super().fdatasync(handle)
            self.synced = self.pread(handle, 1 << 20, 0)

    outbox = opened(disk := Recording())
    await outbox.intend("run_1", "1", sends("one"))
    send = await outbox.next("web")
    assert send is not None
    assert disk.synced.count(b"\n") == 2
    await outbox.sent(send, "receipt-1")
    assert b"receipt-1" in disk.synced


async def test_only_the_sends_of_one_platform_become_doubtful(disk: MemoryDisk) -> None:
    outbox = opened(disk)
    await outbox.intend("run_1", "1", sends("one"))
    await outbox.next("web")
    assert await outbox.doubt("telegram") == 0
    assert [row.status for row in await outbox.list()] == ["sending"]


async def test_receipts_of_a_file_written_anew_are_forgotten_after_their_time_too(disk: MemoryDisk) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    outbox = JournalOutbox(LAYOUT, disk, lambda: now)
    await outbox.intend("run_1", "1", sends("one"))
    send = await outbox.next("web")
    assert send is not None
    await outbox.sent(send, "receipt-1")
    append_to(disk, LAYOUT.outbox, b"rubbish\n")
    await JournalOutbox(LAYOUT, disk, lambda: now).load()
    assert len(await JournalOutbox(LAYOUT, disk, lambda: now).list()) == 1
    now += timedelta(days=31)
    assert await JournalOutbox(LAYOUT, disk, lambda: now).list() == []

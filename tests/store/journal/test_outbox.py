"""The outbox sends what was intended, once, in order, whenever it is read again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISDIR

import pytest

from shipmate.store.journal.outbox import UNCERTAIN, JournalOutbox
from shipmate.store.port import Outbox, OutboxRow
from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.postgres_store import PostgresStore
from shipmate.values.event import EgressMessage
from shipmate.workspace.disk.disk import append_to, read_file
from shipmate.workspace.disk.memory_disk import MemoryDisk
from shipmate.workspace.layout import Layout
from tests.support.store import Place

ROOM = "web:room:1"
LAYOUT = Layout(Path("/ship"))


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def opened(place: Place, clock: Callable[[], datetime] | None = None) -> Outbox:
    """Open the outbox that lies in a place, as the next process does."""
    if isinstance(place, PostgresDatabase):
        return PostgresStore(place, clock).outbox
    return JournalOutbox(LAYOUT, place, clock or (lambda: datetime.now(UTC)))


async def begin(outbox: Outbox) -> OutboxRow | None:
    """Begin the oldest send that waits."""
    rows = await outbox.open(ROOM)
    return await outbox.begin(rows[0]) if rows else None


def sends(*texts: str) -> list[EgressMessage]:
    return [EgressMessage(thread_id=ROOM, text=text) for text in texts]


async def test_sends_go_out_in_order_and_once(place: Place) -> None:
    await opened(place).intend("run_1", "1", sends("one", "two"))
    await opened(place).intend("run_1", "1", sends("one", "two"))
    outbox = opened(place)
    first = await begin(outbox)
    assert first is not None
    assert await outbox.open("telegram:dm:1") == []
    await outbox.sent(first, "receipt-1")
    # A process that dies while it sends leaves a doubt, never a repetition.
    second = await begin(outbox)
    assert second is not None
    assert [first.message.text, second.message.text] == ["one", "two"]
    later = opened(place)
    assert await begin(later) is None
    assert [row.message.text for row in await later.doubt()] == ["two"]
    rows = await opened(place).list()
    assert [(row.status, row.receipt) for row in rows] == [("sent", "receipt-1"), ("uncertain", None)]


async def test_a_run_that_goes_on_sends_further_segments(place: Place) -> None:
    await opened(place).intend("run_1", "1", sends("May I?"))
    await opened(place).intend("run_1", "2", sends("Done."))
    assert [(row.segment, row.message.text) for row in await opened(place).list()] == [
        (0, "May I?"),
        (1, "Done."),
    ]


async def test_a_failed_send_is_tried_again_only_when_told(place: Place) -> None:
    outbox = opened(place)
    await outbox.intend("run_1", "1", sends("x"))
    send = await begin(outbox)
    assert send is not None
    await outbox.failed(send, "busy", retry=True)
    again = await begin(opened(place))
    assert again is not None
    assert again.attempts == 2
    later = opened(place)
    await later.failed(again, "gone", retry=False)
    assert await begin(opened(place)) is None
    assert [(row.status, row.error) for row in await opened(place).list("failed")] == [("failed", "gone")]


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
        send = await begin(outbox)
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
    send = await begin(outbox)
    assert send is not None
    assert disk.synced.count(b"\n") == 2
    await outbox.sent(send, "receipt-1")
    assert b"receipt-1" in disk.synced


async def test_what_a_killed_process_had_not_put_on_disk_is_before_an_answer_counts_as_noted() -> None:
    class Synced(MemoryDisk):
        synced = b""

        def fsync(self, handle: int) -> None:
            super().fsync(handle)
            if not S_ISDIR(self.fstat(handle).st_mode):
                self.synced = self.pread(handle, 1 << 20, 0)

    first, disk = MemoryDisk(), Synced()
    await opened(first).intend("run_1", "1", sends("one"))
    # There for all who read, and not yet on disk; where a sync failed, no later one looks at it again.
    append_to(disk, LAYOUT.outbox, read_file(first, LAYOUT.outbox), waits=False)
    outbox = opened(disk)
    await outbox.intend("run_1", "1", sends("one"))
    assert b'"one"' in disk.synced
    assert disk.synced == read_file(disk, LAYOUT.outbox)


async def test_a_preview_and_the_whole_are_one_send(place: Place) -> None:
    outbox = opened(place)
    shown = await outbox.preview("run_1", "1", *sends("The beg"))
    assert shown is not None
    assert (shown.status, shown.is_preview) == ("sending", True)
    await outbox.shown(shown, "p1")
    # A keeper that takes over changes the same message.
    later = opened(place)
    assert await later.doubt() == []
    again = await later.preview("run_1", "1", *sends("The beginning"))
    assert again is not None
    assert again.receipt == "p1"
    await later.intend("run_1", "1", sends("The whole", "and more"))
    assert await later.preview("run_1", "1", *sends("The beginning of")) is None
    rows = await opened(place).open(ROOM)
    assert [(row.id, row.message.text, row.receipt) for row in rows] == [
        (1, "The whole", "p1"),
        (2, "and more", None),
    ]


async def test_a_preview_nobody_knows_of_is_followed_by_the_whole_and_remembered(place: Place) -> None:
    await opened(place).preview("run_1", "1", *sends("The beg"))
    outbox = opened(place)
    (left,) = await outbox.doubt()
    assert (left.status, left.receipt, left.error) == ("shown", None, UNCERTAIN)
    await outbox.intend("run_1", "1", sends("The whole"))
    send = await begin(outbox)
    assert send is not None
    await outbox.sent(send, "r1")
    assert [(row.status, row.has_stray) for row in await opened(place).list()] == [("sent", True)]


async def test_a_change_that_was_cut_off_is_made_again(place: Place) -> None:
    outbox = opened(place)
    shown = await outbox.preview("run_1", "1", *sends("The beg"))
    assert shown is not None
    await outbox.shown(shown, "p1")
    await outbox.intend("run_1", "1", sends("The whole"))
    await begin(outbox)
    later = opened(place)
    assert [row.status for row in await later.doubt()] == ["waiting"]


async def test_what_a_person_wants_sent_waits_again(place: Place) -> None:
    outbox = opened(place)
    await outbox.intend("run_1", "1", sends("old", "older"))
    for row in await outbox.open(ROOM):
        await outbox.mark(row, "held")
    first, second = await outbox.list("held")
    await outbox.mark(first, "waiting")
    await outbox.mark(second, "dropped")
    assert [(row.message.text, row.is_wanted) for row in await opened(place).open(ROOM)] == [("old", True)]


async def test_receipts_of_a_file_written_anew_are_forgotten_after_their_time_too(disk: MemoryDisk) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    outbox = JournalOutbox(LAYOUT, disk, lambda: now)
    await outbox.intend("run_1", "1", sends("one"))
    send = await begin(outbox)
    assert send is not None
    await outbox.sent(send, "receipt-1")
    append_to(disk, LAYOUT.outbox, b"rubbish\n")
    await JournalOutbox(LAYOUT, disk, lambda: now).load()
    assert len(await JournalOutbox(LAYOUT, disk, lambda: now).list()) == 1
    now += timedelta(days=31)
    assert await JournalOutbox(LAYOUT, disk, lambda: now).list() == []


async def test_what_closed_a_question_is_known_as_long_as_the_question(place: Place) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    outbox = opened(place, lambda: now)
    asked = EgressMessage(thread_id=ROOM, text="May I?", extra={"name": "q", "approval": "apr_1"})
    told = EgressMessage(
        thread_id=ROOM, text="Allowed.", extra={"name": "c", "closes": "apr_1", "edits": "r1"}
    )
    for number, send in enumerate((asked, told)):
        await outbox.intend("", str(number), [send])
        row = await begin(outbox)
        assert row is not None
        await outbox.sent(row, "r1")
    # Else it would be closed anew each day.
    now += timedelta(days=20)
    await outbox.intend("", "2", sends("later"))
    row = await begin(outbox)
    assert row is not None
    await outbox.sent(row, "r2")
    assert [each.message.text for each in await outbox.list()] == ["May I?", "Allowed.", "later"]


async def test_what_is_gone_is_uncertain_when_the_process_ends_while_it_is_sent_anew(
    place: Place,
) -> None:
    outbox = opened(place)
    (message,) = sends("one …")
    row = await outbox.preview("run_1", "1", message)
    assert row is not None
    await outbox.shown(row, "p1")
    await outbox.intend("run_1", "1", sends("one two"))
    (row,) = await outbox.open(ROOM)
    row = await outbox.begin(await outbox.gone(row))
    assert (row.receipt, row.is_gone) == (None, True)
    later = opened(place)
    assert [(each.status, each.is_gone) for each in await later.doubt()] == [("uncertain", True)]


async def test_a_preview_that_was_on_its_way_when_the_whole_came_may_be_there_besides(
    place: Place,
) -> None:
    outbox = opened(place)
    row = await outbox.preview("run_1", "1", *sends("The beg"))
    assert row is not None
    await outbox.intend("run_1", "1", sends("The whole"))
    # The process ends before the platform has answered.
    later = opened(place)
    assert await later.doubt() == []
    assert [(each.status, each.has_stray) for each in await later.list()] == [("waiting", True)]
    await outbox.shown(row, "p1")
    assert [(each.receipt, each.has_stray) for each in await opened(place).list()] == [("p1", False)]

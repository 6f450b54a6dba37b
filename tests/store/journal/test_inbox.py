"""The inbox keeps every event once and in order, whenever it is read again."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISDIR
from typing import overload

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.errors import StorageError, UserError
from shipmate.store.journal.inbox import JournalInbox
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.port import Inbox, InboxRow, Outbox
from shipmate.store.postgres.database import PostgresDatabase
from shipmate.store.postgres.postgres_store import PostgresStore
from shipmate.values.event import EgressMessage, Outcome, TextEvent
from shipmate.workspace.disk.disk import Disk, append_to, read_file
from shipmate.workspace.disk.memory_disk import MemoryDisk
from shipmate.workspace.layout import Layout
from tests.support.search import examples
from tests.support.store import Place

ROOM = "web:room:1"
LAYOUT = Layout(Path("/ship"))
REPLIED = Outcome(run_id="run_1", message_id="msg_1", status="replied", text="hi")


def event(message_id: str, thread_id: str = ROOM, platform: str = "web") -> TextEvent:
    return TextEvent(
        platform=platform,
        thread_id=thread_id,
        user_id="ann",
        message_id=message_id,
        timestamp="t",
        text=message_id,
    )


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


@overload
def opened(place: Disk, clock: Callable[[], datetime] | None = None) -> JournalInbox: ...
@overload
def opened(place: Place, clock: Callable[[], datetime] | None = None) -> Inbox: ...
def opened(place: Place, clock: Callable[[], datetime] | None = None) -> Inbox:
    """Open the inbox that lies in a place, as the next process does."""
    if isinstance(place, PostgresDatabase):
        return PostgresStore(place, clock).inbox
    disk, ticking = place, clock or (lambda: datetime.now(UTC))
    return JournalInbox(LAYOUT, JournalOutbox(LAYOUT, disk, ticking), disk, ticking)


def outbox_of(place: Place) -> Outbox:
    return (
        PostgresStore(place).outbox if isinstance(place, PostgresDatabase) else JournalOutbox(LAYOUT, place)
    )


async def test_an_event_is_accepted_once_and_a_repeat_gets_the_outcome(place: Place) -> None:
    inbox = opened(place)
    row, is_new = await inbox.accept(event("m1"))
    again, repeated = await inbox.accept(event("m1"))
    assert (is_new, repeated, again.seq) == (True, False, row.seq)
    await inbox.take([row], "run_1")
    await inbox.finish([row], REPLIED)
    done, _ = await inbox.accept(event("m1"))
    assert (done.status, done.outcome) == ("done", REPLIED)
    assert await inbox.open(ROOM) == []


async def test_the_key_is_thread_platform_and_message_id(place: Place) -> None:
    inbox = opened(place)
    await inbox.accept(event("m1"))
    _, is_new = await inbox.accept(event("m1", "cli:dm:ann", "cli"))
    _, elsewhere = await inbox.accept(event("m1", "web:room:2"))
    assert (is_new, elsewhere) == (True, True)
    assert await inbox.threads() == [ROOM, "cli:dm:ann", "web:room:2"]


async def test_d4_open_rows_keep_their_order_their_run_and_their_attempts_without_any_database(
    place: Place,
) -> None:
    inbox = opened(place)
    for name in ("m1", "m2", "m3"):
        await inbox.accept(event(name))
    await inbox.take((await inbox.open(ROOM))[:1], "run_1")
    await inbox.ask("run_1", 0)
    rows = await opened(place).open(ROOM)
    assert [(row.event.message_id, row.status, row.run_id, row.attempts) for row in rows] == [
        ("m1", "running", "run_1", 1),
        ("m2", "waiting", None, 0),
        ("m3", "waiting", None, 0),
    ]


async def test_d13_attempts_count_what_reached_the_model_and_got_no_further(place: Place) -> None:
    inbox = opened(place)
    row, _ = await inbox.accept(event("m1"))

    async def attempts() -> int:
        (found,) = await opened(place).open(ROOM)
        return found.attempts

    await inbox.take([row], "run_1")
    assert await attempts() == 0
    for _ in range(3):
        await inbox.ask("run_1", 0)
    assert await attempts() == 3
    # A process that leaves takes its attempt back, once.
    await inbox.leave("run_1")
    await inbox.leave("run_1")
    assert await attempts() == 2
    # Getting further counts anew.
    await inbox.ask("run_1", 4)
    assert await attempts() == 1


async def test_only_what_still_waits_can_be_withdrawn(place: Place) -> None:
    inbox = opened(place)
    row, _ = await inbox.accept(event("m1"))
    await inbox.accept(event("m2"))
    await inbox.take([row], "run_1")
    assert await inbox.withdraw(ROOM, "m1") is None
    withdrawn = await inbox.withdraw(ROOM, "m2")
    assert withdrawn is not None
    assert withdrawn.status == "withdrawn"
    # Whoever was not told may ask again, also the next process.
    assert await opened(place).withdraw(ROOM, "m2") == withdrawn
    assert [row.event.message_id for row in await opened(place).open(ROOM)] == ["m1"]


async def test_a_withdrawn_row_can_neither_be_taken_nor_finished(place: Place) -> None:
    inbox = opened(place)
    row, _ = await inbox.accept(event("m1"))
    await inbox.withdraw(ROOM, "m1")
    assert await inbox.take([row], "run_1") == []
    await inbox.finish([row], REPLIED, [EgressMessage(thread_id=ROOM, text="x")])
    found = await opened(place).find(event("m1"))
    assert found is not None
    assert (found.status, found.outcome) == ("withdrawn", None)
    assert await outbox_of(place).list() == []


async def test_a_stopped_run_is_stopped_for_whoever_takes_it_up(place: Place) -> None:
    inbox = opened(place)
    row, _ = await inbox.accept(event("m1"))
    await inbox.accept(event("m2"))
    await inbox.take([row], "run_1")
    await inbox.stop("run_1")
    assert [each.is_stopped for each in await opened(place).open(ROOM)] == [True, False]


async def test_finished_rows_are_remembered_for_hours_and_numbers_go_on(place: Place) -> None:
    clock = Clock()
    inbox = opened(place, clock)
    row, _ = await inbox.accept(event("m1"))
    await inbox.finish([row], REPLIED)
    clock.now += timedelta(hours=7)
    assert await opened(place, clock).find(event("m1")) is not None
    clock.now += timedelta(hours=2)
    assert await opened(place, clock).find(event("m1")) is None
    again, is_new = await inbox.accept(event("m1"))
    assert (is_new, again.seq) == (True, row.seq + 1)


async def test_a_file_much_longer_than_what_it_holds_is_written_anew(disk: MemoryDisk) -> None:
    clock = Clock()
    inbox = opened(disk, clock)
    last = 0
    for number in range(600):
        row, _ = await inbox.accept(event(f"m{number}"))
        await inbox.finish([row], REPLIED)
        clock.now += timedelta(hours=1)
        last = row.seq
    lines = read_file(disk, LAYOUT.inbox).count(b"\n")
    assert lines < 600
    row, _ = await opened(disk, clock).accept(event("next"))
    assert row.seq == last + 1


async def test_a_torn_last_line_never_counted(disk: MemoryDisk) -> None:
    inbox = opened(disk)
    row, _ = await inbox.accept(event("m1"))
    # One that waits would have the whole file written anew.
    await inbox.finish([row], REPLIED)
    handle = disk.open(LAYOUT.inbox, 2)
    size = disk.fstat(handle).st_size
    disk.close(handle)
    append_to(disk, LAYOUT.inbox, b'{"do":"accept","seq":2,"at":"t","eve')
    later = opened(disk)
    assert await later.find(event("m1")) is not None
    row, _ = await later.accept(event("m2"))
    assert row.seq == 2
    assert read_file(disk, LAYOUT.inbox)[size:].startswith(b'{"do":"accept","seq":2,"at":"2')


@pytest.mark.parametrize(
    "line", [b"rubbish", b'{"do":"fly"}', b"[1]", b'{"do":"accept","seq":"x"}', b"\xff\xfe", b"[" * 5000, b""]
)
async def test_a_line_that_cannot_be_read_is_set_aside_and_named(
    disk: MemoryDisk, caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    inbox = opened(disk)
    await inbox.accept(event("m1"))
    append_to(disk, LAYOUT.inbox, line + b"\n")
    await inbox.accept(event("m2"))
    with caplog.at_level(logging.WARNING):
        later = opened(disk)
        assert [row.event.message_id for row in await later.open(ROOM)] == ["m1", "m2"]
    (kept,) = disk.listdir(LAYOUT.damaged)
    assert read_file(disk, LAYOUT.damaged / kept) == line + b"\n"
    assert f".ship/damaged/{kept}" in caplog.text
    # The file is whole again: the next one finds nothing to set aside.
    await opened(disk).open(ROOM)
    assert disk.listdir(LAYOUT.damaged) == [kept]


async def test_a_repeated_finish_sends_once_also_after_a_crash_in_between(disk: MemoryDisk) -> None:
    inbox = opened(disk)
    row, _ = await inbox.accept(event("m1"))
    await inbox.take([row], "run_1")
    before = read_file(disk, LAYOUT.inbox)
    sends = [EgressMessage(thread_id=ROOM, text="one"), EgressMessage(thread_id=ROOM, text="two")]
    await inbox.finish([row], REPLIED, sends)
    await inbox.finish([row], REPLIED, sends)
    # The intents came to the disk, the outcome did not.
    handle = disk.open(LAYOUT.inbox, 2)
    disk.ftruncate(handle, len(before))
    disk.close(handle)
    later = opened(disk)
    await later.finish(await later.open(ROOM), REPLIED, sends)
    assert [each.message.text for each in await JournalOutbox(LAYOUT, disk).list()] == ["one", "two"]


async def test_what_cannot_be_written_down_is_refused_and_leaves_nothing(place: Place) -> None:
    inbox = opened(place)
    with pytest.raises(UserError, match="half a character"):
        await inbox.accept(event("\ud800"))
    assert await inbox.threads() == []


@pytest.mark.parametrize("broken", ["write", "fdatasync"])
async def test_what_the_disk_refused_is_not_accepted_and_can_be_sent_again(broken: str) -> None:
    class Refusing(MemoryDisk):
        is_full = False

        def write(self, handle: int, data: bytes) -> int:
            if self.is_full and broken == "write":
                super().write(handle, data[:5])
                raise OSError(errno.ENOSPC, "full")
            return super().write(handle, data)

        def fdatasync(self, handle: int) -> None:
            if self.is_full:
                raise OSError(errno.EIO, "broken")

    disk = Refusing()
    inbox = opened(disk)
    await inbox.accept(event("m1"))
    disk.is_full = True
    with pytest.raises(StorageError, match=r"cannot use \.ship/inbox\.jsonl: ") as caught:
        await inbox.accept(event("m2"))
    assert "/ship/.ship" not in str(caught.value)
    disk.is_full = False
    assert [row.event.message_id for row in await inbox.open(ROOM)] == ["m1"]
    row, is_new = await inbox.accept(event("m2"))
    assert (is_new, row.seq) == (True, 2)
    assert [row.event.message_id for row in await opened(disk).open(ROOM)] == ["m1", "m2"]


async def test_what_was_confirmed_would_survive_a_power_cut() -> None:
    class Recording(MemoryDisk):
        synced = b""

        def fdatasync(self, handle: int) -> None:
            super().fdatasync(handle)
            self.synced = self.pread(handle, 1 << 20, 0)

    disk = Recording()
    inbox = opened(disk)
    row, _ = await inbox.accept(event("m1"))
    assert b'"accept"' in disk.synced
    await inbox.take([row], "run_1")
    await inbox.stop("run_1")
    assert b'"stop"' in disk.synced
    await inbox.accept(event("m2"))
    await inbox.withdraw(ROOM, "m2")
    assert b'"withdraw"' in disk.synced
    # Nothing in a thread tells how this ended.
    row, _ = await inbox.accept(event("m3"))
    await inbox.finish([row], Outcome(run_id="", status="failed", error="there is no pin 2"))
    assert b'"there is no pin 2"' in disk.synced


@pytest.mark.parametrize("withdrawn", [False, True])
async def test_what_a_killed_process_had_not_put_on_disk_is_before_it_is_relied_on(withdrawn: bool) -> None:
    first = Stuck()
    inbox = opened(first)
    await inbox.accept(event("m1"))
    if withdrawn:
        await inbox.withdraw(ROOM, "m1")
    # As a kill between the write and the sync leaves it: there for all who read, and not yet on disk.
    disk = Stuck()
    append_to(disk, LAYOUT.inbox, read_file(first, LAYOUT.inbox), waits=False)
    later = opened(disk)
    await later.load()
    _, is_new = await later.accept(event("m1"))
    assert not is_new
    assert disk.synced == read_file(disk, LAYOUT.inbox)


class Stuck(MemoryDisk):
    """A disk that takes a line, then says it did not, and cannot take it back; renames can fail too."""

    is_stuck = False
    refused = 0
    synced = b""

    def fdatasync(self, handle: int) -> None:
        if self.is_stuck:
            raise OSError(errno.EIO, "broken")
        super().fdatasync(handle)
        self.synced = self.pread(handle, 1 << 20, 0)

    def fsync(self, handle: int) -> None:
        super().fsync(handle)
        if not S_ISDIR(self.fstat(handle).st_mode):
            self.synced = self.pread(handle, 1 << 20, 0)

    def ftruncate(self, handle: int, size: int) -> None:
        if self.is_stuck:
            raise OSError(errno.EIO, "broken")
        super().ftruncate(handle, size)

    def rename(self, source: Path, target: Path) -> None:
        if self.is_stuck:
            self.refused += 1
            raise OSError(errno.ENOSPC, "full")
        super().rename(source, target)


async def test_a_refused_line_that_stays_on_disk_takes_no_other_lines_place() -> None:
    disk = Stuck()
    inbox = opened(disk)
    disk.is_stuck = True
    with pytest.raises(StorageError):
        await inbox.accept(event("m1"))
    disk.is_stuck = False
    await inbox.accept(event("m2"))
    later = opened(disk)
    rows = [(await later.accept(event(message_id)))[0] for message_id in ("m1", "m2")]
    assert [row.event for row in rows] == [event("m1"), event("m2")]
    assert rows[0].seq != rows[1].seq
    assert sorted(row.event.message_id for row in await opened(disk).open(ROOM)) == ["m1", "m2"]


async def test_a_file_that_was_in_doubt_is_put_on_disk_once() -> None:
    disk = Stuck()
    inbox = opened(disk)
    disk.is_stuck = True
    with pytest.raises(StorageError):
        await inbox.accept(event("m1"))
    disk.is_stuck = False
    await inbox.accept(event("m1"))
    assert b'"m1"' in disk.synced
    written = disk.stat(LAYOUT.inbox).st_ino
    await inbox.accept(event("m2"))
    assert disk.stat(LAYOUT.inbox).st_ino == written


@pytest.mark.parametrize("is_done", [False, True])
async def test_what_a_killed_process_failed_to_put_on_disk_is_written_anew_before_it_is_relied_on(
    is_done: bool,
) -> None:
    """No later sync looks at what a failed one left behind, so syncing the same file again is no proof."""
    disk = Stuck()
    inbox = opened(disk)
    row, _ = await inbox.accept(event("m0"))
    await inbox.finish([row], REPLIED)
    if not is_done:
        disk.is_stuck = True
        with pytest.raises(StorageError):
            await inbox.accept(event("m1"))
        disk.is_stuck = False
    left = disk.stat(LAYOUT.inbox).st_ino
    later = opened(disk)
    await later.load()
    # What its thread tells again is worth no second file.
    assert (disk.stat(LAYOUT.inbox).st_ino == left) is is_done
    assert [row.event.message_id for row in await later.open(ROOM)] == ([] if is_done else ["m1"])
    assert disk.synced == read_file(disk, LAYOUT.inbox)


async def test_a_disk_too_full_to_write_the_file_anew_costs_no_answer_and_is_not_asked_each_time() -> None:
    clock = Clock()
    inbox = opened(disk := Stuck(), clock)
    for number in range(300):
        row, _ = await inbox.accept(event(f"m{number}"))
        clock.now += timedelta(hours=9)
        disk.is_stuck = number >= 240
        await inbox.finish([row], REPLIED)
        disk.is_stuck = False
    assert disk.refused == 1
    assert await inbox.open(ROOM) == []
    assert await opened(disk, clock).open(ROOM) == []


async def test_a_send_that_could_not_be_noted_leaves_its_answer_open() -> None:
    class Refusing(MemoryDisk):
        def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
            if path == LAYOUT.outbox and flags & os.O_CREAT:
                raise OSError(errno.ENOSPC, "full")
            return super().open(path, flags, mode)

    inbox = opened(disk := Refusing())
    row, _ = await inbox.accept(event("m1"))
    sends = [EgressMessage(thread_id=ROOM, text="one")]
    with pytest.raises(StorageError):
        await inbox.finish([row], REPLIED, sends)
    assert [row.event.message_id for row in await opened(disk).open(ROOM)] == ["m1"]


async def test_numbers_go_on_when_a_file_with_nothing_left_in_it_is_written_anew(disk: MemoryDisk) -> None:
    inbox = opened(disk, clock := Clock())
    row, _ = await inbox.accept(event("m1"))
    await inbox.finish([row], REPLIED)
    clock.now += timedelta(hours=9)
    append_to(disk, LAYOUT.inbox, b"rubbish\n")
    await opened(disk, clock).load()
    later, _ = await opened(disk, clock).accept(event("m2"))
    assert later.seq == row.seq + 1


Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["accept", "hear", "take", "ask", "leave", "stop", "withdraw", "finish", "wait", "reload"]
        ),
        st.integers(0, 5),
        st.integers(0, 2),
    ),
    max_size=40,
)


async def play(inbox: JournalInbox, step: Step, clock: Clock) -> None:
    what, which, number = step
    message, run = event(f"m{which}", f"web:room:{which % 2}"), f"run_{number}"
    row = await inbox.find(message)
    rows = [row] if row else []
    if what == "accept":
        await inbox.accept(message)
    elif what == "hear" and row:
        await inbox.hear(row, msgspec.structs.replace(message, text=f"heard {number}"))
    elif what == "take":
        await inbox.take(rows, run)
    elif what == "ask":
        await inbox.ask(run, number)
    elif what == "leave":
        await inbox.leave(run)
    elif what == "stop":
        await inbox.stop(run)
    elif what == "withdraw":
        await inbox.withdraw(message.thread_id, message.message_id)
    elif what == "finish":
        await inbox.finish(rows, Outcome(run_id=run, status="replied", text=f"{which}"))
    elif what == "wait":
        clock.now += timedelta(hours=3 * number)


async def state(inbox: JournalInbox) -> tuple[list[str], list[list[InboxRow]], list[InboxRow | None]]:
    messages = [event(f"m{which}", f"web:room:{which % 2}") for which in range(6)]
    return (
        await inbox.threads(),
        [await inbox.open(f"web:room:{number}") for number in range(2)],
        [await inbox.find(message) for message in messages],
    )


@settings(max_examples=examples(200))
@given(steps, st.booleans())
async def test_any_history_read_again_at_any_point_is_the_same(history: list[Step], compacts: bool) -> None:
    clock = Clock()
    steady, restarted = opened(MemoryDisk(), clock), opened(disk := MemoryDisk(), clock)
    for step in history:
        await play(steady, step, clock)
        await play(restarted, step, clock)
        if step[0] == "reload":
            if compacts:
                restarted._file.replace(restarted._lines())  # pyright: ignore[reportPrivateUsage]
            restarted = opened(disk, clock)
            await restarted.load()
    await steady.accept(event("last"))
    await restarted.accept(event("last"))
    assert await state(steady) == await state(opened(disk, clock)) == await state(restarted)


class StubbornDisk(MemoryDisk):
    """A disk that takes a line, fails to sync it, and cannot cut it off again."""

    is_broken = False

    def fdatasync(self, handle: int) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, "broken")

    def ftruncate(self, handle: int, size: int) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, "broken")
        super().ftruncate(handle, size)


async def test_a_refused_event_whose_line_stays_is_never_taken_for_another() -> None:
    disk = StubbornDisk()
    inbox = opened(disk)
    disk.is_broken = True
    with pytest.raises(StorageError):
        await inbox.accept(event("refused"))
    disk.is_broken = False
    await inbox.accept(event("taken"))
    assert (await inbox.accept(event("refused")))[0].event.message_id == "refused"
    rows = await opened(disk).open(ROOM)
    assert [row.event.message_id for row in rows] == ["refused", "taken"]
    assert len({row.seq for row in rows}) == 2

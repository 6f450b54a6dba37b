"""The log keeps every acknowledged row, cuts torn tails and reports what it cannot read."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from unittest import mock

import pytest

from shipmate.errors import NotFoundError, StorageError, UserError
from shipmate.thread.log import FileLog, Log, Position
from shipmate.thread.row import encode_row
from shipmate.values.message import UIMessage, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.simulation.disk import Locks, SimDisk
from tests.simulation.volume import Volume
from tests.support.store import any_log
from tests.support.wait import LONG

ROOM = ThreadId("web", "room", "1")


def rows(count: int) -> list[UIMessage]:
    return [user_message(f"m{number}", f"文 {number} 🙂\n") for number in range(count)]


@pytest.fixture(params=["file", "memory", "postgres"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Log]:
    async with any_log(request, request.param, tmp_path) as made:
        yield made


async def test_rows_come_back_in_order_and_only_the_new_ones_after_a_position(log: Log) -> None:
    await log.append(ROOM, rows(3))
    first = await log.read(ROOM, Position())
    await log.append(ROOM, rows(5)[3:])
    second = await log.read(ROOM, first.position)
    assert [row["id"] for row in first.rows + second.rows] == ["m0", "m1", "m2", "m3", "m4"]
    assert not second.restarted


async def test_creating_is_all_or_nothing_and_refuses_an_existing_thread(log: Log) -> None:
    await log.create(ROOM, rows(2))
    with pytest.raises(UserError, match="exists already"):
        await log.create(ROOM, rows(9))
    assert len((await log.read(ROOM, Position())).rows) == 2


async def test_a_thread_goes_to_the_bin_and_comes_back(log: Log) -> None:
    await log.append(ROOM, rows(2))
    await log.bin(ROOM)
    assert not await log.exists(ROOM)
    assert await log.ids() == []
    await log.restore(ROOM)
    assert len((await log.read(ROOM, Position())).rows) == 2
    with pytest.raises(NotFoundError):
        await log.restore(ROOM)


async def test_a_thread_that_is_removed_leaves_nothing(log: Log, tmp_path: Path) -> None:
    await log.append(ROOM, rows(2))
    async with log.lock(ROOM):
        await log.remove(ROOM)
    assert not await log.exists(ROOM)
    assert await log.ids() == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    await log.remove(ROOM)
    await log.append(ROOM, rows(1))
    assert [row["id"] for row in (await log.read(ROOM, Position())).rows] == ["m0"]


async def test_a_replaced_log_is_read_from_its_start(log: Log) -> None:
    await log.append(ROOM, rows(5))
    position = (await log.read(ROOM, Position())).position
    await log.bin(ROOM)
    await log.append(ROOM, rows(1))
    tail = await log.read(ROOM, position)
    assert tail.restarted
    assert [row["id"] for row in tail.rows] == ["m0"]


async def test_a_log_replaced_by_a_longer_one_is_read_from_its_start(tmp_path: Path) -> None:
    log = FileLog(Layout(tmp_path))
    await log.append(ROOM, rows(1))
    position = (await log.read(ROOM, Position())).position
    await log.bin(ROOM)
    await log.append(ROOM, rows(5))
    tail = await log.read(ROOM, position)
    assert (tail.restarted, tail.problems) == (True, [])
    assert [row["id"] for row in tail.rows] == ["m0", "m1", "m2", "m3", "m4"]


async def test_a_log_written_over_in_place_is_read_from_its_start(tmp_path: Path) -> None:
    log = FileLog(layout := Layout(tmp_path))
    await log.append(ROOM, rows(1))
    position = (await log.read(ROOM, Position())).position
    # As copying an older file over it does: the file keeps its number.
    row: UIMessage = {"id": "other", "role": "user", "parts": [{"type": "text", "text": "x" * 999}]}
    layout.thread(ROOM).write_bytes(encode_row(row))
    tail = await log.read(ROOM, position)
    assert (tail.restarted, tail.problems, [row["id"] for row in tail.rows]) == (True, [], ["other"])


async def test_a_tail_torn_at_any_byte_costs_only_the_row_it_belongs_to(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    log = FileLog(layout)
    await log.append(ROOM, rows(3))
    whole = layout.thread(ROOM).read_bytes()
    kept = len(b"".join(whole.splitlines(keepends=True)[:2]))
    for cut in range(kept, len(whole) - 1):
        layout.thread(ROOM).write_bytes(whole[:cut])
        assert len((await log.read(ROOM, Position())).rows) == 2
        await log.append(ROOM, rows(4)[3:])
        after = await log.read(ROOM, Position())
        assert [row["id"] for row in after.rows] == ["m0", "m1", "m3"]
        assert after.problems == []


async def test_a_whole_last_row_without_its_newline_is_kept(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    log = FileLog(layout)
    await log.append(ROOM, rows(2))
    layout.thread(ROOM).write_bytes(layout.thread(ROOM).read_bytes().rstrip(b"\n"))
    await log.append(ROOM, rows(3)[2:])
    assert [row["id"] for row in (await log.read(ROOM, Position())).rows] == ["m0", "m1", "m2"]


async def test_a_corrupt_row_in_the_middle_is_reported_by_line_and_stays_in_the_file(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    log = FileLog(layout)
    await log.append(ROOM, rows(2))
    with layout.thread(ROOM).open("ab") as file:
        file.write(b'{"id": "broken", "role"\n{"id": 5}\n\xff\xfe\n[]\n')
    await log.append(ROOM, rows(3)[2:])
    tail = await log.read(ROOM, Position())
    assert [row["id"] for row in tail.rows] == ["m0", "m1", "m2"]
    assert [problem.line for problem in tail.problems] == [3, 4, 5, 6]
    assert b'{"id": "broken"' in layout.thread(ROOM).read_bytes()


async def test_a_full_disk_loses_nothing_that_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    log = FileLog(layout)
    await log.append(ROOM, rows(2))
    real_write = os.write

    def write_half(handle: int, data: bytes) -> int:
        real_write(handle, bytes(data)[: len(data) // 2])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", write_half)
    with pytest.raises(StorageError, match="No space left"):
        await log.append(ROOM, rows(3)[2:])
    monkeypatch.undo()
    assert len((await log.read(ROOM, Position())).rows) == 2
    await log.append(ROOM, rows(3)[2:])
    assert len((await log.read(ROOM, Position())).rows) == 3


async def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / ".ship").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"cannot use \.ship/threads/\S+: Not a directory"):
        await FileLog(Layout(tmp_path)).append(ROOM, rows(1))


async def test_files_are_private_and_foreign_files_are_no_threads(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    log = FileLog(layout)
    await log.append(ROOM, rows(1))
    (layout.threads / "notes.jsonl").write_text("not ours")
    assert layout.thread(ROOM).stat().st_mode & 0o777 == 0o600
    assert layout.threads.stat().st_mode & 0o777 == 0o700
    assert await log.ids() == [ROOM]


async def test_the_lock_excludes_another_process_and_dies_with_its_holder(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    command = (sys.executable, "-c", HOLD_LOCK, str(tmp_path))
    holder = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    with pytest.raises(asyncio.TimeoutError):
        async with asyncio.timeout(0.1), FileLog(layout).lock(ROOM):
            pass
    holder.kill()
    await holder.communicate()
    async with asyncio.timeout(LONG), FileLog(layout).lock(ROOM):
        free = True
    assert free


HOLD_LOCK = """
import asyncio, sys
from pathlib import Path
from shipmate.thread.log import FileLog
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

async def main():
    async with FileLog(Layout(Path(sys.argv[1]))).lock(ThreadId("web", "room", "1")):
        print("held", flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


async def test_a_thread_in_the_bin_is_not_lost_to_another_of_its_name(tmp_path: Path) -> None:
    log = FileLog(layout := Layout(tmp_path))
    await log.append(ROOM, rows(1))
    await log.bin(ROOM)
    await log.append(ROOM, rows(2))
    binned, live = layout.thread_bin(ROOM).read_bytes(), layout.thread(ROOM).read_bytes()
    with pytest.raises(UserError, match="exists already in the bin"):
        await log.bin(ROOM)
    with pytest.raises(UserError, match="exists already in the threads"):
        await log.restore(ROOM)
    assert (layout.thread_bin(ROOM).read_bytes(), layout.thread(ROOM).read_bytes()) == (binned, live)


class PowerCut(BaseException):
    """The machine goes off."""


class Cut:
    """A thread of one row on a disk whose power is cut before its `step`th call."""

    def __init__(self, seed: int, step: int = 0) -> None:
        self.volume = Volume(random.Random(seed), lambda: 1_000_000_000)
        self.calls = 0
        self._step = step
        layout = Layout(Path("/ship"))
        self.volume.make(layout.threads)
        self.log = FileLog(layout, SimDisk(self.volume, Locks(), self._count))
        self._reader = FileLog(layout, SimDisk(self.volume, Locks(), lambda _call, _path: None))

    async def begin(self) -> None:
        await self._reader.append(ROOM, rows(1))

    async def answer(self) -> None:
        """Append words that do not wait, twice, unless they are there, and an answer that does."""
        for place in range(len(await self.ids()), 3):
            await self.log.append(ROOM, rows(3)[place:][:1], waits=False)
        await self.log.append(ROOM, rows(4)[3:])

    async def ids(self) -> list[str]:
        tail = await self._reader.read(ROOM, Position())
        assert tail.problems == []
        return [row["id"] for row in tail.rows]

    def _count(self, _call: str, _path: str) -> None:
        self.calls += 1
        if self.calls == self._step:
            raise PowerCut


async def test_no_power_cut_leaves_an_answer_without_the_words_before_it() -> None:
    whole = Cut(0)
    await whole.begin()
    await whole.answer()
    seen = set[tuple[str, ...]]()
    for step in range(1, whole.calls + 2):
        for seed in range(40):
            cut = Cut(seed, step)
            await cut.begin()
            with contextlib.suppress(PowerCut):
                await cut.answer()
            cut.volume.cut_power()
            seen.add(tuple(await cut.ids()))
    assert seen == {("m0", "m1", "m2", "m3")[:count] for count in range(1, 5)}


@pytest.mark.parametrize("failing", [1, 2, 3])
async def test_words_that_a_failed_sync_left_in_doubt_are_not_built_upon(failing: int) -> None:
    for seed in range(100):
        cut = Cut(seed)
        await cut.begin()
        with mock.patch.object(SimDisk, "fdatasync", _fail(cut.volume, failing)), pytest.raises(StorageError):
            await cut.answer()
        await cut.answer()
        cut.volume.cut_power()
        assert await cut.ids() == ["m0", "m1", "m2", "m3"]


def _fail(volume: Volume, failing: int) -> Callable[[SimDisk, int], None]:
    """Return a sync that fails once, after so many."""
    real, count = SimDisk.fdatasync, 0

    def sync(disk: SimDisk, handle: int) -> None:
        nonlocal count
        count += 1
        volume.weather.trouble = float(count == failing)
        try:
            real(disk, handle)
        finally:
            volume.weather.trouble = 0.0

    return sync

"""The index is what the files say, whatever became of it."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.errors import StorageError
from shipmate.store.file_store import FileStore, open_store
from shipmate.store.journal.mark import MarkFiles
from shipmate.store.port import ThreadInfo
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import UIMessage, text_part, timestamp, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, OsDisk
from shipmate.workspace.layout import Layout
from tests.support.search import examples

ROOM = ThreadId.parse("web:room:1")
WORDS = ("tea", "coffee", "天气", "milk")


def said(message_id: str, text: str, at: str = "2026-01-01T00:00:00.000Z") -> UIMessage:
    return user_message(message_id, text, {"timestamp": at})


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


@pytest.fixture
async def store(layout: Layout) -> AsyncGenerator[FileStore]:
    made = open_store(layout)
    yield made
    await made.close()


async def titles(store: FileStore, **which: Any) -> dict[str, str]:
    return {info.thread_id: info.title for info in await store.threads.list(**which)}


async def test_d4_a_lost_index_is_made_again_with_given_titles_and_marks(
    layout: Layout, store: FileStore
) -> None:
    await FileLog(layout).append(ROOM, [said("m1", "hello there")])
    await store.threads.rename(str(ROOM), "Mine")
    await store.threads.set(str(ROOM), archived=True, read_at="2026-02-01", settings={"a": 1})
    assert await titles(store, archived=True) == {str(ROOM): "Mine"}
    later = open_store(layout)
    # Under two open connections.
    layout.state.unlink()
    for each in (store, later):
        (info,) = await each.threads.list(archived=True)
        assert (info.title, info.read_at, info.settings) == ("Mine", "2026-02-01", {"a": 1})
        assert [hit.message_id for hit in await each.search.find("hello")] == ["m1"]
    await later.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is no database" * 500,
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:100] + b"\xff" * (len(data) - 100),
        lambda data: data[:4096] + b"\0" * 4096 + data[8192:],
    ],
    ids=["rubbish", "empty", "half", "pages overwritten", "a page lost"],
)
@pytest.mark.parametrize("is_open", [True, False])
async def test_d5_a_damaged_index_is_set_aside_and_made_again(
    layout: Layout,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[bytes], bytes],
    *,
    is_open: bool,
) -> None:
    store = open_store(layout)
    await FileLog(layout).append(ROOM, [said("m1", "hello there")])
    assert await titles(store) == {str(ROOM): "hello there"}
    if not is_open:
        await store.close()
    layout.state.write_bytes(damaged := damage(layout.state.read_bytes()))
    for _ in range(2):
        if not is_open:
            store = open_store(layout)
        # What an open connection still has in memory is right; what it left is looked at by the next one.
        is_open = False
        await store.reconcile()
        assert await titles(store) == {str(ROOM): "hello there"}
        assert [hit.message_id for hit in await store.search.find("there")] == ["m1"]
        assert (await store.ledger.usage("")) == []
        await store.close()
    kept = sorted(layout.damaged.iterdir()) if layout.damaged.is_dir() else []
    if damaged:
        assert [path.name[:6] for path in kept] == ["state-"]
        assert f".ship/damaged/{kept[0].name}" in caplog.text
        assert str(layout.root) not in caplog.text


async def test_d4_an_index_put_back_to_an_earlier_one_catches_up(layout: Layout, store: FileStore) -> None:
    log = FileLog(layout)
    await log.append(ROOM, [said("m1", "first")])
    await store.reconcile()
    copy = layout.state.read_bytes()
    await log.append(ROOM, [said("m2", "second", "2026-01-02T00:00:00.000Z")])
    other = ThreadId.parse("web:room:2")
    await log.append(other, [said("m3", "third")])
    await store.reconcile()
    await store.threads.rename(str(other), "Renamed")
    layout.state.unlink()
    layout.state.write_bytes(copy)
    found = {info.thread_id: (info.title, info.message_count) for info in await store.threads.list()}
    assert found == {str(ROOM): ("first", 2), str(other): ("Renamed", 1)}
    assert [hit.message_id for hit in await store.search.find("second")] == ["m2"]


async def test_d11_what_has_no_file_is_not_listed(layout: Layout, store: FileStore) -> None:
    await store.threads.create(str(ROOM), title="never made")
    await store.threads.note(str(ROOM), [said("m1", "a ghost")])
    assert await store.threads.list() == []
    assert await store.threads.find(str(ROOM)) is None
    await FileLog(layout).append(ROOM, [said("m1", "there now")])
    assert (await store.threads.find(str(ROOM))) is not None
    layout.thread(ROOM).unlink()
    assert await store.threads.list() == []
    assert await store.search.find("there") == []


async def test_d11_a_note_after_a_kill_finds_all_that_was_missed(layout: Layout, store: FileStore) -> None:
    threads = ThreadService(FileLog(layout))
    async with threads.open(ROOM) as thread:
        await thread.append(said("m1", "tea"))
        await store.threads.note(str(ROOM), thread.messages)
        # A process that was killed before it could note what it wrote.
        await thread.append(said("m2", "coffee"))
        await thread.append({"id": "m1", "role": "user", "parts": [text_part("and milk")]})
        await thread.append(said("m3", "water"))
        await store.threads.note(str(ROOM), thread.messages)
    for word, message_id in (("coffee", "m2"), ("milk", "m1"), ("water", "m3"), ("tea", "m1")):
        assert [hit.message_id for hit in await store.search.find(word)] == [message_id]
    fresh = await rebuilt(layout)
    assert await snapshot(store) == fresh


async def test_d12_equal_times_are_paged_to_the_end(layout: Layout, store: FileStore) -> None:
    for number in range(7):
        await FileLog(layout).append(ThreadId("web", "room", str(number)), [said("m", f"talk {number}")])
    seen: list[str] = []
    before: str | None = None
    while page := await store.threads.list(limit=2, before=before):
        seen += [info.thread_id for info in page]
        before = page[-1].cursor
    assert seen == [f"web:room:{number}" for number in range(7)]


async def test_the_event_loop_goes_on_while_threads_are_read(layout: Layout, store: FileStore) -> None:
    log = FileLog(layout)
    for number in range(50):
        await log.append(ThreadId("web", "room", str(number)), [said("m", "words " * 50)])
    told: list[tuple[int, int]] = []
    turns = 0
    task = asyncio.create_task(store.reconcile(lambda done, total: told.append((done, total))))
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    found = await task
    assert (found.threads, found.messages, found.changed) == (50, 50, 50)
    assert told == [(number, 50) for number in range(1, 51)]
    assert turns >= 50
    assert (await store.reconcile()).changed == 0


async def test_an_index_of_a_newer_version_is_refused_and_left_alone(layout: Layout) -> None:
    await open_store(layout).close()
    with sqlite3.connect(layout.state) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match=r"\.ship/state\.db was made by a newer Shipmate"):
        open_store(layout)
    assert not layout.damaged.exists()


async def test_the_title_is_the_first_words_until_a_person_gives_one(
    layout: Layout, store: FileStore
) -> None:
    await FileLog(layout).append(ROOM, [said("m1", "First line\nsecond")])
    assert await titles(store) == {str(ROOM): "First line"}
    await store.threads.rename(str(ROOM), "Mine")
    assert await titles(store) == {str(ROOM): "Mine"}
    await store.threads.rename(str(ROOM), "")
    assert await titles(store) == {str(ROOM): "First line"}


async def test_d16_a_thread_cut_to_nothing_is_told_from_one_that_has_no_words_yet(
    layout: Layout, store: FileStore
) -> None:
    threads = ThreadService(FileLog(layout))
    await store.threads.create(str(ROOM), is_new=True)
    await threads.create(ROOM, [])
    await store.threads.note(str(ROOM), [])
    assert [info.message_count for info in await store.threads.list()] == [0]
    assert (await threads.read(ROOM)).problems == []
    async with threads.open(ROOM) as thread:
        await thread.append(said("m1", "words"))
        await store.threads.note(str(ROOM), thread.messages)
    layout.thread(ROOM).write_bytes(b"")
    for service in (threads, ThreadService(FileLog(layout))):
        (problem,) = (await service.read(ROOM)).problems
        (problem,) = (await service.read(ROOM)).problems
        assert "empty" in problem.message


Change = tuple[str, int, int]
changes = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("append", "append", "append", "grow", "note", "bin", "restore", "rename", "archive"),
                *("delete", "tear", "copy", "roll back", "lose", "damage", "reconcile", "list", "find"),
            ]
        ),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=25,
)


class Ship:
    """A workspace to which things happen."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.threads = ThreadService(FileLog(self.layout))
        self.store = open_store(self.layout)
        self.copies: list[bytes] = []
        self.count = 0

    async def play(self, change: Change) -> None:
        what, which, number = change
        await getattr(self, what.replace(" ", "_"))(ThreadId("web", "room", str(which)), number)

    async def append(self, thread_id: ThreadId, number: int) -> None:
        self.count += 1
        async with self.threads.open(thread_id) as thread:
            await thread.append(said(f"m{self.count}", WORDS[number], timestamp()))

    async def grow(self, thread_id: ThreadId, number: int) -> None:
        async with self.threads.open(thread_id) as thread:
            if thread.messages:
                grown = thread.messages[number % len(thread.messages)]
                await thread.append({"id": grown["id"], "role": "user", "parts": [text_part(WORDS[number])]})

    async def note(self, thread_id: ThreadId, number: int) -> None:
        async with self.threads.open(thread_id) as thread:
            if thread.messages:
                await self.store.threads.note(str(thread_id), thread.messages, member=f"m{number}")

    async def bin(self, thread_id: ThreadId, number: int) -> None:
        if await self.threads.exists(thread_id) and not self.layout.thread_bin(thread_id).exists():
            await self.threads.bin(thread_id)
            if number:
                await self.store.threads.refresh(str(thread_id))

    async def restore(self, thread_id: ThreadId, number: int) -> None:
        if self.layout.thread_bin(thread_id).exists() and not await self.threads.exists(thread_id):
            await self.threads.restore(thread_id)
            if number:
                await self.store.threads.refresh(str(thread_id))

    async def rename(self, thread_id: ThreadId, number: int) -> None:
        await self.store.threads.rename(str(thread_id), WORDS[number] if number else "")

    async def archive(self, thread_id: ThreadId, number: int) -> None:
        await self.store.threads.set(str(thread_id), archived=bool(number % 2))

    async def delete(self, thread_id: ThreadId, number: int) -> None:
        self.layout.thread(thread_id).unlink(missing_ok=True)

    async def tear(self, thread_id: ThreadId, number: int) -> None:
        if self.layout.thread(thread_id).exists():
            with self.layout.thread(thread_id).open("ab") as file:
                file.write(b'{"id": "torn"')

    async def copy(self, thread_id: ThreadId, number: int) -> None:
        if self.layout.state.exists():
            self.copies.append(self.layout.state.read_bytes())

    async def roll_back(self, thread_id: ThreadId, number: int) -> None:
        if self.copies:
            if number:
                self.layout.state.unlink(missing_ok=True)
            self.layout.state.write_bytes(self.copies[number % len(self.copies)])

    async def lose(self, thread_id: ThreadId, number: int) -> None:
        self.layout.state.unlink(missing_ok=True)

    async def damage(self, thread_id: ThreadId, number: int) -> None:
        self.layout.state.write_bytes(b"rubbish" * 1000)

    async def reconcile(self, thread_id: ThreadId, number: int) -> None:
        await self.store.reconcile()

    async def list(self, thread_id: ThreadId, number: int) -> None:
        present = {str(each) for each in await self.threads.ids()}
        listed = {info.thread_id for info in await self.store.threads.list(archived=None)}
        assert listed <= present

    async def find(self, thread_id: ThreadId, number: int) -> None:
        found = await self.store.threads.find(str(thread_id))
        has_file = await self.threads.exists(thread_id)
        assert (found is not None and not found.binned) == has_file


Snapshot = tuple[list[ThreadInfo], dict[str, set[tuple[str, str, str]]]]


async def snapshot(store: FileStore) -> Snapshot:
    listed = [
        info for binned in (False, True) for info in await store.threads.list(archived=None, binned=binned)
    ]
    hits = {
        word: {(hit.thread_id, hit.message_id, hit.text) for hit in await store.search.find(word)}
        for word in WORDS
    }
    return listed, hits


async def rebuilt(layout: Layout) -> Snapshot:
    fresh = open_store(layout, database=layout.ship / "fresh.db")
    try:
        await fresh.reconcile(anew=True)
        return await snapshot(fresh)
    finally:
        await fresh.close()


@settings(max_examples=examples(60))
@given(changes)
async def test_after_any_history_the_index_is_that_of_a_rebuild(
    tmp_path_factory: pytest.TempPathFactory, history: list[Change]
) -> None:
    root = tmp_path_factory.mktemp("ship")
    ship = Ship(root)
    try:
        for change in history:
            await ship.play(change)
        await ship.store.reconcile()
        assert await snapshot(ship.store) == await rebuilt(ship.layout)
    finally:
        await ship.store.close()
        shutil.rmtree(root)


async def test_d11_a_note_of_messages_older_than_the_file_tells_what_the_file_says(
    layout: Layout, store: FileStore
) -> None:
    log = FileLog(layout)
    await log.append(ROOM, [said("m1", "tea")])
    await store.threads.note(str(ROOM), [said("m1", "tea")])
    await log.append(ROOM, [said("m2", "coffee")])
    await store.threads.note(str(ROOM), [said("m1", "tea")])
    assert [hit.message_id for hit in await store.search.find("coffee")] == ["m2"]
    assert await snapshot(store) == await rebuilt(layout)


async def test_d11_a_thread_file_replaced_by_another_leaves_no_words_behind(
    layout: Layout, store: FileStore
) -> None:
    log = FileLog(layout)
    await log.append(ROOM, [said("m1", "tea")])
    await store.threads.note(str(ROOM), [said("m1", "tea")])
    layout.thread(ROOM).unlink()
    await log.create(ROOM, [said("m2", "coffee, and much more of it")])
    await store.threads.note(str(ROOM), [said("m2", "coffee, and much more of it")])
    assert await store.search.find("tea") == []
    assert await snapshot(store) == await rebuilt(layout)


async def test_d11_a_thread_that_comes_back_from_the_bin_is_found_whole(
    layout: Layout, store: FileStore
) -> None:
    log = FileLog(layout)
    await log.append(ROOM, [said("m1", "tea")])
    await log.bin(ROOM)
    await store.threads.refresh(str(ROOM))
    await log.restore(ROOM)
    await log.append(ROOM, [said("m2", "coffee")])
    await store.threads.note(str(ROOM), [said("m1", "tea"), said("m2", "coffee")])
    assert [hit.message_id for hit in await store.search.find("tea")] == ["m1"]
    assert await snapshot(store) == await rebuilt(layout)


async def test_d11_marks_and_moves_of_a_process_that_was_killed_are_seen(
    layout: Layout, store: FileStore
) -> None:
    log, marks = FileLog(layout), MarkFiles(layout, DISK)
    await log.append(ROOM, [said("m1", "tea")])
    assert await titles(store) == {str(ROOM): "tea"}
    marks.change(ROOM, {"title": "Mine"})
    found = await store.threads.find(str(ROOM))
    assert found is not None
    assert found.title == "Mine"
    marks.change(ROOM, {"title": "Yours"})
    assert (await store.reconcile()).changed == 1
    assert await titles(store) == {str(ROOM): "Yours"}
    await log.bin(ROOM)
    assert (await store.reconcile()).changed == 1
    assert await titles(store, binned=True) == {str(ROOM): "Yours"}
    layout.thread_bin(ROOM).unlink()
    assert (await store.reconcile()).dropped == 1
    assert await snapshot(store) == await rebuilt(layout)


async def test_d5_an_index_damaged_while_it_is_open_lists_all_at_once(
    layout: Layout, store: FileStore
) -> None:
    await FileLog(layout).append(ROOM, [said("m1", "hello there")])
    assert await titles(store) == {str(ROOM): "hello there"}
    layout.state.write_bytes(b"this is no database" * 500)
    assert await titles(store) == {str(ROOM): "hello there"}


async def test_d5_an_index_lost_while_it_is_compared_is_compared_again(
    layout: Layout, store: FileStore
) -> None:
    for number in range(3):
        await FileLog(layout).append(ThreadId("web", "room", str(number)), [said("m", f"talk {number}")])

    def lose(done: int, total: int) -> None:
        if done < total:
            layout.state.unlink()

    await store.reconcile(lose)
    assert sorted((await titles(store)).values()) == ["talk 0", "talk 1", "talk 2"]


async def test_d5_a_lost_page_that_no_list_reads_is_noticed(layout: Layout, store: FileStore) -> None:
    for number in range(100):
        words = " ".join(f"word{number}x{place}" for place in range(100))
        await FileLog(layout).append(ThreadId("web", "room", str(number)), [said("m", words)])
    await store.reconcile()
    await store.close()
    data = layout.state.read_bytes()
    middle = len(data) // 4096 // 2 * 4096
    layout.state.write_bytes(data[:middle] + b"\0" * 4096 + data[middle + 4096 :])
    later = open_store(layout)
    await later.reconcile()
    assert len(await later.search.find("word50x50")) == 1
    await later.close()
    assert len(list(layout.damaged.iterdir())) == 1


async def test_a_thread_that_cannot_be_read_hides_no_other(
    layout: Layout, store: FileStore, caplog: pytest.LogCaptureFixture
) -> None:
    layout.thread(ThreadId.parse("web:room:0")).mkdir(parents=True)
    await FileLog(layout).append(ROOM, [said("m1", "hello there")])
    await store.reconcile()
    assert await titles(store) == {str(ROOM): "hello there"}
    assert "web:room:0 is missing from lists and search" in caplog.text


async def test_a_thread_that_could_not_be_read_is_listed_once_it_can_be(
    layout: Layout, store: FileStore
) -> None:
    refused = layout.thread(ThreadId.parse("web:room:0"))
    refused.mkdir(parents=True)
    await store.reconcile()
    refused.rmdir()
    await FileLog(layout).append(ThreadId.parse("web:room:0"), [said("m1", "back again")])
    assert await titles(store) == {"web:room:0": "back again"}
    assert len(await store.search.find("again")) == 1


@pytest.mark.parametrize("change", ["note", "refresh", "rename"])
async def test_a_change_the_disk_would_not_tell_of_is_listed_once_it_does(
    layout: Layout, change: str
) -> None:
    class Refusing(OsDisk):
        refuses = False

        def pread(self, handle: int, size: int, offset: int) -> bytes:
            if self.refuses:
                raise OSError(errno.EIO, "Input/output error")
            return super().pread(handle, size, offset)

    disk = Refusing()
    store = open_store(layout, disk)
    rows = [said("m1", "hello there")]
    await FileLog(layout).append(ROOM, rows)
    await store.threads.note(str(ROOM), rows)
    assert await titles(store) == {str(ROOM): "hello there"}
    rows.append(said("m2", "once more"))
    await FileLog(layout).append(ROOM, rows[1:])
    changes = {
        "note": lambda: store.threads.note(str(ROOM), rows),
        "refresh": lambda: store.threads.refresh(str(ROOM)),
        "rename": lambda: store.threads.rename(str(ROOM), "Tea"),
    }
    disk.refuses = True
    with pytest.raises(StorageError):
        await changes[change]()
    disk.refuses = False
    [info] = await store.threads.list()
    assert (info.title, info.message_count) == ("Tea" if change == "rename" else "hello there", 2)
    assert len(await store.search.find("once")) == 1
    await store.close()


@pytest.mark.parametrize("folder", ["bin", "threads", "marks"])
async def test_a_folder_the_disk_would_not_list_is_a_refusal_that_callers_know(
    layout: Layout, folder: str
) -> None:
    class Refusing(OsDisk):
        refused: Path | None = None

        def listdir(self, path: Path) -> list[str]:
            if path == self.refused:
                raise OSError(errno.EIO, "Input/output error")
            return super().listdir(path)

    disk = Refusing()
    store = open_store(layout, disk)
    await FileLog(layout).append(ROOM, [said("m1", "hello there")])
    disk.refused = getattr(layout, folder)
    # Whoever takes up what waits asks for this too, and must go on after it.
    with pytest.raises(StorageError):
        await store.threads.catch_up()
    disk.refused = None
    assert await titles(store) == {str(ROOM): "hello there"}
    await store.close()


async def test_a_thread_that_a_killed_process_moved_is_listed_where_it_is(
    layout: Layout, store: FileStore
) -> None:
    await FileLog(layout).append(ROOM, [said("m1", "hello there")])
    await store.reconcile()
    # As a kill right after the move leaves it.
    await FileLog(layout).bin(ROOM)
    assert [each.thread_id for each in await store.threads.list(binned=True)] == [str(ROOM)]
    assert await titles(store) == {}
    await FileLog(layout).restore(ROOM)
    assert await titles(store) == {str(ROOM): "hello there"}
    assert await store.threads.list(binned=True) == []


async def test_what_is_in_the_bin_takes_no_place_among_what_is_found(
    layout: Layout, store: FileStore
) -> None:
    other = ThreadId.parse("web:room:2")
    for thread_id in (ROOM, other):
        await FileLog(layout).append(thread_id, [said(f"m {thread_id}", "tea")])
        await store.threads.refresh(str(thread_id))
    await FileLog(layout).bin(other)
    await store.threads.refresh(str(other))
    assert [hit.thread_id for hit in await store.search.find("tea", limit=1)] == [str(ROOM)]


async def test_what_changed_last_is_found_first_after_a_rebuild(layout: Layout, store: FileStore) -> None:
    names = [ThreadId("web", "room", str(number)) for number in (1, 3, 2)]
    for place, thread_id in enumerate(names):
        await FileLog(layout).append(thread_id, [said("m", "tea")])
        os.utime(layout.thread(thread_id), (1000 + place, 1000 + place))
    await store.reconcile(anew=True)
    found = [hit.thread_id for hit in await store.search.find("tea")]
    assert found == [str(thread_id) for thread_id in reversed(names)]


async def test_tokens_are_counted_anew_when_an_old_message_grows(layout: Layout, store: FileStore) -> None:
    async with ThreadService(FileLog(layout)).open(ROOM) as thread:
        for number in range(4):
            await thread.append(said(f"m{number}", "tea"))
        await store.threads.note(str(ROOM), thread.messages)
        await thread.append({"id": "m0", "role": "user", "parts": [text_part("and much more milk " * 50)]})
        await store.threads.note(str(ROOM), thread.messages)
    assert await snapshot(store) == await rebuilt(layout)


async def test_d4_whose_a_thread_is_outlives_the_index(layout: Layout, store: FileStore) -> None:
    await FileLog(layout).append(ROOM, [said("m1", "tea")])
    await store.threads.note(str(ROOM), [said("m1", "tea")], member="ux")
    layout.state.unlink()
    assert [info.member for info in await store.threads.list()] == ["ux"]


class Between(OsDisk):
    """A disk on which another process does something once, when the end of a thread was read."""

    def __init__(self) -> None:
        self.work: Callable[[], Any] | None = None

    def pread(self, handle: int, size: int, offset: int) -> bytes:
        found = super().pread(handle, size, offset)
        if not found and self.work is not None:
            work, self.work = self.work, None
            other = threading.Thread(target=lambda: asyncio.run(work()))
            other.start()
            other.join()
        return found


async def test_d11_words_that_another_process_noted_while_a_thread_was_read_stay_found(
    layout: Layout,
) -> None:
    async def note() -> None:
        other = open_store(layout)
        await FileLog(layout).append(ROOM, [said("m2", "coffee")])
        await other.threads.note(str(ROOM), [said("m1", "tea"), said("m2", "coffee")])
        await other.close()

    disk = Between()
    store = open_store(layout, disk=disk)
    await FileLog(layout).append(ROOM, [said("m1", "tea")])
    disk.work = note
    await store.threads.refresh(str(ROOM))
    assert disk.work is None
    assert [hit.message_id for hit in await store.search.find("coffee")] == ["m2"]
    assert await snapshot(store) == await rebuilt(layout)
    await store.close()


async def test_d11_an_index_put_back_while_a_thread_is_noted_misses_no_words(layout: Layout) -> None:
    disk = Between()
    store = open_store(layout, disk=disk)
    messages = [said("m1", "tea")]
    await FileLog(layout).append(ROOM, messages)
    await store.threads.note(str(ROOM), messages)

    async def forget() -> None:
        # As a context manager it only commits; what it leaves open, another test would be blamed for.
        with closing(sqlite3.connect(layout.state)) as database, database:
            database.execute("DELETE FROM thread")
            database.execute("DELETE FROM search")
            database.execute("DELETE FROM searched")

    messages.append(said("m2", "coffee"))
    await FileLog(layout).append(ROOM, messages[1:])
    disk.work = forget
    await store.threads.note(str(ROOM), messages)
    assert disk.work is None
    assert [hit.message_id for hit in await store.search.find("tea")] == ["m1"]
    await store.close()

"""Marks of threads are files that several may change, one change at a time."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.store.journal.mark import MarkFiles
from shipmate.thread.mark import ThreadMark
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, locked
from shipmate.workspace.layout import Layout
from tests.support.sync import ImpatientDisk

ROOM = ThreadId.parse("web:room:1")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def test_marks_come_back_and_their_stamp_changes_with_them(layout: Layout) -> None:
    marks = MarkFiles(layout, DISK)
    assert (marks.read(ROOM), marks.stamp(ROOM)) == (None, "")
    marks.change(ROOM, {"title": "Mine"})
    first = marks.stamp(ROOM)
    marks.change(ROOM, {"archived": True, "settings": {"a": 1}})
    assert MarkFiles(layout, DISK).read(ROOM) == ThreadMark(title="Mine", archived=True, settings={"a": 1})
    assert marks.stamp(ROOM) not in ("", first)
    marks.remove(ROOM)
    assert marks.read(ROOM) is None


async def test_changes_of_several_at_once_are_all_kept(layout: Layout) -> None:
    async def change(values: dict[str, object]) -> None:
        await asyncio.to_thread(MarkFiles(layout, DISK).change, ROOM, values)

    given: list[dict[str, object]] = [{"title": "t"}, {"archived": True}, {"read_at": "r"}, {"member": "ux"}]
    await asyncio.gather(*map(change, given * 5))
    assert MarkFiles(layout, DISK).read(ROOM) == ThreadMark(
        title="t", archived=True, read_at="r", member="ux"
    )


def test_marks_wait_for_whoever_changes_them(layout: Layout) -> None:
    MarkFiles(layout, DISK).change(ROOM, {"title": "Mine"})
    waiting = MarkFiles(layout, ImpatientDisk())
    with locked(DISK, layout.marks / ".lock"):
        with pytest.raises(StorageError):
            waiting.change(ROOM, {"title": "Yours"})
        with pytest.raises(StorageError):
            waiting.create(ROOM, ThreadMark(title="Yours"))
    assert waiting.read(ROOM) == ThreadMark(title="Mine")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"title": 1}', b"\xff"])
def test_marks_that_cannot_be_read_are_set_aside_and_named(
    layout: Layout, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    marks = MarkFiles(layout, DISK)
    marks.change(ROOM, {"title": "Mine"})
    layout.mark(ROOM).write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert marks.read(ROOM) is None
    (kept,) = layout.damaged.iterdir()
    assert kept.read_bytes() == data
    assert f".ship/damaged/{kept.name}" in caplog.text
    assert not layout.mark(ROOM).exists()


def test_a_change_that_changes_nothing_writes_nothing(layout: Layout) -> None:
    marks = MarkFiles(layout, DISK)
    marks.change(ROOM, {"title": "Mine"})
    stamp = marks.stamp(ROOM)
    marks.change(ROOM, {"title": "Mine"})
    assert marks.stamp(ROOM) == stamp

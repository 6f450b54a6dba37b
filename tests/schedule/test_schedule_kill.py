"""A server that is killed while tasks begin: each due time is begun once, and all are accounted for (R4)."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from shipmate.schedule.task import thread_of, write_task
from shipmate.schedule.task_folder import TaskFolder
from shipmate.store.journal.occurrence import OPEN, JournalOccurrences, Occurrence
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import metadata_of
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from tests.support.serve_process import shipmate
from tests.support.wait import LONG

pytestmark = pytest.mark.crash

TASKS = ("one", "two", "three")


def known(layout: Layout) -> list[Occurrence]:
    records = JournalOccurrences(layout, DISK).look().values()
    return [each for record in records for each in record.known.values()]


async def until(layout: Layout, status: str, count: int) -> None:
    """Wait until so many have come to something; another process writes the file."""
    async with asyncio.timeout(LONG):
        while sum(each.status == status for each in known(layout)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_r4_what_is_due_is_begun_once_through_kills(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    layout = Layout(tmp_path)
    folder = TaskFolder(layout)
    written = time.time() - 60
    for task_id in TASKS:
        text = write_task(title=task_id, when="every 10s", prompt="think of the sea", catch_up="all")
        folder.add(task_id, text)
        os.utime(folder.path(task_id), (written, written))
    # Killed when some were begun, and again when some have come to their end.
    for status, count in (("claimed", 1), ("replied", 4)):
        async with shipmate(tmp_path) as process:
            await until(layout, status, count)
            await process.kill()
    for task_id in TASKS:
        folder.switch(task_id, on=False)
    async with shipmate(tmp_path) as process, asyncio.timeout(LONG):
        while any(each.status in OPEN for each in known(layout)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        threads = (await process.client.get("/api/threads")).json()["threads"]
    # A task's thread is called as the task is.
    assert {each["title"] for each in threads} == set(TASKS)

    threads = ThreadService(FileLog(layout))
    ended = known(layout)
    assert len(ended) >= 3 * 6
    assert {each.status for each in ended} <= {"replied", "missed"}
    for task_id in TASKS:
        messages = (await threads.read(ThreadId.parse(thread_of(task_id)))).messages
        said = Counter(metadata_of(each).get("messageId") for each in messages if each["role"] == "user")
        answered = Counter(metadata_of(each).get("runId") for each in messages if each["role"] == "assistant")
        assert set(said.values()) == {1}
        assert set(answered.values()) == {1}
        assert said.keys() == {
            each.key for each in ended if each.task == task_id and each.status == "replied"
        }
        assert len(answered) == len(said)

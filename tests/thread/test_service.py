"""Threads are opened by one writer at a time, read once per change, and know their course."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError
from shipmate.thread.log import FileLog
from shipmate.thread.service import ThreadService
from shipmate.values.message import UIMessage, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

ROOM = ThreadId("web", "room", "1")


def call_row(state: str) -> UIMessage:
    part = {"type": "tool-exec", "toolCallId": "c1", "state": state, "input": {}, "approval": {"id": "a1"}}
    return {"id": "m", "role": "assistant", "parts": [part]}


async def test_a_second_service_sees_what_the_first_appended(tmp_path: Path) -> None:
    one, other = ThreadService(FileLog(Layout(tmp_path))), ThreadService(FileLog(Layout(tmp_path)))
    async with one.open(ROOM) as thread:
        await thread.append(user_message("m1", "hello"))
    assert [message["id"] for message in (await other.read(ROOM)).messages] == ["m1"]
    async with one.open(ROOM) as thread:
        await thread.append(user_message("m2", "again"))
    assert [message["id"] for message in (await other.read(ROOM)).messages] == ["m1", "m2"]


async def test_one_writer_at_a_time(tmp_path: Path) -> None:
    service = ThreadService(FileLog(Layout(tmp_path)))
    order: list[str] = []

    async def write(name: str, entered: asyncio.Event, leave: asyncio.Event) -> None:
        async with service.open(ROOM):
            order.append(f"{name} in")
            entered.set()
            await leave.wait()
            order.append(f"{name} out")

    first_in, first_out, second_in = asyncio.Event(), asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(write("first", first_in, first_out))
    await first_in.wait()
    second = asyncio.create_task(write("second", second_in, first_out))
    await asyncio.sleep(0)
    assert not second_in.is_set()
    first_out.set()
    await asyncio.gather(first, second)
    assert order == ["first in", "first out", "second in", "second out"]


async def test_a_row_of_a_later_course_opens_it(tmp_path: Path) -> None:
    service = ThreadService(FileLog(Layout(tmp_path)))
    async with service.open(ROOM) as thread:
        await thread.append(user_message("m1", "old", {"course": 1}))
        await thread.append(
            user_message("m2", "new", {"course": 2}), user_message("m3", "newer", {"course": 2})
        )
        assert thread.course == 2
        assert [message["id"] for message in thread.current()] == ["m2", "m3"]
        assert len(thread.messages) == 3


async def test_the_model_does_not_see_what_a_retry_replaced(tmp_path: Path) -> None:
    service = ThreadService(FileLog(Layout(tmp_path)))
    async with service.open(ROOM) as thread:
        await thread.append(user_message("m1", "q"), user_message("m2", "poor answer"))
        replaced: UIMessage = {"id": "m2", "role": "user", "metadata": {"replacedBy": "m3"}, "parts": []}
        await thread.append(replaced, user_message("m3", "better"))
        assert [message["id"] for message in thread.history()] == ["m1", "m3"]
        assert [message["id"] for message in thread.current()] == ["m1", "m2", "m3"]


async def test_messages_that_wait_for_a_person_are_known_until_they_are_settled(tmp_path: Path) -> None:
    service = ThreadService(FileLog(Layout(tmp_path)))
    async with service.open(ROOM) as thread:
        await thread.append(call_row("approval-requested"))
        assert list(thread.waiting) == ["m"]
        await thread.append(call_row("output-available"))
        assert list(thread.waiting) == []


async def test_a_call_left_behind_a_settled_question_is_still_waited_for(tmp_path: Path) -> None:
    service = ThreadService(FileLog(Layout(tmp_path)))
    async with service.open(ROOM) as thread:
        behind = {"type": "tool-write", "toolCallId": "c2", "state": "input-available", "input": {}}
        await thread.append(
            call_row("approval-requested"), {"id": "m", "role": "assistant", "parts": [behind]}
        )
        await thread.append(call_row("output-available"), user_message("u", "hello"))
        assert (list(thread.waiting), thread.firm()) == (["m"], 0)
        settled = {**behind, "state": "output-error", "errorText": "x"}
        await thread.append({"id": "m", "role": "assistant", "parts": [settled]})
        assert (list(thread.waiting), thread.firm()) == ([], 1)


async def test_an_unknown_thread_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="threads list"):
        await ThreadService(FileLog(Layout(tmp_path))).read(ROOM)


async def test_many_threads_stay_readable_though_few_stay_in_memory(tmp_path: Path) -> None:
    service = ThreadService(FileLog(Layout(tmp_path)))
    for number in range(80):
        async with service.open(ThreadId("web", "room", str(number))) as thread:
            await thread.append(user_message("m", f"text {number}"))
    first = await service.read(ThreadId("web", "room", "0"))
    assert first.messages[0]["parts"][0]["text"] == "text 0"

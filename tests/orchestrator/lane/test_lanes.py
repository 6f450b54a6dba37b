"""Lanes answer every caller, whatever happens: stops, repeats, other processes, a broken store, the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from shipmate.errors import StorageError
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.orchestrator.feed import LocalFeed
from shipmate.orchestrator.lane import lanes
from shipmate.orchestrator.lane.lane import Lane
from shipmate.orchestrator.lane.lanes import Lanes
from shipmate.store.file_store import open_store
from shipmate.store.sqlite.thread import ThreadTable
from shipmate.thread.log import FileLog
from shipmate.values.message import UIMessage, metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from tests.support.wait import LONG
from tests.support.workspace import (
    ROOM,
    Probe,
    forget_ends,
    messages_of,
    open_workspace,
    said,
    talk,
    tools_of,
)


@pytest.mark.parametrize("ticks", range(12))
async def test_a_stop_at_any_moment_ends_the_run_and_the_lane_goes_on(tmp_path: Path, ticks: int) -> None:
    model = ScriptedModel({"go": [[call("look")], "Seen."], "next": ["Here."]})
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        receipt = await app.receive(said("go"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        was_stopped = await app.keeper.stop(ROOM)
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
        after = await asyncio.wait_for(talk(app, "next"), LONG)
    assert outcome.status == ("stopped" if was_stopped else "replied")
    assert after.text == "Here."


async def test_lanes_close_though_one_ends_in_the_same_moment(tmp_path: Path) -> None:
    class BriefLane:
        async def drain(self) -> None:
            """End at once."""

        async def leave(self) -> None:
            """Wait for nothing."""

    async with open_workspace(tmp_path, ScriptedModel([])) as app:
        lanes = Lanes(app.store, app.threads, LocalFeed(), lambda *_, **__: cast("Lane", BriefLane()))
        receipt = await lanes.receive(said("go"))
        await lanes.close()
        assert (await asyncio.wait_for(receipt.outcome(), LONG)).retryable is True


async def test_a_repeated_steering_message_does_not_steer_its_own_run(tmp_path: Path) -> None:
    look = Probe("look")
    look.hold = asyncio.Event()
    model = ScriptedModel([[call("look")], "All seen."])
    async with open_workspace(tmp_path, model, [look]) as app:
        event = said("look around", steer=True)
        receipt = await app.receive(event)
        await look.begun.wait()
        again = await app.receive(event)
        look.hold.set()
        outcomes = [await receipt.outcome(), await again.outcome()]
    assert [outcome.text for outcome in outcomes] == ["All seen."] * 2


async def test_a_message_id_of_another_thread_is_not_taken_for_a_repeat(tmp_path: Path) -> None:
    model = ScriptedModel({"one": ["a secret of room one"], "two": ["nothing secret"]})
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "one", message_id="m1", thread_id="cli:dm:one")
        outcome = await talk(app, "two", message_id="m1", thread_id="cli:dm:two")
    assert outcome.text == "nothing secret"


async def test_a_message_withdrawn_by_another_process_tells_its_caller(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate)], "never"])
    async with open_workspace(tmp_path, model) as one, open_workspace(tmp_path, model) as other:
        async with one.keeper.watch(ROOM) as queue:
            first = await one.receive(said("one"))
            await queue.get()
        waiting = await other.receive(said("two", message_id="m2"))
        assert await one.keeper.withdraw(ROOM, "m2")
        gate.set()
        await first.outcome()
        outcome = await asyncio.wait_for(waiting.outcome(), LONG)
        messages = await messages_of(one)
    assert outcome.status == "stopped"
    assert [text_of(message) for message in messages] == ["one", "busy"]


async def test_a_message_withdrawn_while_an_unclear_reply_is_read_is_not_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate, act = asyncio.Event(), Probe("act", acts=True)
    reading = asyncio.Event()

    async def read(_: object) -> str:
        reading.set()
        await gate.wait()
        return "nonsense"

    model = ScriptedModel([[call("act", mark="x")], read, "never", "never"])
    async with open_workspace(tmp_path, model, [act], suggest=True) as app:
        await talk(app, "go")
        receipt = await app.receive(said("hm, the weather is fine", message_id="m2"))
        await reading.wait()
        assert await app.keeper.withdraw(ROOM, "m2")
        gate.set()
        await app.keeper.idle()
        outcome = await receipt.outcome()
        messages = await messages_of(app)
    assert (outcome.status, len(messages), len(model.requests)) == ("stopped", 2, 2)
    assert caplog.text == ""


async def test_a_binned_thread_comes_back_when_somebody_speaks_in_it(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["One.", "Two."])) as app:
        await talk(app, "first words")
        await app.threads.bin(ThreadId.parse(ROOM))
        await app.store.threads.refresh(ROOM)
        await talk(app, "and more")
        texts = [text_of(message) for message in await messages_of(app)]
        listed = [info.thread_id for info in await app.store.threads.list()]
        hits = await app.store.search.find("first words")
    assert texts == ["first words", "One.", "and more", "Two."]
    assert (listed, len(hits)) == ([ROOM], 1)


async def test_closing_tells_whoever_still_waits(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate)]])
    async with open_workspace(tmp_path, model) as app, app.keeper.watch(ROOM) as queue:
        receipt = await app.receive(said("one"))
        await queue.get()
    outcome = await asyncio.wait_for(receipt.outcome(), LONG)
    assert (outcome.status, outcome.retryable) == ("failed", True)


class ShortLane(Lane):
    """A lane that is over when a test says so."""

    over: asyncio.Event

    async def drain(self) -> None:
        await self.over.wait()


async def test_a_lane_may_come_to_its_end_while_all_are_left(tmp_path: Path) -> None:
    over = asyncio.Event()

    def make_lane(*_: Any, **__: Any) -> Lane:
        lane = ShortLane.__new__(ShortLane)
        lane.over = over
        return lane

    async with open_workspace(tmp_path, ScriptedModel([])) as app:
        lanes = Lanes(app.store, app.threads, LocalFeed(), make_lane)
        receipt = await lanes.receive(said("go"))
        await asyncio.sleep(0)
        # It ends in the next tick, which is before anything that closing starts.
        over.set()
        await lanes.close()
    assert (await receipt.outcome()).status == "failed"


async def test_an_index_that_is_lost_meanwhile_costs_no_answer(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("one"), hold(gate)], "two"])
    async with open_workspace(tmp_path, model) as app:
        async with app.keeper.watch(ROOM) as queue:
            first = await app.receive(said("1"))
            await queue.get()
        app.layout.state.write_bytes(b"this was a database")
        second = await app.receive(said("2"))
        gate.set()
        outcomes = [await asyncio.wait_for(each.outcome(), LONG) for each in (first, second)]
    assert [outcome.text for outcome in outcomes] == ["one", "two"]
    async with open_workspace(tmp_path, model) as app:
        await app.store.reconcile()
        assert [info.message_count for info in await app.store.threads.list()] == [4]


async def test_a_failure_found_after_a_crash_still_says_what_failed(tmp_path: Path) -> None:
    model = ScriptedModel([])
    async with open_workspace(tmp_path, model) as app:
        failed = await talk(app, "go", message_id="m1")
        # As if the process had ended between the last row and the inbox.
        forget_ends(app)
    async with open_workspace(tmp_path, model) as app:
        again = await talk(app, "go", message_id="m1")
    assert failed.error
    assert again == failed


async def test_calls_of_a_thread_are_settled_when_it_is_stopped(tmp_path: Path) -> None:
    """Nothing that was approved before a stop begins after it."""
    one, two = Probe("one", acts=True), Probe("two", acts=True)
    one.hold = asyncio.Event()
    model = ScriptedModel([[call("one"), call("two")], "Hello."])
    async with open_workspace(tmp_path, model, [one, two]) as app:
        await talk(app, "go")
        receipt = await app.receive(said("approve all"))
        await one.begun.wait()
        assert await app.keeper.stop(ROOM)
        assert (await receipt.outcome()).status == "stopped"
        stopped = tools_of((await messages_of(app))[1])
        await talk(app, "hello")
    assert (one.marks, two.marks) == ([""], [])
    assert [state for _, state, _ in stopped] == ["output-error", "output-error"]


async def test_what_the_thread_has_is_not_taken_back_though_the_inbox_forgot(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["Here."])) as app:
        await talk(app, "one", message_id="m1")
        lines = app.layout.inbox.read_bytes().splitlines(keepends=True)
        # As a power cut may leave it: only what was waited for.
        app.layout.inbox.write_bytes(b"".join(line for line in lines if b'"do":"accept"' in line))
        await app.store.inbox.load()
        assert not await app.keeper.withdraw(ROOM, "m1")
    assert "m1" in str(lines[0])


async def test_a_run_stopped_before_it_begins_is_opened_to_its_watchers(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["never"])) as app, app.keeper.watch(ROOM) as queue:
        receipt = await app.receive(said("go"))
        for _ in range(1000):
            if await app.keeper.stop(ROOM):
                break
            await asyncio.sleep(0)
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
        first = await asyncio.wait_for(queue.get(), LONG)
        (message,) = (await messages_of(app))[1:]
    assert outcome.status == "stopped"
    assert first.snapshot is not None
    assert metadata_of(message).get("runId") == outcome.run_id


async def test_a_repeat_of_what_was_taken_back_is_told_so(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[hold(gate), say("First.")]])
    async with open_workspace(tmp_path, model) as app:
        first = await app.receive(said("first"))
        await app.receive(said("second", message_id="m2"))
        assert await app.keeper.withdraw(ROOM, "m2")
        again = await app.receive(said("second", message_id="m2"))
        assert (await asyncio.wait_for(again.outcome(), LONG)).status == "stopped"
        gate.set()
        await first.outcome()
    assert (again.is_new, len(model.requests)) == (False, 1)


async def test_what_the_thread_has_already_cannot_be_taken_back(tmp_path: Path) -> None:
    model = ScriptedModel([[say("I begin"), hold(asyncio.Event())]])
    async with open_workspace(tmp_path, model) as app, app.keeper.watch(ROOM) as queue:
        await app.receive(said("go", message_id="m1"))
        await queue.get()
    # A power cut took the line that says that a run works on it; the thread has the message.
    lines = app.layout.inbox.read_bytes().splitlines(keepends=True)
    app.layout.inbox.write_bytes(lines[0])
    async with (
        FileLog(app.layout).lock(ThreadId.parse(ROOM)),
        open_workspace(tmp_path, ScriptedModel({"": ["Done."]})) as later,
    ):
        assert [row.status for row in await later.keeper.queue(ROOM)] == ["waiting"]
        assert await later.keeper.withdraw(ROOM, "m1") is False
        assert len(await later.keeper.queue(ROOM)) == 1


async def test_a_stop_holds_though_the_process_ends_before_the_run_does(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel([[say("I begin"), hold(asyncio.Event())]])) as app:
        async with app.keeper.watch(ROOM) as queue:
            receipt = await app.receive(said("go"))
            await queue.get()
        path = app.layout.thread(ThreadId.parse(ROOM))
        before = path.read_bytes()
        assert await app.keeper.stop(ROOM)
        await receipt.outcome()
    path.write_bytes(before)
    forget_ends(app)
    model = ScriptedModel({"": ["never"]})
    async with open_workspace(tmp_path, model) as later:
        await asyncio.wait_for(later.keeper.idle(), LONG)
        last = (await messages_of(later))[-1]
    assert (metadata_of(last)["outcome"], model.requests) == ("stopped", [])


async def test_a_sweep_lists_for_other_processes_what_could_not_be_listed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "SWEEP_SECONDS", 0.02)
    refused = asyncio.Event()

    def refuse(*_: object) -> None:
        refused.set()
        raise StorageError("unreadable")

    async with open_workspace(tmp_path, ScriptedModel(["One.", "Two."])) as app:
        await talk(app, "first")
        other = open_store(app.layout)
        assert [info.message_count for info in await other.threads.list()] == [2]
        with monkeypatch.context() as patch:
            patch.setattr(ThreadTable, "put", refuse)
            await talk(app, "second")
            await asyncio.wait_for(refused.wait(), LONG)
        healed = asyncio.Event()
        catch_up = app.store.threads.catch_up

        async def tell() -> None:
            await catch_up()
            healed.set()

        monkeypatch.setattr(app.store.threads, "catch_up", tell)
        await asyncio.wait_for(healed.wait(), LONG)
        assert [info.message_count for info in await other.threads.list()] == [4]
        await other.close()


async def test_d13_a_sweep_takes_up_a_thread_whose_lane_broke_each_time_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "SWEEP_SECONDS", 0.02)
    tries: list[float] = []
    is_swept = asyncio.Event()
    async with open_workspace(tmp_path, ScriptedModel(["Answer."])) as app:
        append, threads = FileLog.append, app.store.inbox.threads

        async def refuse(
            log: FileLog, thread_id: ThreadId, rows: Sequence[UIMessage], *, waits: bool
        ) -> None:
            tries.append(asyncio.get_running_loop().time())
            if len(tries) < 5:
                raise StorageError("full")
            await append(log, thread_id, rows, waits=waits)

        async def refuse_once() -> list[str]:
            monkeypatch.setattr(app.store.inbox, "threads", threads)
            is_swept.set()
            raise StorageError("broken")

        monkeypatch.setattr(app.store.inbox, "threads", refuse_once)
        await asyncio.wait_for(is_swept.wait(), LONG)
        monkeypatch.setattr(FileLog, "append", refuse)
        async with app.keeper.watch(ROOM) as queue:
            assert (await talk(app, "go")).error == "full"
            while (event := await asyncio.wait_for(queue.get(), LONG)).outcome is None or event.outcome.error:
                pass
        messages = await messages_of(app)
        gaps = [later - earlier for earlier, later in pairwise(tries[:5])]
        assert all(gap >= 0.02 * 2**number for number, gap in enumerate(gaps)), gaps
    assert [text_of(message) for message in messages] == ["go", "Answer."]


async def test_a_stop_that_came_too_late_does_not_change_how_a_run_ended(tmp_path: Path) -> None:
    model = ScriptedModel({"": ["All said."]})
    async with open_workspace(tmp_path, model) as app:
        outcome = await talk(app, "go", message_id="m1")
        forget_ends(app)
        with app.layout.inbox.open("ab") as file:
            file.write(json.dumps({"do": "stop", "run": outcome.run_id}).encode() + b"\n")
    async with open_workspace(tmp_path, model) as app:
        await app.keeper.idle()
        assert await talk(app, "go", message_id="m1") == outcome
        assert metadata_of((await messages_of(app))[-1])["outcome"] == "replied"

"""What tasks send: where their files say, nothing when a heartbeat is silent, and who is asked (R4)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.schedule.occasion import make_hand_event
from shipmate.schedule.task import thread_of, write_task
from shipmate.values.event import QUIET, Outcome
from tests.support.chat import open_chat
from tests.support.workspace import Probe, pressed

LONG = 20


async def begin(ship: Shipmate, task_id: str) -> Outcome:
    event = make_hand_event(ship.tasks.get(task_id).found(), datetime.now(UTC), "en")
    outcome = await (await ship.keeper.receive(event)).outcome()
    await ship.keeper.idle()
    return outcome


def add(ship: Shipmate, task_id: str, when: str, **more: str) -> None:
    deliver = (more.pop("deliver"),) if "deliver" in more else ()
    ship.tasks.add(task_id, write_task(title=task_id, when=when, prompt="yes", deliver=deliver, **more))


async def test_r4_a_result_goes_where_the_file_says_and_a_silent_heartbeat_nowhere(tmp_path: Path) -> None:
    long = "word " * 9_000
    model = ScriptedModel([QUIET, "The tide is out.", "All is well.", long])
    async with open_chat(tmp_path, model) as (ship, platform):
        add(ship, "pulse", "heartbeat", thread="memory:dm:1", deliver="memory:dm:2")
        assert (await begin(ship, "pulse")).text == QUIET
        assert platform.shown == {}
        await begin(ship, "pulse")
        await asyncio.wait_for(platform.wait("The tide is out."), LONG)
        while len(platform.shown) < 2:
            await asyncio.wait_for(platform.changed.wait(), LONG)
        # Words that no message on the platform asked for are a reply to none.
        assert [(each.text, each.reply_to) for each in platform.in_chat("1")] == [("The tide is out.", None)]
        assert [each.text for each in platform.in_chat("2")] == ["The tide is out."]
        add(ship, "report", "@daily", deliver="memory:dm:3")
        await begin(ship, "report")
        await asyncio.wait_for(platform.wait("All is well."), LONG)
        # A second occurrence opens a course, of which nobody is told.
        await begin(ship, "report")
        await asyncio.wait_for(platform.wait(f"The rest stands in {thread_of('report')}."), LONG)
        assert len(platform.in_chat("3")) == 1 + 5 + 1


async def test_r4_a_task_has_no_person_and_its_words_answer_nothing(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Nothing new.", "Done."])
    async with open_chat(tmp_path, model, [act]) as (ship, platform):
        add(ship, "clean", "@daily", deliver="memory:dm:1", thread="cli:chat:desk")
        assert (await begin(ship, "clean")).status == "suspended"
        (asked,) = await ship.approvals.pending("cli:chat:desk")
        assert asked.initiators == ()
        await asyncio.wait_for(platform.wait("waits for a decision"), LONG)
        # The next occurrence says "yes", as the first did: that lets nothing pass.
        assert (await begin(ship, "clean")).text == "Nothing new."
        assert act.marks == []
        assert len(await ship.approvals.pending("cli:chat:desk")) == 1
        # Whoever holds the workspace may decide.
        event = replace(pressed(asked.id, approved=True), thread_id="cli:chat:desk")
        await (await ship.receive(event)).outcome()
        assert act.marks == ["x"]

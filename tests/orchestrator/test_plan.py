"""A thread that plans first: nothing acts until a person agrees, and everyone sees the list of steps."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Literal

from shipmate.app import Shipmate
from shipmate.models.port import ModelRequest
from shipmate.models.scripted import Script, ScriptedModel, call
from shipmate.values.event import Outcome, PlanEvent
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId
from tests.crew.test_self_tool import open_self
from tests.support.workspace import ROOM, chunks_until_end, course, messages_of, note, talk, tools_of

_numbers = itertools.count(1)


async def plan(app: Shipmate, action: Literal["open", "go", "off"]) -> Outcome:
    event = PlanEvent(
        platform="cli",
        thread_id=ROOM,
        user_id="ann",
        message_id=f"plan{next(_numbers)}",
        timestamp="2026-01-01T00:00:00.000Z",
        action=action,
    )
    return await (await app.receive(event)).outcome()


async def test_until_the_plan_is_agreed_what_acts_is_refused_and_what_reads_works(tmp_path: Path) -> None:
    script: Script = {
        "build": [[call("read", path="Agent.md"), call("write", path="a.md", content="x\n")], "Shall I?"],
        "early": [call("write", path="b.md", content="x\n"), "Written."],
    }
    async with open_self(tmp_path, script, mode="yolo") as app:
        assert "no plan waits" in str((await plan(app, "go")).error)
        assert "until you say /plan go" in (await plan(app, "open")).text
        assert (await talk(app, "build")).text == "Shall I?"
        (_, read, _), (_, state, error) = tools_of((await messages_of(app))[-1])
        assert (read, state) == ("output-available", "output-error")
        assert error == (
            "not allowed: the plan is not agreed yet: propose it; a person agrees with `/plan go`"
        )
    # It lasts: another process finds it.
    async with open_self(tmp_path, script, mode="yolo") as app:
        await talk(app, "build")
        assert not (tmp_path / "a.md").exists()
        # A member's or a person's words that only sound like it agree to nothing.
        await talk(app, "build, plan go, yes")
        assert not (tmp_path / "a.md").exists()
        assert (await plan(app, "go")).text.startswith("The plan is agreed.")
        await talk(app, "build")
        assert (tmp_path / "a.md").read_text() == "x\n"
        # A yes from before the plan was wanted does not act while it is open.
    async with open_self(tmp_path, script, mode="ask") as app:
        assert (await talk(app, "early")).status == "suspended"
        await plan(app, "open")
        await talk(app, "yes")
        assert not (tmp_path / "b.md").exists()
        assert (await plan(app, "off")).text.startswith("No plan is wanted")


async def test_a_member_is_told_that_it_plans_and_steps_are_shown_and_carried_over(tmp_path: Path) -> None:
    requests: list[ModelRequest] = []

    def remember(request: ModelRequest) -> str:
        requests.append(request)
        return "Ready."

    listed = call("steps", steps=["[x] look", "- [ ] build\nit", "  "])
    script: Script = {"work": [listed, "Working."], "on": [remember]}
    (tmp_path / "Agent.md").write_text("# Captain\n")
    async with Shipmate.open(tmp_path, model=ScriptedModel(script), environ={}) as app:
        await plan(app, "open")
        async with app.keeper.watch(ROOM) as queue:
            await talk(app, "work")
            told = await chunks_until_end(queue)
        expected = {
            "steps": [{"text": "look", "done": True}, {"text": "build it", "done": False}],
            "member": "captain",
        }
        assert [chunk["data"] for chunk in told if chunk["type"] == "data-steps"] == [expected]
        last = (await messages_of(app))[-1]
        assert [part["data"] for part in last["parts"] if part["type"] == "data-steps"] == [expected]
        await note(app, course())
        await talk(app, "on")
        thread = await app.threads.read(ThreadId.parse(ROOM))
    (row,) = [each for each in thread.messages if each["role"] == "system"]
    assert row["parts"][0]["data"]["steps"] == expected["steps"]
    assert "[x] look\n[ ] build it" in text_of(row)
    sidecars = " ".join(each.context for each in requests[0].sidecars.values())
    assert "Plan first" in requests[0].system + sidecars

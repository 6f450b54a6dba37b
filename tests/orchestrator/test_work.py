"""Calls are judged, run and kept; trouble of one tool or of the disk stays where it belongs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ConfigError, StorageError, UserError
from shipmate.models.scripted import ScriptedModel, call, call_raw, say
from shipmate.orchestrator.turn import Turn
from shipmate.tools.tool import Picture, ToolContext, ToolResult
from shipmate.values.message import text_of
from tests.support.wait import LONG
from tests.support.workspace import ROOM, Mark, Probe, messages_of, open_workspace, said, talk, tools_of


class Odd(Probe):
    """Be a probe that gives what it is told to give."""

    output: Any = None
    preview_error: Exception | None = None

    async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
        await super().run(arguments, context)
        return ToolResult(output=self.output)

    async def picture(self, arguments: Mark, context: ToolContext) -> Picture:
        if self.preview_error is not None:
            raise self.preview_error
        return await super().picture(arguments, context)


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("caf\udce9.txt", "caf\ufffd.txt"),
        (["a", {"b": "\ud800"}], ["a", {"b": "\ufffd"}]),
        (1j, "odd broke: TypeError"),
    ],
)
async def test_what_a_tool_gives_is_kept_or_named_as_broken(tmp_path: Path, output: Any, kept: Any) -> None:
    odd = Odd("odd")
    odd.output = output
    model = ScriptedModel([[call("odd"), call("look", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [odd, Probe("look")]) as app:
        outcome = await talk(app, "go")
        calls = tools_of((await messages_of(app))[1])
    assert (outcome.text, calls[0][2]) == ("Done.", kept)
    assert calls[1] == ("look", "output-available", "look a")


async def test_half_a_character_breaks_neither_a_model_nor_a_message(tmp_path: Path) -> None:
    model = ScriptedModel([[say("caf\ud83d"), call_raw("look", '{"mark": "\ud83d"}')], "Done."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        outcome = await talk(app, "go")
        with pytest.raises(UserError, match="UTF-8"):
            await app.receive(said("caf\udce9"))
        calls = tools_of((await messages_of(app))[1])
    assert outcome.text == "caf\ufffd\n\nDone."
    assert calls[0][1] == "output-error"


async def test_a_tool_that_cannot_be_previewed_does_not_run_and_breaks_no_lane(tmp_path: Path) -> None:
    odd = Odd("odd", acts=True)
    odd.preview_error = ValueError("a bug")
    model = ScriptedModel([[call("odd"), call("look", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [odd, Probe("look")]) as app:
        outcome = await talk(app, "go")
        calls = tools_of((await messages_of(app))[1])
    assert (outcome.text, odd.marks) == ("Done.", [])
    assert [state for _, state, _ in calls] == ["output-error", "output-available"]


async def test_a_cancellation_inside_a_tool_is_the_tools_own_trouble(tmp_path: Path) -> None:
    odd = Odd("odd")

    async def cancelled(arguments: Mark, context: ToolContext) -> ToolResult:
        raise asyncio.CancelledError

    odd.run = cancelled
    model = ScriptedModel([[call("odd")], "Done."])
    async with open_workspace(tmp_path, model, [odd]) as app:
        outcome = await asyncio.wait_for(talk(app, "go"), LONG)
        calls = tools_of((await messages_of(app))[1])
    assert (outcome.text, calls[0][1]) == ("Done.", "output-error")


async def test_a_cancellation_inside_a_model_is_told_and_leaves_no_caller_waiting(tmp_path: Path) -> None:
    def cancelled(_: object) -> str:
        raise asyncio.CancelledError

    async with open_workspace(tmp_path, ScriptedModel([cancelled, "Hello."])) as app:
        outcome = await asyncio.wait_for(talk(app, "go"), LONG)
        after = await asyncio.wait_for(talk(app, "hello"), LONG)
    assert (outcome.status, after.text) == ("failed", "Hello.")


async def test_a_disk_that_refuses_one_result_leaves_no_sibling_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = Probe("slow"), Probe("quick")
    slow.hold = asyncio.Event()
    model = ScriptedModel([[call("slow", mark="s"), call("quick")], "Done."])
    commit, refused = Turn.commit, asyncio.Event()

    async def refuse(self: Turn, *told: Any) -> None:
        if any(chunk.get("output") == "quick " for chunk in told) and not refused.is_set():
            refused.set()
            raise StorageError("the disk is full")
        await commit(self, *told)

    monkeypatch.setattr(Turn, "commit", refuse)
    async with open_workspace(tmp_path, model, [slow, quick]) as app:
        receipt = await app.receive(said("go", message_id="m1"))
        await refused.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert app.keeper.running(ROOM), "the run is over only when nothing of it goes on"
        slow.hold.set()
        failed = await receipt.outcome()
        outcome = await talk(app, "go", message_id="m1")
        messages = await messages_of(app)
    assert (failed.status, outcome.text, len(messages)) == ("failed", "Done.", 2)
    assert slow.marks == ["s"]


async def test_a_persons_mistake_fails_the_run_in_plain_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([[say("x")], "Hello."])
    async with open_workspace(tmp_path, model) as app:

        def refuse(_: object) -> None:
            raise ConfigError("ship.json: mend line 3")

        with monkeypatch.context() as patch:
            patch.setattr(app.captain.context, "build", refuse)
            outcome = await talk(app, "go")
        after = await talk(app, "again")
        messages = await messages_of(app)
    assert (outcome.status, outcome.error) == ("failed", "ship.json: mend line 3")
    assert messages[1]["parts"][-1]["data"]["message"] == "ship.json: mend line 3"
    assert (text_of(messages[2]), after.text) == ("again", "x")


async def test_what_acts_waits_behind_an_earlier_call_that_is_not_decided(tmp_path: Path) -> None:
    first, second = Probe("first", acts=True), Probe("second", acts=True)
    model = ScriptedModel([[call("first"), call("second")], "Done."])
    async with open_workspace(tmp_path, model, [first, second], allow=["second"]) as app:
        assert (await talk(app, "go")).status == "suspended"
        assert (first.marks, second.marks) == ([], [])
        assert (await talk(app, "yes")).text == "Done."
    assert (first.marks, second.marks) == ([""], [""])

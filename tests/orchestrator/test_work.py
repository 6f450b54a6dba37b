"""Calls are judged, run and kept; trouble of one tool or of the disk stays where it belongs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ConfigError, StorageError, UserError
from shipmate.models.scripted import ScriptedModel, call, call_raw, say
from shipmate.orchestrator.turn import Turn
from shipmate.orchestrator.work import TEXT_LIMIT
from shipmate.tools.file.read import Read
from shipmate.tools.file.search.glob import Glob
from shipmate.tools.tool import Picture, ToolContext, ToolResult
from shipmate.values.message import UIMessage, text_of
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


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def outputs(message: UIMessage) -> list[str]:
    return [str(output) for _, _, output in tools_of(message)]


async def test_m1_the_nearest_guide_is_told_once(tmp_path: Path) -> None:
    put(
        tmp_path,
        **{
            "AGENTS.md": "TOP",
            "api/AGENTS.md": "API RULES",
            "api/v2/x.py": "x",
            "api/y.py": "y",
            "z.py": "z",
        },
    )
    model = ScriptedModel(
        [
            [call("read", path="z.py"), call("read", path="api/v2/x.py"), call("read", path="api/y.py")],
            [call("glob", pattern="*", path="api")],
            "Done.",
        ]
    )
    async with open_workspace(tmp_path, model, [Read(), Glob()]) as app:
        await talk(app, "go")
        told = outputs((await messages_of(app))[1])
    assert [("API RULES" in each) for each in told] == [False, True, False, False]
    assert "[Content of the workspace: api/AGENTS.md." in told[1]
    assert all("TOP" not in each for each in told)


async def test_a_guide_is_remembered_from_message_to_message(tmp_path: Path) -> None:
    put(tmp_path, **{"api/AGENTS.md": "API RULES", "api/x.py": "x"})
    model = ScriptedModel([[call("read", path="api/x.py")], "One.", [call("read", path="api/x.py")], "Two."])
    async with open_workspace(tmp_path, model, [Read(), Glob()]) as app:
        await talk(app, "first")
        await talk(app, "second")
        messages = await messages_of(app)
    assert ["API RULES" in outputs(messages[at])[0] for at in (1, 3)] == [True, False]


@pytest.mark.parametrize(
    "path",
    ["api/AGENTS.md", "members/ux/SOUL.md", "skills/x/SKILL.md", "../out/x.md", "link/x.md", "empty/x.py"],
)
async def test_no_guide_from_elsewhere(tmp_path: Path, path: str) -> None:
    root = tmp_path / "ship"
    put(tmp_path, **{"out/AGENTS.md": "RULES", "out/x.md": "x"})
    put(
        root,
        **{
            "Agent.md": "# A",
            "api/AGENTS.md": "itself",
            "members/ux/AGENTS.md": "RULES",
            "members/ux/SOUL.md": "s",
        },
    )
    put(
        root,
        **{
            "skills/x/SKILL.md": "s",
            "skills/AGENTS.md": "RULES",
            "empty/AGENTS.md": " \n",
            "empty/x.py": "x",
        },
    )
    (root / "link").symlink_to(tmp_path / "out")
    async with open_workspace(root, ScriptedModel([[call("read", path=path)], "Done."]), [Read()]) as app:
        await talk(app, "go")
        assert "Content of the workspace" not in outputs((await messages_of(app))[1])[0]


async def test_a_long_guide_is_cut_and_the_next_name_is_taken(tmp_path: Path) -> None:
    put(tmp_path, **{"a/CLAUDE.md": "w" * 3 * TEXT_LIMIT, "a/x.py": "x"})
    async with open_workspace(
        tmp_path, ScriptedModel([[call("read", path="a/x.py")], "Done."]), [Read()]
    ) as app:
        await talk(app, "go")
        told = outputs((await messages_of(app))[1])[0]
    assert len(told) < TEXT_LIMIT + 400
    assert told.endswith("[It goes on: read a/CLAUDE.md.]")

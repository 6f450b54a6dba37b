"""The loop runs tools in the right order, keeps every result, and ends each run in plain sight."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.errors import ModelAuthError, ToolError
from shipmate.models.port import Finish, ReasoningDelta, ReasoningEnd, ToolCall
from shipmate.models.scripted import ScriptedCall, ScriptedModel, call, call_raw, cut, fail, say, think
from shipmate.orchestrator.loop import MAX_STEPS, Attachments
from shipmate.thread.memory_log import MemoryLog
from shipmate.thread.service import Thread
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.values.message import UIMessage, metadata_of, text_of, user_message
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import attach
from tests.support.workspace import (
    ROOM,
    Mark,
    Probe,
    chunks_until_end,
    messages_of,
    open_workspace,
    talk,
    tools_of,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_a_turn_is_kept_as_it_was_seen(tmp_path: Path) -> None:
    model = ScriptedModel([[think("hm"), say("Look"), say("ing."), call("look", mark="a")], "Done."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        outcome = await talk(app, "go")
        user, assistant = await messages_of(app)
    assert (outcome.status, outcome.text) == ("replied", "Looking.\n\nDone.")
    assert text_of(user) == "go"
    kinds = [part["type"] for part in assistant["parts"]]
    assert kinds == ["step-start", "reasoning", "text", "tool-look", "step-start", "text"]
    assert tools_of(assistant) == [("look", "output-available", "look a")]
    assert metadata_of(assistant)["outcome"] == "replied"
    assert set(metadata_of(assistant)) == {"timestamp", "threadId", "course", "runId", "outcome", "toolMs"}


async def test_calls_are_on_disk_before_tools_run_and_each_result_as_it_lands(tmp_path: Path) -> None:
    slow, quick = Probe("slow"), Probe("quick")
    slow.hold = asyncio.Event()
    model = ScriptedModel([[call("slow"), call("quick")], "Done."])
    async with open_workspace(tmp_path, model, [slow, quick]) as app:
        task = asyncio.create_task(talk(app, "go"))
        await slow.begun.wait()
        await quick.begun.wait()
        await asyncio.sleep(0)
        halfway = tools_of((await messages_of(app))[-1])
        slow.hold.set()
        await task
        after = tools_of((await messages_of(app))[-1])
    assert [(name, state) for name, state, _ in halfway] == [
        ("slow", "input-available"),
        ("quick", "output-available"),
    ]
    assert [name for name, _, _ in after] == ["slow", "quick"]


async def test_read_only_neighbours_overlap_and_what_acts_waits_its_turn(tmp_path: Path) -> None:
    order: list[str] = []

    class Ordered(Probe):
        async def run(self, arguments: Mark, context: ToolContext) -> ToolResult:
            order.append(f"{arguments.mark} in")
            await asyncio.sleep(0.01)
            order.append(f"{arguments.mark} out")
            return await super().run(arguments, context)

    calls = [call("look", mark="1"), call("look", mark="2"), call("act", mark="3"), call("act", mark="4")]
    model = ScriptedModel([[*calls, call("look", mark="5")], "Done."])
    async with open_workspace(
        tmp_path, model, [Ordered("look"), Ordered("act", acts=True)], allow=["act"]
    ) as app:
        await talk(app, "go")
    assert order[:4] == ["1 in", "2 in", "1 out", "2 out"]
    assert order[4:] == ["3 in", "3 out", "4 in", "4 out", "5 in", "5 out"]


@pytest.mark.parametrize("error", [ToolError("no such file"), RuntimeError("a bug")])
async def test_one_failing_tool_never_sinks_its_siblings(tmp_path: Path, error: Exception) -> None:
    bad, good = Probe("bad"), Probe("good")
    bad.error = error
    model = ScriptedModel([[call("bad"), call("good", mark="x")], "Done."])
    async with open_workspace(tmp_path, model, [bad, good]) as app:
        outcome = await talk(app, "go")
        calls = tools_of((await messages_of(app))[-1])
    assert outcome.status == "replied"
    assert [state for _, state, _ in calls] == ["output-error", "output-available"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (call_raw("look", "{not json"), "not JSON"),
        (call_raw("look", "[1]"), "must be one JSON object"),
        (call_raw("look", '{"mark": 5}'), "Nothing ran"),
        (call_raw("nothing", "{}"), "there is no tool 'nothing'"),
    ],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model_and_runs_nothing(
    tmp_path: Path, asked: ScriptedCall, words: str
) -> None:
    look = Probe("look")
    model = ScriptedModel([[asked], "Sorry."])
    async with open_workspace(tmp_path, model, [look]) as app:
        outcome = await talk(app, "go")
        (_, state, error), *_ = tools_of((await messages_of(app))[-1])
    assert outcome.status == "replied"
    assert (state, look.marks) == ("output-error", [])
    assert words in error


async def test_a_run_ends_after_its_last_step_with_words_that_say_so(tmp_path: Path) -> None:
    model = ScriptedModel([[call("look", mark=str(number))] for number in range(MAX_STEPS + 5)])
    look = Probe("look")
    async with open_workspace(tmp_path, model, [look]) as app:
        outcome = await talk(app, "go")
    assert (outcome.status, len(model.requests), len(look.marks)) == ("failed", MAX_STEPS, MAX_STEPS)
    assert "30 steps" in str(outcome.error)


async def test_model_trouble_is_shown_in_the_thread_and_keeps_what_was_said(tmp_path: Path) -> None:
    model = ScriptedModel([[say("I was about to "), cut()], "Again."])
    async with open_workspace(tmp_path, model) as app:
        outcome = await talk(app, "go")
        message = (await messages_of(app))[-1]
        second = await talk(app, "once more")
    assert (outcome.status, outcome.retryable) == ("failed", True)
    assert text_of(message) == "I was about to "
    assert message["parts"][-1]["type"] == "data-error"
    assert second.text == "Again."


async def test_a_wrong_key_is_said_and_is_not_retryable(tmp_path: Path) -> None:
    model = ScriptedModel([fail(ModelAuthError())])
    async with open_workspace(tmp_path, model) as app:
        outcome = await talk(app, "go")
    assert (outcome.status, outcome.retryable) == ("failed", False)
    assert "key" in str(outcome.error)


async def test_an_answer_of_nothing_is_an_error_not_a_silence(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel([[Finish("stop")]])) as app:
        outcome = await talk(app, "go")
    assert outcome.status == "failed"
    assert "nothing" in str(outcome.error)


async def test_repeated_and_empty_call_ids_are_made_distinct(tmp_path: Path) -> None:
    calls = [ToolCall("same", "look", '{"mark": "1"}'), ToolCall("same", "look", '{"mark": "2"}')]
    model = ScriptedModel(
        [[*calls, ToolCall("", "look", '{"mark": "3"}')], [ToolCall("same", "look", "{}")], "Done."]
    )
    look = Probe("look")
    async with open_workspace(tmp_path, model, [look]) as app:
        await talk(app, "go")
        message = (await messages_of(app))[-1]
    ids = [part["toolCallId"] for part in message["parts"] if "toolCallId" in part]
    assert len(set(ids)) == len(ids) == 4
    assert look.marks == ["1", "2", "3", ""]


async def test_signatures_are_kept_only_while_the_turn_is_open(tmp_path: Path) -> None:
    thought = [ReasoningDelta("hm"), ReasoningEnd({"signature": "sig-1"})]
    model = ScriptedModel([[*thought, call("look")], "Done."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        await talk(app, "go")
        message = (await messages_of(app))[-1]
        assert list(model.requests[1].signatures.values()) == [[{"signature": "sig-1"}]]
        assert await app.store.ledger.signatures(ROOM, message["id"]) == []
    assert "sig-1" not in (tmp_path / ".ship" / "threads" / "cli%3Adm%3Aann.jsonl").read_text()


async def test_usage_is_recorded_for_each_step(tmp_path: Path) -> None:
    model = ScriptedModel([[call("look")], "Done."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        await talk(app, "go")
        steps = await app.store.ledger.usage("2000")
    assert [(usage.step, usage.thread_id) for usage in steps] == [(1, ROOM), (2, ROOM)]
    assert all(usage.estimated_tokens > 0 for usage in steps)


async def test_a_watcher_sees_the_chunks_of_the_run_in_order(tmp_path: Path) -> None:
    model = ScriptedModel([[say("Hi"), call("look")], "Done."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app, app.keeper.watch(ROOM) as queue:
        task = asyncio.create_task(talk(app, "go"))
        kinds = [chunk["type"] for chunk in await chunks_until_end(queue)]
        await task
    assert kinds[0] == "start"
    assert kinds[-1] == "finish"
    assert kinds.index("tool-input-available") < kinds.index("tool-output-available")
    assert kinds.count("start-step") == kinds.count("finish-step") == 2


async def thread_of(*rows: UIMessage) -> Thread:
    thread = Thread(ThreadId("web", "room", "1"), MemoryLog())
    await thread.append(*rows)
    return thread


async def test_pictures_of_people_become_bytes_and_other_files_paths(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    picture, note = attach(layout, PNG, "dot.png"), attach(layout, b"hello", "note.txt")
    said: UIMessage = {"id": "u", "role": "user", "parts": [picture, note, {"type": "text", "text": "look"}]}
    shown: UIMessage = {"id": "m", "role": "assistant", "parts": [picture]}
    thread = await thread_of(said, shown)
    user, assistant = Attachments(layout).show(thread)
    assert user["parts"][0]["url"].startswith("data:image/png;base64,iVBOR")
    assert (tmp_path / user["parts"][1]["url"]).read_bytes() == b"hello"
    assert user["parts"][2] == said["parts"][2]
    assert (tmp_path / assistant["parts"][0]["url"]).read_bytes() == PNG
    assert thread.messages[0]["parts"][0]["url"].startswith("/api/files/")


async def test_a_picture_that_is_gone_is_named_and_nothing_else_is_touched(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    gone: UIMessage = {
        "id": "u",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "image/png", "url": "/api/files/../../etc/passwd"}],
    }
    plain: UIMessage = {
        "id": "v",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "x", "url": "data:,x"}],
    }
    thread = await thread_of(gone, plain)
    named, same = Attachments(layout).show(thread)
    assert named["parts"][0]["url"].startswith(".ship/uploads/")
    assert "/etc/" not in named["parts"][0]["url"]
    assert same is thread.messages[1]


async def test_files_are_found_in_what_is_added_later_and_in_a_new_course(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    attachments = Attachments(layout)
    note = attach(layout, b"hello", "note.txt")
    thread = await thread_of(user_message("a", "hi"), {"id": "m", "role": "assistant", "parts": []})
    assert attachments.show(thread) == thread.messages
    await thread.append({"id": "m", "role": "assistant", "parts": [note]})
    assert attachments.show(thread)[1]["parts"][0]["url"].startswith(".ship/uploads/")
    await thread.append({"id": "c", "role": "user", "metadata": {"course": 2}, "parts": [note]})
    (only,) = attachments.show(thread)
    assert only["parts"][0]["url"].startswith(".ship/uploads/")

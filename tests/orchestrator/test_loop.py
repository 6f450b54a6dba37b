"""The loop runs tools in the right order, keeps every result, and ends each run in plain sight."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.errors import ModelAuthError, ToolError
from shipmate.models.port import (
    Finish,
    FinishReason,
    ReasoningDelta,
    ReasoningEnd,
    ToolCall,
    ToolCallDelta,
)
from shipmate.models.scripted import ScriptedCall, ScriptedModel, call, call_raw, cut, fail, say, think
from shipmate.models.to_model import to_model_messages
from shipmate.orchestrator.loop import MAX_STEPS
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.values.event import TextEvent
from shipmate.values.message import metadata_of, text_of, timestamp
from shipmate.values.sidecar import Sidecar
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


async def test_w9_an_answer_that_broke_off_goes_on_and_keeps_what_was_said(tmp_path: Path) -> None:
    half = ToolCallDelta("c1", "look", '{"mark": "x')
    model = ScriptedModel([[say("I was about "), half, cut()], [say("to say it.")], "More."])
    look = Probe("look")
    async with open_workspace(tmp_path, model, [look]) as app, app.keeper.watch(ROOM) as queue:
        task = asyncio.create_task(talk(app, "go"))
        told = await chunks_until_end(queue)
        outcome = await task
        message = (await messages_of(app))[-1]
        await talk(app, "next")
    assert (outcome.status, outcome.text) == ("replied", "I was about \n\nto say it.")
    assert look.marks == []
    (part,) = [part for part in message["parts"] if "toolCallId" in part]
    assert (part["state"], "did not run" in part["errorText"]) == ("output-error", True)
    assert any("broke off" in chunk.get("data", {}).get("text", "") for chunk in told)
    sent = [to_model_messages(request.messages) for request in model.requests]
    flat = [[(each.role, block) for each in one for block in each.blocks] for one in sent]
    assert flat[1][: len(flat[0])] == flat[0]
    assert flat[2][: len(flat[1])] == flat[1]


async def test_model_trouble_that_stays_is_shown_in_the_thread_and_keeps_what_was_said(
    tmp_path: Path,
) -> None:
    model = ScriptedModel([*[[say(f"{n} "), cut()] for n in range(3)], "Again."])
    async with open_workspace(tmp_path, model) as app:
        outcome = await talk(app, "go")
        message = (await messages_of(app))[-1]
        second = await talk(app, "once more")
    assert (outcome.status, outcome.retryable) == ("failed", True)
    assert "".join(part["text"] for part in message["parts"] if part["type"] == "text") == "0 1 2 "
    assert message["parts"][-1]["type"] == "data-error"
    assert second.text == "Again."


@pytest.mark.parametrize(("reason", "advice"), [("length", "go on"), ("content-filter", "differently")])
async def test_w9_an_ending_that_is_none_is_told_with_what_to_do(
    tmp_path: Path, reason: FinishReason, advice: str
) -> None:
    async with open_workspace(tmp_path, ScriptedModel([[say("Half"), Finish(reason)]])) as app:
        outcome = await talk(app, "go")
        message = (await messages_of(app))[-1]
    assert (outcome.status, outcome.ending) == ("replied", reason)
    notice = message["parts"][-1]
    assert notice["type"] == "data-notice"
    assert advice in notice["data"]["text"]


@pytest.mark.parametrize("reason", ["length", "content-filter"])
async def test_w9_an_ending_without_a_word_says_why(tmp_path: Path, reason: FinishReason) -> None:
    async with open_workspace(tmp_path, ScriptedModel([[Finish(reason)]])) as app:
        outcome = await talk(app, "go")
    assert outcome.status == "failed"
    assert ("maxTokens" if reason == "length" else "filter") in str(outcome.error)


async def test_w3_what_a_turn_is_told_stands_with_its_words_and_is_told_once(tmp_path: Path) -> None:
    model = ScriptedModel(["One.", "Two.", "Three."])
    async with open_workspace(tmp_path, model) as app:
        for number, extra in enumerate(("In the harbour.", "In the harbour.", "At sea.")):
            event = TextEvent(
                platform="cli",
                thread_id=ROOM,
                user_id="ann",
                message_id=f"m{number}",
                timestamp=timestamp(),
                text=f"hi {number}",
                extra_context=extra,
            )
            await (await app.receive(event)).outcome()
    contexts = [[sidecar.context for sidecar in request.sidecars.values()] for request in model.requests]
    assert [len(each) for each in contexts] == [1, 1, 2]
    assert "In the harbour." in contexts[2][0]
    assert "At sea." in contexts[2][1]
    assert len({request.system for request in model.requests}) == 1
    assert "harbour" not in model.requests[0].system


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


async def test_signatures_are_kept_beside_the_thread_while_the_course_lasts(tmp_path: Path) -> None:
    thought = [ReasoningDelta("hm"), ReasoningEnd({"signature": "sig-1"})]
    signed = ToolCall("c1", "look", "{}", signature={"by": "m", "mark": "sig-2"})
    model = ScriptedModel([[*thought, signed], "Done.", "Again."])
    async with open_workspace(tmp_path, model, [Probe("look")]) as app:
        await talk(app, "go")
        message = (await messages_of(app))[-1]
        await talk(app, "more")
        expected = Sidecar(
            signatures=(
                {"signature": "sig-1", "stretch": 0, "step": 1},
                {"by": "m", "mark": "sig-2", "call": "c1", "step": 1},
            )
        )
        assert [request.sidecars for request in model.requests] == [{}, *[{message["id"]: expected}] * 2]
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

"""Lanes run one turn at a time, merge what waits, and stop, steer, retry and resume."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from shipmate.errors import StorageError
from shipmate.models.scripted import ScriptedModel, call, call_raw, hold, say
from shipmate.thread.log import FileLog
from shipmate.values.event import ClientTool, RetryEvent, RunOptions, ToolResultEvent
from shipmate.values.message import UIMessage, metadata_of, text_of, tool_parts
from shipmate.values.thread_id import ThreadId
from tests.support.wait import LONG
from tests.support.workspace import (
    ROOM,
    Probe,
    forget_ends,
    messages_of,
    open_workspace,
    pressed,
    said,
    talk,
    tools_of,
)


async def test_a_repeated_message_starts_nothing_and_gets_the_same_outcome(tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two"])
    async with open_workspace(tmp_path, model) as app:
        first = await talk(app, "hi", message_id="m1")
        again = await talk(app, "hi", message_id="m1")
    async with open_workspace(tmp_path, model) as app:
        later = await talk(app, "hi", message_id="m1")
        messages = await messages_of(app)
    assert first == again == later
    assert (len(model.requests), len(messages)) == (1, 2)


async def test_what_arrives_meanwhile_is_merged_into_one_turn(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate)], "all of it"])
    async with open_workspace(tmp_path, model) as app:
        async with app.keeper.watch(ROOM) as queue:
            first = await app.receive(said("one"))
            await queue.get()
        others = [await app.receive(said(text)) for text in ("two", "three")]
        gate.set()
        await first.outcome()
        outcomes = [await receipt.outcome() for receipt in others]
        messages = await messages_of(app)
    assert len(model.requests) == 2
    assert outcomes[0] == outcomes[1]
    assert [text_of(message) for message in messages] == ["one", "busy", "two", "three", "all of it"]


WEATHER = RunOptions(tools=(ClientTool(name="weather"),), sampling={"temperature": 0.5})


def brought(message_id: str, **results: str) -> ToolResultEvent:
    """Make the event of what a program's tools brought."""
    return ToolResultEvent(
        platform="cli",
        thread_id=ROOM,
        user_id="ann",
        message_id=message_id,
        timestamp="2026-01-01T00:00:00.000Z",
        results=results,
        options=WEATHER,
    )


async def test_w5_a_run_waits_for_a_programs_result_and_goes_on_also_after_a_restart(tmp_path: Path) -> None:
    asked = call_raw("weather", "{}", call_id="c1")
    model = ScriptedModel([[say("One moment."), asked], [asked], "Sun."])
    async with open_workspace(tmp_path, model) as app:
        first = await (await app.receive(said("weather?", message_id="m1", options=WEATHER))).outcome()
        assert (first.status, first.text) == ("suspended", "One moment.")
        forget_ends(app)
    async with open_workspace(tmp_path, model) as app:
        # What is asked once more is answered from the thread.
        again = await (await app.receive(said("weather?", message_id="m1", options=WEATHER))).outcome()
        assert again == first
        second = await (await app.receive(brought("r1", c1="rain"))).outcome()
        assert second.status == "suspended"
        renamed = [part["toolCallId"] for part in tool_parts((await messages_of(app))[-1])][1]
        third = await (await app.receive(brought("r2", **{renamed: "sun"}))).outcome()
        assert (third.status, third.text, third.run_id) == ("replied", "Sun.", first.run_id)
        assert await (await app.receive(brought("r1", c1="rain"))).outcome() == second
        late = await (await app.receive(brought("r3", c1="snow"))).outcome()
        assert (late.status, late.error) == ("failed", "no call waits for these results any more")
        message = (await messages_of(app))[-1]
    assert [part["output"] for part in tool_parts(message)] == ["rain", "sun"]
    assert len(model.requests) == 3
    assert {str(request.sampling) for request in model.requests} == {"{'temperature': 0.5}"}
    assert all("weather" in [spec.name for spec in request.tools] for request in model.requests)


async def test_w5_what_asks_for_tools_of_its_own_is_a_turn_of_its_own(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate)], "two", "three"])
    async with open_workspace(tmp_path, model) as app:
        async with app.keeper.watch(ROOM) as queue:
            await app.receive(said("one"))
            await queue.get()
        others = [
            await app.receive(said("two")),
            await app.receive(said("three", options=WEATHER)),
        ]
        gate.set()
        assert [(await receipt.outcome()).text for receipt in others] == ["two", "three"]
    offered = ["weather" in [spec.name for spec in request.tools] for request in model.requests]
    assert offered == [False, False, True]


async def test_threads_run_beside_each_other(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel({"slow": [[say("slow"), hold(gate)]], "quick": ["quick"]})
    async with open_workspace(tmp_path, model) as app:
        slow = await app.receive(said("slow", thread_id="cli:dm:one"))
        quick = await talk(app, "quick", thread_id="cli:dm:two")
        gate.set()
        assert quick.text == "quick"
        assert (await slow.outcome()).text == "slow"


async def test_stopping_keeps_what_was_done(tmp_path: Path) -> None:
    slow, quick = Probe("slow", acts=True), Probe("quick")
    slow.hold = asyncio.Event()
    model = ScriptedModel([[say("Working."), call("quick", mark="q"), call("slow")], "never"])
    async with open_workspace(tmp_path, model, [slow, quick], allow=["slow"]) as app:
        receipt = await app.receive(said("go"))
        await slow.begun.wait()
        assert await app.keeper.stop(ROOM)
        outcome = await receipt.outcome()
        message = (await messages_of(app))[-1]
        assert not await app.keeper.stop(ROOM)
    assert outcome.status == "stopped"
    assert text_of(message) == "Working."
    assert [state for _, state, _ in tools_of(message)] == ["output-available", "output-error"]
    assert len(model.requests) == 1


async def test_stopping_in_the_middle_of_words_keeps_them(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("Once upon"), hold(gate), say("never")], "Next."])
    async with open_workspace(tmp_path, model) as app:
        async with app.keeper.watch(ROOM) as queue:
            receipt = await app.receive(said("tell"))
            while (event := await queue.get()).chunk is None or event.chunk["type"] != "text-delta":
                pass
            await app.keeper.stop(ROOM)
            outcome = await receipt.outcome()
        after = await talk(app, "and then?")
        messages = await messages_of(app)
    assert (outcome.status, outcome.text) == ("stopped", "Once upon")
    assert after.text == "Next."
    assert [part["type"] for part in messages[1]["parts"]] == ["step-start", "text", "data-notice"]


async def test_steering_ends_the_run_with_its_step_and_turns_to_the_new_words(tmp_path: Path) -> None:
    look = Probe("look")
    look.hold = asyncio.Event()
    model = ScriptedModel([[call("look")], "turned"])
    async with open_workspace(tmp_path, model, [look]) as app:
        first = await app.receive(said("go"))
        await look.begun.wait()
        second = await app.receive(said("rather left", steer=True))
        look.hold.set()
        assert (await first.outcome()).status == "steered"
        assert (await second.outcome()).text == "turned"
    assert len(model.requests) == 2


async def test_a_retry_replaces_the_answer_for_the_model_and_keeps_it_in_the_thread(tmp_path: Path) -> None:
    model = ScriptedModel(["poor", "better", "next"])
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "question")
        event = RetryEvent(platform="cli", thread_id=ROOM, user_id="ann", message_id="r1", timestamp="t")
        outcome = await (await app.receive(event)).outcome()
        await talk(app, "go on")
        messages = await messages_of(app)
    assert outcome.text == "better"
    assert [text_of(message) for message in messages] == ["question", "poor", "better", "go on", "next"]
    assert [text_of(message) for message in model.requests[2].messages] == ["question", "better", "go on"]


async def test_a_call_that_needs_a_person_suspends_and_resumes_after_a_restart(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        asked = await talk(app, "go")
        assert (asked.status, act.marks) == ("suspended", [])
    async with open_workspace(tmp_path, model, [act]) as app:
        outcome = await talk(app, "yes")
        messages = await messages_of(app)
    assert (outcome.status, outcome.message_id) == ("replied", asked.message_id)
    assert act.marks == ["x"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert [part["data"]["text"] for part in messages[1]["parts"] if part["type"] == "data-reply"] == ["yes"]


async def test_a_denied_call_does_not_run_and_the_model_hears_why(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Understood."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        outcome = await talk(app, "no, that is the wrong file")
        part = next(part for part in (await messages_of(app))[1]["parts"] if "toolCallId" in part)
    assert (outcome.text, act.marks, part["state"]) == ("Understood.", [], "output-denied")
    assert "wrong file" in part["approval"]["reason"]


async def test_an_ordinary_message_is_never_swallowed_by_a_waiting_approval(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "It is Monday.", "Done now."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        aside = await talk(app, "what day is it today, by the way?")
        late = await talk(app, "approve")
        messages = await messages_of(app)
    assert aside.text == "It is Monday."
    assert (late.text, act.marks) == ("Done now.", ["x"])
    assert tools_of(messages[1]) == [("act", "output-available", "act x")]
    assert len(messages) == 5


async def test_a_reading_the_model_suggests_is_confirmed_before_anything_runs(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    reading = '{"verdict": "approve", "numbers": [1]}'
    model = ScriptedModel([[call("act", mark="x")], reading, "Done."])
    async with open_workspace(tmp_path, model, [act], suggest=True) as app:
        await talk(app, "go")
        unclear = await talk(app, "well I suppose that would be what one does")
        assert act.marks == []
        outcome = await talk(app, "yes")
    assert unclear.text
    assert (outcome.text, act.marks) == ("Done.", ["x"])


@pytest.mark.parametrize(
    "reading", ["nonsense", '{"verdict": "neither", "numbers": [1]}', '{"verdict": "approve"}']
)
async def test_without_a_clear_reading_the_reply_is_an_ordinary_message(tmp_path: Path, reading: str) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], reading, "Let us talk."])
    async with open_workspace(tmp_path, model, [act], suggest=True) as app:
        await talk(app, "go")
        outcome = await talk(app, "hm, the weather is fine")
    assert (outcome.text, act.marks) == ("Let us talk.", [])


async def test_the_initiator_stays_who_asked_though_another_person_answers(tmp_path: Path) -> None:
    act, again = Probe("act", acts=True), Probe("again", acts=True)
    model = ScriptedModel([[call("act")], [call("again")]])
    async with open_workspace(tmp_path, model, [act, again], deciders="anyone") as app:
        await talk(app, "go", user_id="ann")
        await talk(app, "yes", user_id="bob")
        (second,) = await app.approvals.pending(ROOM)
    assert (act.marks, second.initiators) == ([""], ("ann",))


async def test_two_answers_run_the_call_once(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Done.", "Hello."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        (approval,) = await app.approvals.pending(ROOM)
        first, second = [await app.receive(pressed(approval.id, approved=True)) for _ in range(2)]
        outcomes = [await first.outcome(), await second.outcome()]
    assert act.marks == ["x"]
    assert outcomes[0].text == "Done."
    assert len(model.requests) == 2


async def test_acting_calls_wait_behind_one_a_person_has_not_decided(tmp_path: Path) -> None:
    ask, free, look = Probe("ask", acts=True), Probe("free", acts=True), Probe("look")
    model = ScriptedModel([[call("ask", mark="1"), call("free", mark="2"), call("look", mark="3")], "Done."])
    async with open_workspace(tmp_path, model, [ask, free, look], allow=["free"]) as app:
        await talk(app, "go")
        assert (ask.marks, free.marks, look.marks) == ([], [], ["3"])
        await talk(app, "yes")
        calls = tools_of((await messages_of(app))[1])
    assert (ask.marks, free.marks, look.marks) == (["1"], ["2"], ["3"])
    assert [name for name, _, _ in calls] == ["ask", "free", "look"]


async def test_a_call_that_had_begun_when_the_process_ended_is_not_run_again(tmp_path: Path) -> None:
    act, look = Probe("act", acts=True), Probe("look")
    act.hold = asyncio.Event()
    model = ScriptedModel([[call("look", mark="1"), call("act", mark="2")], "I will check."])
    async with open_workspace(tmp_path, model, [act, look], allow=["act"]) as app:
        await app.receive(said("go"))
        await act.begun.wait()
    act.hold = None
    async with open_workspace(tmp_path, model, [act, look], allow=["act"]) as app:
        assert app.keeper.taken_up == [ROOM]
        await app.keeper.idle()
        message = (await messages_of(app))[-1]
    assert (act.marks, look.marks) == (["2"], ["1"])
    assert "outcome unknown" in tools_of(message)[1][2]
    assert text_of(message) == "I will check."
    assert metadata_of(message)["outcome"] == "replied"


async def test_read_only_calls_may_run_again_after_a_crash(tmp_path: Path) -> None:
    look = Probe("look")
    look.hold = asyncio.Event()
    model = ScriptedModel([[call("look", mark="1")], "Seen."])
    async with open_workspace(tmp_path, model, [look]) as app:
        await app.receive(said("go"))
        await look.begun.wait()
    look.hold = None
    async with open_workspace(tmp_path, model, [look]) as app:
        await app.keeper.idle()
        messages = await messages_of(app)
    assert look.marks == ["1", "1"]
    assert text_of(messages[-1]) == "Seen."
    assert len(messages) == 2


async def test_a_run_that_finished_just_before_a_crash_is_not_run_again(tmp_path: Path) -> None:
    model = ScriptedModel(["Only once."])
    async with open_workspace(tmp_path, model) as app:
        outcome = await talk(app, "go", message_id="m1")
        forget_ends(app)
    async with open_workspace(tmp_path, model) as app:
        assert app.keeper.taken_up == [ROOM]
        await app.keeper.idle()
        assert await talk(app, "go", message_id="m1") == outcome
    assert len(model.requests) == 1


async def test_d3_a_repeat_is_answered_from_the_thread_when_the_inbox_is_gone(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Done."])
    async with open_workspace(tmp_path, model, [act], allow=["act"]) as app:
        outcome = await talk(app, "go", message_id="m1")
        app.layout.inbox.unlink()
        app.layout.state.unlink()
    async with open_workspace(tmp_path, model, [act], allow=["act"]) as app:
        again = await app.receive(said("go", message_id="m1"))
        assert (again.is_new, await again.outcome()) == (False, outcome)
    assert (act.marks, len(model.requests)) == (["x"], 2)


async def test_d13_restarts_count_for_nothing_however_many_there_are(tmp_path: Path) -> None:
    never = asyncio.Event()
    for _ in range(7):
        model = ScriptedModel([[say("I begin "), hold(never)]])
        async with open_workspace(tmp_path, model) as app, app.keeper.watch(ROOM) as queue:
            if not app.keeper.taken_up:
                await app.receive(said("go"))
            # Until the model was asked: what ends before that is no attempt anyway.
            while ((await asyncio.wait_for(queue.get(), LONG)).chunk or {}).get("delta") != "I begin ":
                pass
    async with open_workspace(tmp_path, ScriptedModel({"": ["Answered."]})) as app:
        await app.keeper.idle()
        assert text_of((await messages_of(app))[-1]) == "Answered."


async def test_a_run_that_ends_the_process_every_time_is_given_up_in_plain_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = Probe("look")
    act.hold = asyncio.Event()
    model = ScriptedModel({"": [[call("look")], "never"]})
    for _ in range(7):
        act.begun.clear()
        async with open_workspace(tmp_path, model, [act]) as app:
            # As if it were killed: nobody takes the attempt back.
            monkeypatch.setattr(app.store.inbox, "leave", AsyncMock())
            if not app.keeper.taken_up:
                await app.receive(said("go", message_id="m1"))
            waits = [asyncio.create_task(act.begun.wait()), asyncio.create_task(app.keeper.idle())]
            await asyncio.wait(waits, timeout=LONG, return_when=asyncio.FIRST_COMPLETED)
            waits[0].cancel()
    async with open_workspace(tmp_path, model, [act]) as app:
        outcome = await talk(app, "go", message_id="m1")
        message = (await messages_of(app))[-1]
    assert outcome.status == "failed"
    assert "given up" in message["parts"][-1]["data"]["message"]


async def test_a_disk_that_refuses_is_reported_and_the_message_is_answered_later(tmp_path: Path) -> None:
    model = ScriptedModel(["Answer."])
    async with open_workspace(tmp_path, model) as app:
        threads = app.layout.threads
        threads.parent.mkdir(exist_ok=True)
        threads.write_text("in the way")
        refused = await talk(app, "go", message_id="m1")
        threads.unlink()
        outcome = await talk(app, "go", message_id="m1")
    assert refused.status == "failed"
    assert ".ship/threads" in str(refused.error)
    assert str(tmp_path) not in str(refused.error)
    assert outcome.text == "Answer."


async def test_two_processes_share_a_thread_and_every_message_is_answered_once(tmp_path: Path) -> None:
    model = ScriptedModel({"": ["ok"]})
    async with open_workspace(tmp_path, model) as one, open_workspace(tmp_path, model) as other:
        receipts = [await app.receive(said(f"m {number}")) for number in range(6) for app in (one, other)]
        outcomes = [await asyncio.wait_for(receipt.outcome(), LONG) for receipt in receipts]
        messages = (await one.threads.read(ThreadId.parse(ROOM))).messages
    assert {outcome.status for outcome in outcomes} == {"replied"}
    assert sum(message["role"] == "user" for message in messages) == 12
    assert len({message["id"] for message in messages}) == len(messages)


@pytest.mark.parametrize("thread_id", ["nonsense", "Web:room:1"])
async def test_a_bad_thread_id_is_refused_before_anything_is_stored(tmp_path: Path, thread_id: str) -> None:
    async with open_workspace(tmp_path, ScriptedModel([])) as app:
        with pytest.raises(Exception, match="platform"):
            await app.receive(said("x", thread_id=thread_id))
        assert await app.store.inbox.threads() == []


async def test_d13_a_full_disk_counts_for_nothing_however_often_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = FileLog.append

    async def refuse(log: FileLog, thread_id: ThreadId, rows: Sequence[UIMessage], *, waits: bool) -> None:
        if any(row["role"] == "assistant" for row in rows):
            raise StorageError("full")
        await append(log, thread_id, rows, waits=waits)

    async with open_workspace(tmp_path, ScriptedModel({"": ["Answer."]})) as app:
        monkeypatch.setattr(FileLog, "append", refuse)
        for _ in range(7):
            assert (await talk(app, "go", message_id="m1")).error == "full"
        monkeypatch.setattr(FileLog, "append", append)
        assert (await talk(app, "go", message_id="m1")).text == "Answer."


async def test_a_run_that_only_the_thread_knows_goes_on_in_its_own_message(tmp_path: Path) -> None:
    look = Probe("look")
    look.hold = asyncio.Event()
    async with open_workspace(tmp_path, ScriptedModel([[call("look")], "never"]), [look]) as app:
        await app.receive(said("go"))
        await look.begun.wait()
    # A power cut took what the inbox knew of the run.
    accepted = app.layout.inbox.read_bytes().splitlines(keepends=True)[0]
    app.layout.inbox.write_bytes(accepted)
    look.hold = None
    async with open_workspace(tmp_path, ScriptedModel({"": ["never", "Seen."]}), [look]) as app:
        await asyncio.wait_for(app.keeper.idle(), LONG)
        messages = await messages_of(app)
    assert [text_of(message) for message in messages] == ["go", "Seen."]


async def test_an_unclear_yes_is_not_read_again_after_a_crash(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel({"go": [[call("act", mark="x"), call("act", mark="y")], "never"]})
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        unclear = await talk(app, "yes", message_id="m2")
        assert "2 questions wait" in unclear.text
        await talk(app, "1 yes")
    forget_ends(app)
    async with open_workspace(tmp_path, model, [act]) as app:
        await asyncio.wait_for(app.keeper.idle(), LONG)
        again = await talk(app, "yes", message_id="m2")
        assert len(await app.approvals.pending(ROOM)) == 1
    assert (again.text, act.marks) == (unclear.text, ["x"])


async def test_runs_that_ended_just_before_a_crash_keep_each_its_own_answer(tmp_path: Path) -> None:
    model = ScriptedModel({"one": ["First."], "two": ["Second."]})
    async with open_workspace(tmp_path, model) as app:
        first = await talk(app, "one", message_id="m1")
        await talk(app, "two", message_id="m2")
    forget_ends(app)
    # However often the first was tried before it came to its end.
    with app.layout.inbox.open("a") as file:
        for _ in range(6):
            file.write(json.dumps({"do": "ask", "run": first.run_id, "progress": 9}) + "\n")
    async with open_workspace(tmp_path, model) as app:
        again = [await talk(app, text, message_id=each) for text, each in (("one", "m1"), ("two", "m2"))]
    assert [(outcome.status, outcome.text) for outcome in again] == [
        ("replied", "First."),
        ("replied", "Second."),
    ]
    assert len(model.requests) == 2


async def test_d2_a_retry_whose_answer_is_no_longer_the_last_when_its_turn_comes_replaces_nothing(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel({"one": ["First."], "two": [[hold(gate), say("Second.")]]})
    async with open_workspace(tmp_path, model) as app:
        first = await talk(app, "one")
        running = await app.receive(said("two"))
        receipt = await app.receive(again(first.message_id))
        gate.set()
        await running.outcome()
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
        messages = await messages_of(app)
    assert (outcome.status, "no longer the last" in (outcome.error or "")) == ("failed", True)
    assert [text_of(message) for message in messages] == ["one", "First.", "two", "Second."]
    assert not any("replacedBy" in metadata_of(message) for message in messages)


def again(replaces: str | None, message_id: str = "r1") -> RetryEvent:
    return RetryEvent(
        platform="cli",
        thread_id=ROOM,
        user_id="ann",
        message_id=message_id,
        timestamp="2026-01-01T00:00:00.000Z",
        replaces=replaces,
    )


async def test_d2_a_retry_taken_up_after_a_crash_does_not_replace_itself(tmp_path: Path) -> None:
    look = Probe("look")
    look.hold = asyncio.Event()
    async with open_workspace(tmp_path, ScriptedModel(["First.", [call("look")], "never"]), [look]) as app:
        first = await talk(app, "go")
        await app.receive(again(first.message_id))
        await look.begun.wait()
    look.hold = None
    async with open_workspace(tmp_path, ScriptedModel({"": ["", "never", "Second."]}), [look]) as app:
        await asyncio.wait_for(app.keeper.idle(), LONG)
        messages = await messages_of(app)
    assert ["replacedBy" in metadata_of(message) for message in messages] == [False, True, False]


async def test_d3_questions_and_retries_are_known_from_the_thread_when_the_inbox_is_gone(
    tmp_path: Path,
) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel(["First.", "Second.", [call("act")], "never"])
    async with open_workspace(tmp_path, model, [act]) as app:
        first = await talk(app, "go")
        retried = await (await app.receive(again(first.message_id))).outcome()
        asked = await talk(app, "act", message_id="m2")
    app.layout.inbox.unlink()
    async with open_workspace(tmp_path, model, [act]) as app:
        repeated = await (await app.receive(again(first.message_id))).outcome()
        waiting = await talk(app, "act", message_id="m2")
    assert (repeated, waiting) == (retried, asked)
    assert (waiting.status, len(model.requests)) == ("suspended", 3)

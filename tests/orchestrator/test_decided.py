"""Decisions reach calls however late they come: after a stop, a retry, an aside, a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

from shipmate.approvals.audit_call import fold
from shipmate.models.scripted import ScriptedModel, call, say
from shipmate.orchestrator.reduce import Reducer
from shipmate.values.event import RetryEvent
from shipmate.values.message import UIMessage, text_of
from tests.support.wait import LONG
from tests.support.workspace import (
    ROOM,
    Probe,
    messages_of,
    open_workspace,
    pressed,
    said,
    talk,
    tools_of,
)

EMPTY: UIMessage = {"id": "msg_1", "role": "assistant", "parts": []}
ASIDE = "what day is it today, by the way?"


async def test_an_approval_given_after_a_stop_runs_the_call_at_once(tmp_path: Path) -> None:
    ask, look = Probe("ask", acts=True), Probe("look")
    look.hold = asyncio.Event()
    model = ScriptedModel([[call("ask", mark="x"), call("look")], "Done."])
    async with open_workspace(tmp_path, model, [ask, look]) as app:
        receipt = await app.receive(said("go"))
        await look.begun.wait()
        await app.keeper.stop(ROOM)
        assert (await receipt.outcome()).status == "stopped"
        outcome = await talk(app, "yes")
    assert (outcome.status, outcome.text, ask.marks) == ("replied", "Done.", ["x"])


async def test_work_on_a_late_decision_can_be_stopped(tmp_path: Path) -> None:
    one, two = Probe("one", acts=True), Probe("two", acts=True)
    one.hold = asyncio.Event()
    model = ScriptedModel([[call("one"), call("two")], "It is Monday.", "Hello."])
    async with open_workspace(tmp_path, model, [one, two]) as app:
        await talk(app, "go")
        await talk(app, ASIDE)
        receipt = await app.receive(said("approve all"))
        await one.begun.wait()
        assert await app.keeper.stop(ROOM)
        outcome = await asyncio.wait_for(receipt.outcome(), LONG)
        calls = tools_of((await messages_of(app))[1])
        after = await talk(app, "hello")
        audited = {each.tool: each.outcome for each in fold(app.approvals.audit.entries(), 5).calls}
    assert (outcome.status, after.text) == ("stopped", "Hello.")
    assert audited == {"one": "interrupted", "two": "refused"}
    assert [state for _, state, _ in calls] == ["output-error", "output-error"]
    assert (one.marks, two.marks) == ([""], [])


async def test_a_watcher_of_a_late_decision_can_read_the_stream(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "It is Monday.", "Done now."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        await talk(app, ASIDE)
        async with app.keeper.watch(ROOM) as queue:
            outcome = await talk(app, "yes")
            told = [queue.get_nowait() for _ in range(queue.qsize())]
        older = (await messages_of(app))[1]
    reducers = {each.message_id: Reducer(each.snapshot.message) for each in told if each.snapshot}
    for each in told:
        if each.chunk is not None and each.message_id in reducers:
            reducers[each.message_id].apply(each.chunk)
    assert act.marks == ["x"]
    assert text_of(reducers[str(outcome.message_id)].message) == "Done now."
    # D10: what the older message's call did is told too, as part of that message.
    assert tools_of(reducers[older["id"]].message) == tools_of(older)


async def test_a_retry_closes_the_question_it_replaces(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Shall I tell you a joke instead?", "A joke."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        event = RetryEvent(platform="cli", thread_id=ROOM, user_id="ann", message_id="r1", timestamp="t")
        await (await app.receive(event)).outcome()
        waiting = await app.approvals.pending(ROOM)
        outcome = await talk(app, "yes")
        messages = await messages_of(app)
    assert (waiting, act.marks, outcome.text) == ([], [], "A joke.")
    assert [state for _, state, _ in tools_of(messages[1])] == ["output-denied"]
    assert text_of(messages[3]) == "yes"


async def test_a_denied_call_whose_tool_is_gone_is_denied(tmp_path: Path) -> None:
    model = ScriptedModel([[call("act", mark="x")], "Understood."])
    async with open_workspace(tmp_path, model, [Probe("act", acts=True)]) as app:
        await talk(app, "go")
    async with open_workspace(tmp_path, model, []) as app:
        await talk(app, "no")
        calls = tools_of((await messages_of(app))[1])
    assert [state for _, state, _ in calls] == ["output-denied"]


async def test_an_approved_call_whose_tool_is_gone_is_in_the_audit_log_as_not_run(tmp_path: Path) -> None:
    model = ScriptedModel([[call("act", mark="x")], "Understood."])
    async with open_workspace(tmp_path, model, [Probe("act", acts=True)]) as app:
        await talk(app, "go")
    async with open_workspace(tmp_path, model, []) as app:
        await talk(app, "yes")
        (audited,) = fold(app.approvals.audit.entries(), 5).calls
    assert (audited.outcome, audited.events[-1].why) == ("refused", "abandoned")
    assert "act" in (audited.events[-1].reason or "")


async def test_a_decision_about_a_thread_file_that_is_gone_is_told_and_starts_nothing(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Hello.", "never"])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        (approval,) = await app.approvals.pending(ROOM)
        thread_id = (await app.threads.ids())[0]
        app.layout.thread(thread_id).unlink()
        await talk(app, "hello")
        outcome = await (await app.receive(pressed(approval.id, approved=True))).outcome()
        messages = await messages_of(app)
    assert (act.marks, len(messages), len(model.requests)) == ([], 2, 2)
    assert outcome.text


async def test_an_answer_from_one_platform_hides_no_message_of_another(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("?"), call("act", mark="x")], "Done.", "Heard."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        await talk(app, "yes", message_id="7")
        event = said("and now this", message_id="7", platform="telegram")
        await (await app.receive(event)).outcome()
        messages = await messages_of(app)
    assert [text_of(message) for message in messages if message["role"] == "user"] == ["go", "and now this"]


async def test_a_decision_that_a_crash_left_outside_the_thread_is_brought_in(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    async with open_workspace(tmp_path, ScriptedModel([[call("act", mark="x")]]), [act]) as app:
        assert (await talk(app, "go")).status == "suspended"
        pending = await app.approvals.pending(ROOM)
        await app.approvals.answer(pressed(pending[0].id, approved=True), pending)
    async with open_workspace(tmp_path, ScriptedModel({"": ["Hello."]}), [act]) as later:
        await talk(later, ASIDE)
        calls = tools_of((await messages_of(later))[1])
    assert (act.marks, [state for _, state, _ in calls]) == (["x"], ["output-available"])


async def test_a_watcher_is_shown_the_older_message_that_a_late_decision_works_on(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    act.hold = asyncio.Event()
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "It is Monday.", "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        await talk(app, ASIDE)
        receipt = await app.receive(said("yes"))
        await act.begun.wait()
        async with app.keeper.watch(ROOM) as queue:
            joined = [queue.get_nowait() for _ in range(queue.qsize())]
        act.hold.set()
        await receipt.outcome()
        older = (await messages_of(app))[1]
    shown = {event.message_id: event.snapshot for event in joined}
    snapshot = shown[older["id"]]
    assert snapshot is not None
    assert text_of(snapshot.message) == "May I?"

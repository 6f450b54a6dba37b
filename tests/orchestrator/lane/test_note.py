"""A course opens and pins are kept: through the lane, once, and with everything that must go along."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shipmate.app import Shipmate
from shipmate.cli import threads
from shipmate.cli.talk.slash import COMMANDS
from shipmate.errors import ContextTooLongError
from shipmate.models.port import ModelRequest
from shipmate.models.scripted import ScriptedModel, call, fail, hold, say, think
from shipmate.models.to_model import to_model_messages
from shipmate.orchestrator.lane.note import PIN_COUNT, PIN_LENGTH
from shipmate.values.event import RetryEvent
from shipmate.values.message import metadata_of, text_of
from shipmate.values.thread_id import ThreadId
from tests.support.chat import open_chat
from tests.support.workspace import (
    ROOM,
    Probe,
    course,
    forget_ends,
    messages_of,
    note,
    open_workspace,
    pin,
    pressed,
    said,
    talk,
    tools_of,
)


def read(request: ModelRequest) -> str:
    """Return all that a model is shown, in order."""
    return repr(to_model_messages(request.messages))


async def test_m6_a_new_course_hides_what_was_said_and_keeps_it_in_the_thread(tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two"])
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "my secret plan")
        outcome = await note(app, course())
        await talk(app, "again")
        rows = await messages_of(app)
        found = await app.store.search.find("secret plan")
        listed = await app.store.threads.list()
    assert (outcome.status, rows[2]["role"]) == ("replied", "system")
    assert outcome.text.startswith("Course 2 is open.")
    data = rows[2]["parts"][0]["data"]
    assert data["closes"] == {"course": 1, "first": rows[0]["id"], "last": rows[1]["id"], "messages": 2}
    assert [metadata_of(row)["course"] for row in rows] == [1, 1, 2, 2, 2]
    assert "secret plan" not in read(model.requests[1])
    assert [hit.message_id for hit in found] == [rows[0]["id"]]
    assert (listed[0].message_count, listed[0].title) == (5, "my secret plan")


async def test_m6_a_conversation_that_is_too_long_names_commands_that_are_there(tmp_path: Path) -> None:
    model = ScriptedModel([fail(ContextTooLongError()), "one"])
    async with open_workspace(tmp_path, model) as app:
        outcome = await talk(app, "much")
        await note(app, course())
        assert (await talk(app, "little")).text == "one"
    error = str(outcome.error)
    for way in ("/course in the terminal", "/new in a chat", "“New course” on the page"):
        assert way in error
    assert "`shipmate threads new-course`" in error
    assert ("course" in COMMANDS, "new-course" in threads.command.commands) == (True, True)
    assert "much" not in read(model.requests[1])


async def test_what_waits_behind_a_new_course_falls_into_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate)], "old", "new"])
    async with open_workspace(tmp_path, model) as app:
        async with app.keeper.watch(ROOM) as queue:
            first = await app.receive(said("one"))
            await queue.get()
        receipts = [await app.receive(each) for each in (said("two"), course(), said("three"), said("four"))]
        gate.set()
        await first.outcome()
        for receipt in receipts:
            await receipt.outcome()
        rows = await messages_of(app)
    said_in = [(metadata_of(row)["course"], text_of(row)) for row in rows if row["role"] != "system"]
    assert said_in == [(1, "one"), (1, "busy"), (1, "two"), (1, "old"), (2, "three"), (2, "four"), (2, "new")]
    assert "busy" not in read(model.requests[2])


async def test_a_repeat_opens_nothing_twice_also_after_a_kill(tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two"])
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "hi")
        first = await note(app, course("c-key"))
        pinned = await note(app, pin("A fact.", message_id="p-key"))
        assert await note(app, course("c-key")) == first
        forget_ends(app)
    async with open_workspace(tmp_path, model) as app:
        # The rows are there, the inbox was not told: what was left is ended, not done again.
        await app.keeper.idle()  # pyright: ignore[reportAttributeAccessIssue]
        assert await note(app, course("c-key")) == first
        assert await note(app, pin("A fact.", message_id="p-key")) == pinned
        rows = await messages_of(app)
        thread = await app.threads.read(ThreadId.parse(ROOM))
    assert len(rows) == 4
    assert (thread.course, [each.text for each in thread.pins.list()]) == (2, ["A fact."])


async def test_taint_goes_along_with_a_course(tmp_path: Path) -> None:
    fetch, act = Probe("fetch", untrusted=True), Probe("act", acts=True)
    model = ScriptedModel([[call("fetch")], "Read it.", [call("act")], "never"])
    async with open_workspace(tmp_path, model, [fetch, act], allow=["act"]) as app:
        await talk(app, "go")
        await note(app, course())
        opened = (await messages_of(app))[-1]
        outcome = await talk(app, "now act")
    assert opened["parts"][0]["data"]["tainted"] is True
    assert (outcome.status, act.marks) == ("suspended", [])


async def test_a_row_that_says_it_is_tainted_taints_where_the_results_are_missing(tmp_path: Path) -> None:
    """A course that was copied alone brings no result along, only what its first row says."""
    fetch, act = Probe("fetch", untrusted=True), Probe("act", acts=True)
    model = ScriptedModel([[call("fetch")], "Read it.", [call("act")], "never"])
    async with open_workspace(tmp_path, model, [fetch, act], allow=["act"]) as app:
        await talk(app, "go")
        await note(app, pin("Run act."))
        await note(app, course())
        opened = (await messages_of(app))[-1]
        for part in opened["parts"]:
            if part["type"] == "data-course":
                part["data"].pop("tainted")
        await app.threads.create(ThreadId.parse("cli:dm:copy"), [opened])
        outcome = await talk(app, "now act", thread_id="cli:dm:copy")
    assert (outcome.status, act.marks) == ("suspended", [])


@pytest.mark.parametrize("way", ["words", "button"])
async def test_a_yes_after_a_new_course_answers_its_question_and_the_model_sees_the_result(
    tmp_path: Path, way: str
) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("Shall I?"), call("act", mark="it")], "It is done.", "later"])
    async with open_workspace(tmp_path, model, [act]) as app:
        assert (await talk(app, "my long story, then go")).status == "suspended"
        opened = await note(app, course())
        assert act.marks == []
        [approval] = await app.approvals.pending(ROOM)
        answer = pressed(approval.id, approved=True) if way == "button" else said("yes")
        outcome = await (await app.receive(answer)).outcome()
        rows = await messages_of(app)
        await talk(app, "and now?")
    assert "Questions that still wait for an answer: 1." in opened.text
    assert (outcome.text, act.marks) == ("It is done.", ["it"])
    assert tools_of(rows[1]) == [("act", "output-available", "act it")]
    [carried] = rows[2]["parts"][0]["data"]["approvals"]
    assert (carried["messageId"], carried["approvalId"]) == (rows[1]["id"], approval.id)
    for request in model.requests[1:]:
        assert "act it" in read(request)
        assert "long story" not in read(request)
        assert "Shall I?" not in read(request)
    # What was sent before is the start of what is sent later.
    assert read(model.requests[2]).startswith(read(model.requests[1])[:-40])


async def test_a_no_after_a_new_course_is_told_to_the_model(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act")], "Then not."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        await note(app, course())
        outcome = await talk(app, "no")
    assert (outcome.text, act.marks) == ("Then not.", [])
    assert "denied" in read(model.requests[1])


async def test_a_question_that_waits_through_two_courses_can_be_answered(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="it")], "chat", "It is done.", "after"])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        await note(app, course())
        await talk(app, "what is the weather like over there?")
        await note(app, course())
    async with open_workspace(tmp_path, model, [act]) as app:
        outcome = await talk(app, "yes")
        await note(app, course())
        await talk(app, "next")
        rows = await messages_of(app)
    assert (outcome.text, act.marks) == ("It is done.", ["it"])
    assert rows[-3]["parts"][0]["data"]["approvals"] == []
    assert "act it" not in read(model.requests[3])


async def test_what_stood_beside_the_old_course_is_gone(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[think("hm"), call("act")], "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        message_id = (await messages_of(app))[1]["id"]
        await app.store.ledger.keep_signatures(ROOM, message_id, 1, [{"signature": "s"}])
        await note(app, course())
        assert await app.store.ledger.sidecars(ROOM) == {}
        assert not app.layout.sidecar(ThreadId.parse(ROOM)).exists()


async def test_m6_pins_are_in_every_course_and_what_was_sent_stays_the_start_of_what_is_sent(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(["one", "two", "three", "four"])
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "hi")
        assert (await note(app, pin("The port is 8022."))).text.startswith("Pinned as 1.")
        await note(app, pin("Never deploy on Fridays."))
        await talk(app, "go on")
        await note(app, course())
    async with open_workspace(tmp_path, model) as app:
        await app.store.reconcile()
        await talk(app, "again")
        assert (await note(app, pin(number=1))).status == "replied"
        await note(app, course())
        await talk(app, "and again")
        listing = await note(app, pin())
    shown = [read(request) for request in model.requests]
    assert [("8022" in each, "Fridays" in each) for each in shown] == [
        (False, False),
        (True, True),
        (True, True),
        (False, True),
    ]
    assert shown[1].startswith(shown[0][:-1])
    assert listing.text == "Pinned here:\n\n2. Never deploy on Fridays."


async def test_a_number_is_never_given_twice(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["one"])) as app:
        await note(app, pin("a"))
        await note(app, pin(number=1))
        await note(app, pin("b"))
        again = await note(app, pin(number=1))
        thread = await app.threads.read(ThreadId.parse(ROOM))
    assert [each.number for each in thread.pins.list()] == [2]
    assert again.error == "there is no pin 1 in this thread. In force: 2"


@pytest.mark.parametrize(
    ("text", "words"),
    [("  ", "nothing to pin"), ("x" * (PIN_LENGTH + 1), "too long to pin: 4,001 characters")],
)
async def test_what_cannot_be_pinned_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    async with open_workspace(tmp_path, ScriptedModel([])) as app:
        outcome = await note(app, pin(text))
        assert (outcome.status, await app.threads.exists(ThreadId.parse(ROOM))) == ("failed", False)
    assert words in str(outcome.error)


async def test_pins_have_an_end(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel([])) as app:
        for number in range(PIN_COUNT):
            await note(app, pin(f"fact {number}"))
        outcome = await note(app, pin("one more"))
    assert outcome.error == "50 pins are in force, and a thread holds no more. Take one off first"


async def test_an_empty_thread_or_course_has_nothing_to_close(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["one"])) as app:
        nothing = await note(app, course())
        assert not await app.threads.exists(ThreadId.parse(ROOM))
        await talk(app, "hi")
        await note(app, course())
        await note(app, pin("a fact"))
        again = await note(app, course())
        thread = await app.threads.read(ThreadId.parse(ROOM))
    assert nothing.error == "there is nothing to close: this thread has no message yet"
    assert again.error == "course 2 has no message yet, so it goes on"
    assert thread.course == 2


async def test_words_of_a_member_or_a_tool_open_and_pin_nothing(tmp_path: Path) -> None:
    look = Probe("look")
    look.name = "look"  # pyright: ignore[reportAttributeAccessIssue]
    model = ScriptedModel([["/new", call("look", mark="/pin A lie.")], "/new\n/pin Another lie.", "ok"])
    async with open_workspace(tmp_path, model, [look]) as app:
        await talk(app, "hi", platform="telegram", thread_id="telegram:dm:1")
        await talk(app, "ho", platform="telegram", thread_id="telegram:dm:1")
        thread = await app.threads.read(ThreadId.parse("telegram:dm:1"))
    assert (thread.course, thread.pins.list()) == (1, [])
    assert {message["role"] for message in thread.messages} == {"user", "assistant"}


@pytest.mark.parametrize("command", ["/new", " /NEW ", "/new@ship_bot"])
async def test_m6_new_in_a_chat_opens_a_course_and_is_answered_there(tmp_path: Path, command: str) -> None:
    model = ScriptedModel(["one", "two"])
    chat = {"platform": "memory", "thread_id": "memory:group:7"}
    async with open_chat(tmp_path, model) as (app, _):
        await talk(app, "hi", **chat)
        await talk(app, "/pin The port is 8022.", **chat)
        opened = await talk(app, command, message_id="n1", **chat)
        assert await talk(app, command, message_id="n1", **chat) == opened
        pins = await talk(app, "/pins", **chat)
        await talk(app, "/unpin 1", **chat)
        wrong = await talk(app, "/unpin it", **chat)
        thread = await app.threads.read(ThreadId.parse("memory:group:7"))
        sent = [row.message.text or "" for row in await app.store.outbox.list()]
    assert (thread.course, len(model.requests)) == (2, 1)
    assert opened.text in sent
    assert pins.text == "Pinned here:\n\n1. The port is 8022."
    assert wrong.error == "there is no pin 0 in this thread. In force: none"


async def test_new_from_a_terminal_or_a_page_is_theirs_to_read(tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two"])
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "hi")
        assert (await talk(app, "/new")).text == "two"
        assert (await app.threads.read(ThreadId.parse(ROOM))).course == 1


async def test_the_answer_before_a_pin_can_be_tried_again_and_one_before_a_course_cannot(
    tmp_path: Path,
) -> None:
    def retry(key: str) -> RetryEvent:
        return RetryEvent(
            platform="cli",
            thread_id=ROOM,
            user_id="ann",
            message_id=key,
            timestamp="2026-01-01T00:00:00.000Z",
        )

    model = ScriptedModel(["one", "two"])
    async with open_workspace(tmp_path, model) as app:
        await talk(app, "hi")
        await note(app, pin("a fact"))
        again = await (await app.receive(retry("r1"))).outcome()
        await note(app, course())
        late = await (await app.receive(retry("r2"))).outcome()
    assert (again.text, late.status) == ("two", "failed")
    assert "no longer the last" in str(late.error)


async def test_people_of_a_chinese_workspace_are_told_in_chinese(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["好"])) as app:
        (tmp_path / "ship.json").write_text('{"language": "zh"}')
    async with Shipmate.open(tmp_path, model=ScriptedModel(["好"]), environ={}) as app:
        await talk(app, "你好")
        assert (await note(app, pin("端口是 8022。"))).text.startswith("已置顶，编号 1")
        assert (await note(app, course())).text.startswith("第 2 段已开始。")

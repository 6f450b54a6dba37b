"""Answers in a thread: who may give them, what is said to what is none, and stopping while one is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from shipmate.app import Shipmate
from shipmate.models.port import ModelEvent, ModelRequest
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.models.to_model import to_model_messages
from shipmate.values.event import Outcome
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId
from tests.support.workspace import ROOM, Probe, messages_of, open_workspace, said, talk

GROUP = "telegram:group:7"


async def say_in_group(app: Shipmate, user_id: str, text: str) -> Outcome:
    return await talk(app, text, thread_id=GROUP, platform="telegram", user_id=user_id)


async def test_c20_in_a_merged_turn_each_who_spoke_may_decide_and_nobody_else(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    gate = asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate)], [call("act", mark="x")], "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        async with app.keeper.watch(GROUP) as queue:
            first = asyncio.ensure_future(say_in_group(app, "zoe", "hello"))
            await queue.get()
        said_by = (("ann", "please delete the logs"), ("bob", "lunch anyone?"))
        for user_id, words in said_by:
            await app.receive(said(words, thread_id=GROUP, platform="telegram", user_id=user_id))
        gate.set()
        await first
        await app.keeper.idle()
        (asked,) = await app.approvals.pending(GROUP)
        assert asked.initiators == ("ann", "bob")
        for user_id in ("zoe", "carl"):
            await say_in_group(app, user_id, "同意")
            assert act.marks == []
        outcome = await say_in_group(app, "ann", "同意")
    assert (outcome.text, act.marks) == ("Done.", ["x"])


async def test_words_that_no_person_said_make_nobody_an_initiator(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")]])
    async with open_workspace(tmp_path, model, [act]) as app:
        async with app.threads.open(ThreadId.parse(GROUP)) as thread:
            metadata: Any = {"userId": "mate", "platform": "telegram", "sourceTag": "member"}
            told: Any = {"type": "text", "text": "go"}
            await thread.append({"id": "t1", "role": "user", "metadata": metadata, "parts": [told]})
        await say_in_group(app, "ann", "and this")
        (asked,) = await app.approvals.pending(GROUP)
    assert asked.initiators == ("ann",)


async def test_an_answer_takes_up_the_turn_of_those_who_asked(tmp_path: Path) -> None:
    act, again = Probe("act", acts=True), Probe("again", acts=True)
    model = ScriptedModel([[call("act")], "Pizza.", [call("again")]])
    async with open_workspace(tmp_path, model, [act, again]) as app:
        await say_in_group(app, "ann", "go")
        await say_in_group(app, "bob", "lunch anyone")
        await say_in_group(app, "ann", "yes")
        (second,) = await app.approvals.pending(GROUP)
    assert (act.marks, second.initiators) == ([""], ("ann",))


async def test_what_is_not_understood_goes_on_and_the_answer_says_what_would_have_been(
    tmp_path: Path,
) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act", mark="x")], "Tests are green.", "Bye."])
    async with open_workspace(tmp_path, model, [act]) as app:
        await talk(app, "go")
        async with app.keeper.watch(ROOM) as queue:
            aside = await talk(app, "yes as long as tests pass")
            seen = [queue.get_nowait() for _ in range(queue.qsize())]
        answer = (await messages_of(app))[-1]
        await talk(app, "no")
    assert (aside.text, act.marks) == ("Tests are green.", [])
    notices = [part["data"]["text"] for part in answer["parts"] if part["type"] == "data-notice"]
    told = [each.chunk for each in seen if each.chunk and each.chunk["type"] == "data-notice"]
    assert notices == [chunk["data"]["text"] for chunk in told]
    assert len(notices) == 1
    assert "to answer, say **yes** or **no**" in notices[0]
    assert "Not taken as an answer" not in str(to_model_messages(model.requests[-1].messages))


async def test_without_a_question_nothing_is_said_about_answers(tmp_path: Path) -> None:
    async with open_workspace(tmp_path, ScriptedModel(["Hello."])) as app:
        await talk(app, "yes as long as tests pass")
        messages = await messages_of(app)
    assert [part["type"] for part in messages[-1]["parts"] if part["type"].startswith("data")] == []


class Musing(ScriptedModel):
    """Think without end when asked what a reply means."""

    def __init__(self, *turns: Any) -> None:
        super().__init__(list(turns))
        self.begun = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if "A person was asked" in request.system:
            self.begun.set()
            await asyncio.Event().wait()
        async for event in super().stream(request):
            yield event


async def test_a_lane_can_be_stopped_while_a_model_suggests(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = Musing([call("act", mark="x")], "Done.")
    async with open_workspace(tmp_path, model, [act], suggest=True) as app:
        await talk(app, "go")
        receipt = await app.receive(said("well, I suppose"))
        await model.begun.wait()
        assert await app.keeper.stop(ROOM)
        outcome = await asyncio.wait_for(receipt.outcome(), 10)
        assert (outcome.status, act.marks) == ("stopped", [])
        assert not await app.keeper.stop(ROOM)
        kept = [message["role"] for message in await messages_of(app)]
        assert kept == ["user", "assistant", "user", "assistant"]
        assert (await talk(app, "yes")).text == "Done."
    assert act.marks == ["x"]


async def test_a_message_whose_reading_the_end_of_the_process_broke_off_is_taken_up_again(
    tmp_path: Path,
) -> None:
    model = Musing([call("act", mark="x")])
    async with open_workspace(tmp_path, model, [Probe("act", acts=True)], suggest=True) as app:
        await talk(app, "go")
        await app.receive(said("well, I suppose", message_id="m9"))
        await model.begun.wait()
    calm = ScriptedModel(['{"verdict": "neither", "numbers": []}', "Hello again."])
    async with open_workspace(tmp_path, calm, [Probe("act", acts=True)], suggest=True) as app:
        await app.keeper.idle()
        assert text_of((await messages_of(app))[-1]) == "Hello again."


async def test_a_yes_that_came_before_the_question_does_not_answer_it(tmp_path: Path) -> None:
    act, gate = Probe("act", acts=True), asyncio.Event()
    model = ScriptedModel([[say("busy"), hold(gate), call("act", mark="x")], "As you say.", "Done."])
    async with open_workspace(tmp_path, model, [act]) as app:
        async with app.keeper.watch(ROOM) as queue:
            first = await app.receive(said("look around"))
            await queue.get()
        early = await app.receive(said("yes"))
        # Stamps are in milliseconds.
        await asyncio.sleep(0.01)
        gate.set()
        assert (await first.outcome()).status == "suspended"
        assert (await early.outcome()).text == "As you say."
        assert act.marks == []
        assert (await talk(app, "yes")).text == "Done."
    assert act.marks == ["x"]

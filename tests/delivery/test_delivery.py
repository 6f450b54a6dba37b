"""What leaves a workspace for a platform, and what does not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from shipmate.models.scripted import ScriptedModel, call, say
from tests.support.chat import open_chat
from tests.support.workspace import Probe

LONG = 10


async def test_an_answer_is_sent_once_as_a_reply(tmp_path: Path) -> None:
    async with open_chat(tmp_path, ScriptedModel(["Hello."])) as (ship, platform):
        heard = await platform.say("hi")
        assert heard.status == "accepted"
        assert (await platform.say("hi", message_id="1.in1")).status == "repeated"
        await asyncio.wait_for(platform.wait("Hello."), LONG)
        (shown,) = platform.in_chat("1")
        assert (shown.text, shown.reply_to, shown.kind) == ("Hello.", "1.in1", "words")
        await ship.keeper.idle()


async def test_m8_a_question_reaches_the_chat_and_a_button_answers_it(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Done."])
    async with open_chat(tmp_path, model, [act]) as (_, platform):
        await platform.say("go")
        await asyncio.wait_for(platform.wait("act"), LONG)
        words, question = platform.in_chat("1")
        assert words.text == "May I?"
        assert [button.label for button in question.buttons[0]] == ["✅ Yes, once", "❌ No"]
        heard = await platform.press(question, "✅ Yes, once")
        assert heard.told == "Got it."
        await asyncio.wait_for(platform.wait("Done.", "Allowed."), LONG)
        assert act.marks == ["x"]
        assert question.buttons == ()

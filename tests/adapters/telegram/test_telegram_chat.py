"""People talk to members on Telegram, from the update that comes in to what is shown."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from shipmate.delivery import preview
from shipmate.delivery.adapter import OutgoingMessage
from shipmate.errors import SendLaterError
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.values.message import text_of
from shipmate.values.thread_id import ThreadId
from tests.support.bot import open_bot
from tests.support.bot_api import BotApi, LostError, RefusedError
from tests.support.workspace import Probe


async def test_m8_words_are_answered_once_and_confirmed_once_they_are_on_disk(tmp_path: Path) -> None:
    async with (
        BotApi() as telegram,
        open_bot(tmp_path, ScriptedModel(["**Hello** `Ann`."]), telegram) as ship,
    ):
        [bot] = telegram.bots.values()
        telegram.say("hi")
        await telegram.wait("Hello Ann.")
        [shown] = telegram.in_chat()
        assert [(each["type"], each["offset"], each["length"]) for each in shown["entities"]] == [
            ("bold", 0, 5),
            ("code", 6, 3),
        ]
        await telegram.until(lambda: bot.confirmed > 0)
        thread = await ship.threads.read(ThreadId("helper", "dm", "1"))
        assert [text_of(row) for row in thread.messages][-1] == "**Hello** `Ann`."


async def test_m8_an_answer_is_shown_while_it_is_written_and_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
    rest = asyncio.Event()
    model = ScriptedModel([[say("Half of it,"), hold(rest), say(" and the rest.")]])
    async with BotApi() as telegram, open_bot(tmp_path, model, telegram):
        telegram.say("hi")
        await telegram.wait("Half of it, …")
        assert ("sendChatAction", {"chat_id": "1", "action": "typing"}) in telegram.calls
        rest.set()
        await telegram.wait("Half of it, and the rest.")
        assert telegram.texts() == ["Half of it, and the rest."]
        assert [name for name, _ in telegram.calls if name == "sendMessage"] == ["sendMessage"]


async def test_m8_a_question_is_answered_by_a_button_and_then_has_none(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Done."])
    async with BotApi() as telegram, open_bot(tmp_path, model, telegram, [act]):
        telegram.say("go")
        await telegram.until(lambda: len(telegram.in_chat()) == 2)
        _, question = telegram.in_chat()
        press_id = telegram.press(question, "✅ Yes, once")
        await telegram.wait("Done.", "Allowed.")
        assert act.marks == ["x"]
        assert "reply_markup" not in question
        assert telegram.answered == [{"callback_query_id": press_id, "text": "Got it."}]


async def test_s4_the_token_is_in_no_log_error_or_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with BotApi() as telegram:
        [token] = [telegram.add_bot("helper_bot").token]
        # A server that tells what it was asked, as some proxies do.
        telegram.troubles = [RefusedError(400, f"Bad Request: /bot{token}/sendMessage"), LostError()]
        async with open_bot(tmp_path, ScriptedModel(["One.", "Two."]), telegram) as ship:
            adapter = ship.adapters.find("helper")
            for left in (1, 0):
                telegram.say("hi")
                await telegram.until(lambda left=left: len(telegram.troubles) == left)
        await telegram.__aexit__()
        with pytest.raises(SendLaterError) as error:
            await adapter.send(OutgoingMessage(thread_id=ThreadId("helper", "dm", "1"), text="x"))
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for words in (caplog.text, repr(error.value), *map(str, files)):
        assert token.partition(":")[2] not in words

"""A server that is killed loses nothing that was said on Telegram, and says nothing twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.audio_server import SOUND, AudioServer
from tests.support.bot_api import BotApi, HungError
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import say
from tests.support.serve_process import shipmate

pytestmark = pytest.mark.crash


async def test_d8_what_was_said_is_answered_once_through_kills(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    async with BotApi() as telegram, ProviderServer() as models, AudioServer("first") as audio:
        bot = telegram.add_bot()
        adapter = {"kind": "telegram", "token": bot.token, "apiUrl": telegram.url, "open": True}
        llm = {"provider": "vllm", "model": "m", "baseUrl": f"{models.url}/v1"}
        settings = {"llm": llm, "adapters": {"helper": adapter}, "speech": {"transcriber": audio.endpoint}}
        (tmp_path / "ship.json").write_text(json.dumps(settings))
        # The first is spoken. Killed while it is listened to.
        telegram.files["note"], audio.held = SOUND, asyncio.Event()
        async with shipmate(tmp_path) as process:
            telegram.say(voice={"file_id": "note", "mime_type": "audio/ogg", "duration": 1})
            await audio.arrived.wait()
            await process.kill()
        audio.held = None
        # Killed while the answer is written and shown.
        models.script(say("Aye aye, captain. One two three four", deltas=20, pace=0.5))
        async with shipmate(tmp_path) as process:
            # Once it is changed, its receipt is on disk.
            await telegram.until(lambda: any(name == "editMessageText" for name, _ in telegram.calls))
            await process.kill()
        models.script(say("The first answer."), say("The second answer."))
        # Everything is delivered again, as when nothing had been confirmed.
        bot.updates = list(bot.history)
        async with shipmate(tmp_path) as process:
            await telegram.wait("The first answer.")
            telegram.say("second")
            await telegram.wait("The second answer.")
            # Killed while nobody knows whether Telegram took a message.
            telegram.troubles.append(HungError())
            models.script(say("The third answer."))
            telegram.say("third")
            await telegram.wait("The third answer.")
            await process.kill()
        bot.updates = list(bot.history)
        models.script(say("The fourth answer."))
        telegram.say("fourth")
        async with shipmate(tmp_path):
            await telegram.wait("The fourth answer.")
            await telegram.until(lambda: not bot.updates)
        answers = [f"The {number} answer." for number in ("first", "second", "third", "fourth")]
        # Words that were found before a kill are not asked for again.
        assert len(audio.asked) == 2
        # What was shown of the first became its answer, as the same message.
        assert telegram.texts() == answers

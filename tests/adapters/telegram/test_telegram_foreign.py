"""The loopback Telegram is one to grammY too: what we are tested against is not only our own idea of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.support.bot_api import CHANNEL, GROUP, BotApi
from tests.support.node import node_command
from tests.support.wait import LONG


async def test_a_foreign_client_talks_to_the_telegram_of_our_tests() -> None:
    node, folder = node_command()
    async with BotApi() as telegram:
        bot = telegram.add_bot()
        process = await asyncio.create_subprocess_exec(
            *(node, "telegram.mjs", telegram.url, bot.token), cwd=folder, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        lines = process.stdout

        async def hear() -> dict[str, Any]:
            async with asyncio.timeout(LONG):
                return json.loads(await lines.readline())

        try:
            await telegram.until(lambda: bot.held is not None)
            said = telegram.say("hi @helper_bot", chat=GROUP, message_thread_id=42, is_topic_message=True)
            heard = await hear()
            assert (heard["text"], heard["from"], heard["chat"], heard["topic"]) == (
                "hi @helper_bot",
                "Ann",
                "supergroup",
                42,
            )
            assert heard["entities"] == [{"type": "mention", "offset": 3, "length": 11}]
            assert await hear() == {"sent": "bold?", "by": "helper_bot", "keys": "Yes"}
            assert await hear() == {"document": 5, "caption": "a file"}
            assert (await hear())["why"] == "Bad Request: message text is empty"
            assert (await hear())["code"] == 400
            await telegram.until(lambda: len(telegram.in_chat(GROUP["id"])) == 3)
            question, document, limited = telegram.in_chat(GROUP["id"])
            assert question["reply_to_message"]["message_id"] == said["message_id"]
            assert (question["message_thread_id"], question["entities"][0]["type"]) == (42, "bold")
            assert (document["data"], limited["text"]) == (b"bytes", "limited")
            telegram.press(question, "Yes")
            assert await hear() == {"pressed": "yes", "now": "changed", "keys": None}
            assert await hear() == {
                "known": True,
                "why": "Bad Request: message is not modified: specified new message content",
            }
            assert telegram.answered[-1]["text"] == "noted"
            telegram.files["f1"] = b"a letter"
            telegram.say(document={"file_id": "f1", "file_unique_id": "f1", "file_name": "l.txt"})
            assert await hear() == {"file": "l.txt", "data": "a letter"}
            telegram.update(edited_message={**said, "text": "no", "edit_date": said["date"] + 1})
            assert await hear() == {"edited": "no"}
            telegram.say("news", chat=CHANNEL, user=None)
            assert await hear() == {"post": "news"}
            telegram.say("bye")
            assert (await hear())["text"] == "bye"
            assert await asyncio.wait_for(process.wait(), LONG) == 0
            # What grammY confirms at its end is not delivered again.
            assert bot.updates == []
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

"""The loopback Feishu is one to its own SDK too: over HTTP, over the long connection, and by its pushes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.support.feishu_platform import (
    APP_ID,
    APP_SECRET,
    BOT,
    CHAT,
    ENCRYPT_KEY,
    GROUP,
    PERSON,
    TOKEN,
    FeishuPlatform,
    seal,
    sign,
)
from tests.support.node import node_command
from tests.support.wait import LONG


async def test_the_official_client_talks_to_the_feishu_of_our_tests() -> None:
    node, folder = node_command()
    async with FeishuPlatform() as platform:
        process = await asyncio.create_subprocess_exec(
            *(node, "feishu.mjs", platform.url, APP_ID, APP_SECRET, ENCRYPT_KEY, TOKEN),
            cwd=folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdin is not None
        lines = process.stdout

        async def hear() -> dict[str, Any]:
            async with asyncio.timeout(LONG):
                return json.loads(await lines.readline())

        try:
            async with asyncio.timeout(LONG):
                mentions = [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "Mate"}]
                event = platform.say("@_user_1 hi", chat=GROUP, mentions=mentions)
                assert await platform.deliver(event, pieces=3) == {}
            heard = await hear()
            assert (heard["heard"], heard["type"], heard["from"]) == ({"text": "@_user_1 hi"}, "text", PERSON)
            assert heard["mentions"][0]["id"]["open_id"] == BOT
            # A key sends nothing twice.
            assert await hear() == {"sent": 0, "again": True}
            assert await hear() == {"changed": 0, "reply": 0}
            assert await hear() == {"file": "shipmate-client-proof"}
            assert await hear() == {"mine": APP_ID}
            card, post = platform.in_chat(GROUP)
            assert (card.text, card.edits, post.text, post.reply_to) == (
                "second",
                1,
                "a post",
                event["event"]["message"]["message_id"],
            )
            async with asyncio.timeout(LONG):
                answer = await platform.deliver(platform.click(card, "Yes"))
            assert answer["toast"]["content"] == "noted"
            assert await hear() == {"clicked": "yes", "by": PERSON}
            # What another key signed is not opened.
            for key, told in (
                (ENCRYPT_KEY, [{"pushed": "hi"}, {"result": {"code": 0}}]),
                ("x", [{"result": None}]),
            ):
                body = seal(platform.say("hi"))
                push = {"headers": sign(body, key=key), "body": json.loads(body)}
                process.stdin.write(json.dumps(push).encode() + b"\n")
                assert [await hear() for _ in told] == told
            async with asyncio.timeout(LONG):
                await platform.offer(platform.say("bye", chat=CHAT))
            assert (await hear())["heard"] == {"text": "bye"}
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

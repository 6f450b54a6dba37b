"""Telegram calls with its secret; whoever else does is refused before anything is read."""

from __future__ import annotations

import asyncio
import json

import pytest

from shipmate.adapters.telegram.telegram_adapter import TelegramAdapter, TelegramSettings
from shipmate.delivery.adapter import HookRequest
from shipmate.errors import ConfigError
from tests.support.bot_api import PRIVATE, BotApi
from tests.support.conformance import Heard, listening

SECRET = "s" * 32
URL = "https://ship.example/hooks/helper"
# Not JSON, too deep, no update, of a kind nobody knows, and broken.
ODD = ("{", b"\xff", "[" * 5000, "[]", '{"update_id": 2, "poll": {}}', '{"update_id": 3, "message": 1}')


def make_adapter(telegram: BotApi, url: str = URL, secret: str = SECRET) -> TelegramAdapter:
    token = telegram.add_bot().token
    settings = TelegramSettings(
        token=token, mode="webhook", api_url=telegram.url, webhook_url=url, secret=secret
    )
    return TelegramAdapter("helper", settings)


def request(body: bytes | str, secret: str | None = SECRET) -> HookRequest:
    headers = {} if secret is None else {"x-telegram-bot-api-secret-token": secret}
    return HookRequest(headers=headers, query={}, body=body if isinstance(body, bytes) else body.encode())


@pytest.mark.parametrize("secret", ["", "short", "s" * 257, "with space and more", "${SECRET_OF_THE_HOOK}"])
def test_without_a_secret_it_is_not_made(secret: str) -> None:
    with pytest.raises(ConfigError, match="a webhook needs a secret"):
        make_adapter(BotApi(), secret=secret)
    with pytest.raises(ConfigError, match="hooks/helper"):
        make_adapter(BotApi(), url="")


@pytest.mark.parametrize("given", [None, "", "s" * 31, "s" * 33, "S" * 32, "ſ" * 32, " " + SECRET, "\udcff"])
async def test_s2_who_does_not_know_the_secret_is_refused(given: str | None) -> None:
    heard = Heard()
    async with BotApi() as telegram:
        adapter = make_adapter(telegram)
        update = json.dumps({"update_id": 1, "message": telegram.make_message(PRIVATE, None, text="hi")})
        for body in (update, "{", ""):
            answer = await adapter.answer_hook(request(body, given), heard.hear)
            assert answer.status == 401
        assert heard.events.empty()
        assert telegram.calls == []


async def test_updates_are_heard_and_answered_once_they_are_kept() -> None:
    heard = Heard()
    async with BotApi() as telegram:
        adapter = make_adapter(telegram)
        message = telegram.make_message(PRIVATE, PRIVATE, text="hi")
        update = json.dumps({"update_id": 1, "message": message})
        heard.troubles.append(OSError("the disk is full"))
        with pytest.raises(OSError, match="disk"):
            await adapter.answer_hook(request(update), heard.hear)
        answer = await adapter.answer_hook(request(update), heard.hear)
        assert (answer.status, heard.events.get_nowait().text) == (200, "hi")
        statuses = [
            (await adapter.answer_hook(request(body), heard.hear)).status
            for body in (
                "{",
                b"\xff",
                "[" * 5000,
                "[]",
                '{"update_id": 2, "poll": {}}',
                '{"update_id": 3, "message": 1}',
            )
        ]
        assert statuses == [400, 400, 400, 200, 200, 200]
        await adapter.close()


async def test_telegram_is_told_where_to_call_and_keeps_what_waits() -> None:
    heard = Heard()
    async with BotApi() as telegram:
        adapter = make_adapter(telegram)
        [bot] = telegram.bots.values()
        telegram.say("before")
        async with listening(adapter, heard):
            await telegram.until(lambda: bool(bot.webhook))
        assert (bot.webhook["url"], bot.webhook["secret_token"]) == (URL, SECRET)
        assert len(bot.updates) == 1
        polled = TelegramAdapter("helper", TelegramSettings(token=bot.token, api_url=telegram.url))
        assert (await polled.answer_hook(request("{}"), heard.hear)).status == 404
        async with listening(polled, heard):
            event = await asyncio.wait_for(heard.events.get(), 20)
        assert (event.text, bot.webhook) == ("before", {})
        await adapter.close()
        await polled.close()

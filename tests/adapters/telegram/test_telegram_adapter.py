"""A bot on Telegram does what every adapter does, and what only Telegram has."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from shipmate.adapters.telegram.telegram_adapter import TelegramAdapter, TelegramSettings
from shipmate.delivery.adapter import OutgoingMessage
from shipmate.errors import ConfigError, EditGoneError
from shipmate.values.thread_id import ThreadId
from tests.support.bot_api import BotApi, LostError, RefusedError
from tests.support.conformance import CHECKS, Check


class TelegramCounterpart:
    """A private chat with a bot."""

    def __init__(self, telegram: BotApi) -> None:
        self.telegram = telegram
        settings = TelegramSettings(token=telegram.add_bot().token, api_url=telegram.url)
        self.adapter = TelegramAdapter("helper", settings)
        self.thread_id = ThreadId("helper", "dm", "1")

    async def say(self, text: str) -> None:
        self.telegram.say(text)

    def texts(self) -> list[str]:
        return self.telegram.texts()

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        troubles = {
            "later": RefusedError(429, "Too Many Requests: retry after 2", retry_after=2),
            "refused": RefusedError(403, "Forbidden: bot was blocked by the user"),
            "lost": LostError(),
        }
        self.telegram.troubles.append(troubles[how])


@asynccontextmanager
async def private_chat() -> AsyncGenerator[TelegramCounterpart]:
    async with BotApi() as telegram:
        counterpart = TelegramCounterpart(telegram)
        try:
            yield counterpart
        finally:
            await counterpart.adapter.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with private_chat() as counterpart:
        await check(counterpart)


async def test_what_is_said_to_a_group_that_moved_goes_where_it_is_now() -> None:
    async with private_chat() as counterpart:
        telegram, adapter = counterpart.telegram, counterpart.adapter
        moved = RefusedError(
            400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-100200
        )
        telegram.troubles.append(moved)
        group = ThreadId("helper", "group", "-5")
        message = OutgoingMessage(thread_id=group, text="Aye.", reply_to="-5.3")
        sent_id = await adapter.send(message)
        (shown,) = telegram.in_chat(-100200)
        assert (sent_id, "reply_to_message" in shown) == (f"-100200.{shown['message_id']}", False)
        await adapter.edit(sent_id, OutgoingMessage(thread_id=group, text="Aye aye."))
        assert telegram.texts(-100200) == ["Aye aye."]
        telegram.troubles.append(moved)
        with pytest.raises(EditGoneError):
            await adapter.edit("-5.9", message)


@pytest.mark.parametrize("token", ["", "${TELEGRAM_TOKEN}", "7000", "7000:a b"])
def test_without_a_token_it_is_not_made(token: str) -> None:
    with pytest.raises(ConfigError, match="@BotFather") as error:
        TelegramAdapter("helper", TelegramSettings(token=token))
    assert not token or token == "${TELEGRAM_TOKEN}" or token not in str(error.value)

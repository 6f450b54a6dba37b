"""Updates are confirmed once they are kept, whatever comes between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from shipmate.adapters.telegram import telegram_poller
from shipmate.adapters.telegram.telegram_adapter import TelegramAdapter, TelegramSettings
from shipmate.adapters.telegram.telegram_api import TelegramApi, TelegramError
from shipmate.adapters.telegram.telegram_poller import Poller
from shipmate.adapters.telegram.telegram_update import TelegramUpdate
from shipmate.errors import ConfigError
from tests.support.bot_api import PRIVATE, Bot, BotApi
from tests.support.conformance import Heard


@asynccontextmanager
async def polling(telegram: BotApi, bot: Bot) -> AsyncGenerator[asyncio.Queue[Sequence[TelegramUpdate]]]:
    api = TelegramApi(telegram.url, bot.token)
    taken: asyncio.Queue[Sequence[TelegramUpdate]] = asyncio.Queue()
    task = asyncio.create_task(Poller("helper", api).poll(taken.put))
    try:
        yield taken
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await api.close()


async def test_an_album_is_taken_whole_and_what_cannot_be_read_holds_nothing_up() -> None:
    async with BotApi() as telegram:
        bot = telegram.add_bot()
        async with polling(telegram, bot) as taken:
            await telegram.until(lambda: bot.held is not None)
            for number in range(3):
                telegram.say(media_group_id="m", photo=[{"file_id": f"{number}", "width": 1, "height": 1}])
            album = await asyncio.wait_for(taken.get(), 20)
            assert [each.message.photo[0].file_id for each in album if each.message] == ["0", "1", "2"]
            telegram.update(message={"odd": 1})
            telegram.update(message=telegram.make_message(PRIVATE, PRIVATE, text="after"))
            odd, after = [await asyncio.wait_for(taken.get(), 20) for _ in range(2)]
            assert (odd[0].message, after[0].message and after[0].message.text) == (None, "after")
            await telegram.until(lambda: not bot.updates)


async def test_the_update_that_follows_at_once_is_not_confirmed_with_the_one_before() -> None:
    async with BotApi() as telegram:
        bot = telegram.add_bot()
        # Made beforehand, so that the numbers of the updates follow each other.
        one, two = (telegram.make_message(PRIVATE, PRIVATE, text=text) for text in ("one", "two"))
        async with polling(telegram, bot) as taken:
            await telegram.until(lambda: bot.held is not None)
            telegram.update(message=one)
            (first,) = await asyncio.wait_for(taken.get(), 20)
            await telegram.until(lambda: bot.held is not None and not bot.updates)
            telegram.update(message=two)
            (second,) = await asyncio.wait_for(taken.get(), 20)
    assert second.update_id == first.update_id + 1
    assert second.message is not None
    assert second.message.text == "two"


async def test_telegram_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telegram_poller, "FIRST_PAUSE_SECONDS", 0.01)
    async with BotApi() as telegram:
        bot = telegram.add_bot()
        async with polling(telegram, bot) as taken:
            await telegram.until(lambda: bot.held is not None)
            telegram.drop_connections()
            telegram.say("hi")
            [update] = await asyncio.wait_for(taken.get(), 20)
            assert update.message is not None
            assert update.message.text == "hi"


async def test_a_token_nobody_knows_and_a_bot_that_polls_twice_are_told() -> None:
    async with BotApi() as telegram:
        heard = Heard()
        wrong = TelegramAdapter("helper", TelegramSettings(token="1:SECRET_wrong_one", api_url=telegram.url))
        with pytest.raises(ConfigError, match="does not know the token") as error:
            await wrong.listen(heard.hear)
        assert "SECRET" not in str(error.value)
        bot = telegram.add_bot()
        first = TelegramAdapter("one", TelegramSettings(token=bot.token, api_url=telegram.url))
        second = TelegramAdapter("two", TelegramSettings(token=bot.token, api_url=telegram.url))
        task = asyncio.create_task(first.listen(heard.hear))
        await telegram.until(lambda: bot.held is not None)
        other = asyncio.create_task(second.listen(heard.hear))
        with pytest.raises(TelegramError, match="terminated by other getUpdates"):
            await asyncio.wait_for(task, 20)
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)
        for adapter in (wrong, first, second):
            await adapter.close()

"""A bot on Discord does what every adapter does, and what only Discord has."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from shipmate.adapters.discord import DiscordAdapter, DiscordSettings
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check
from tests.support.discord_platform import DM, DiscordPlatform, LostError, RefusedError


class DiscordCounterpart:
    """A private chat with a bot."""

    def __init__(self, platform: DiscordPlatform) -> None:
        self.platform = platform
        settings = DiscordSettings(token=platform.add_bot().token, api_url=platform.url)
        self.adapter = DiscordAdapter("discord", settings)
        self.thread_id = ThreadId("discord", "dm", DM)

    async def say(self, text: str) -> None:
        await self.platform.listened()
        self.platform.say(text)

    def texts(self) -> list[str]:
        return self.platform.texts()

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        troubles = {
            "later": RefusedError(429, "You are being rate limited.", retry_after=2.0, **{"global": False}),
            "refused": RefusedError(403, "Cannot send messages to this user", 50007),
            "lost": LostError(),
        }
        self.platform.troubles.append(troubles[how])


@asynccontextmanager
async def private_chat() -> AsyncGenerator[DiscordCounterpart]:
    async with DiscordPlatform() as platform:
        counterpart = DiscordCounterpart(platform)
        try:
            yield counterpart
        finally:
            await counterpart.adapter.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with private_chat() as counterpart:
        await check(counterpart)

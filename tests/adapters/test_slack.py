"""An app on Slack does what every adapter does, over socket mode and by webhook, and what only Slack has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from shipmate.adapters.slack import SlackAdapter
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check
from tests.support.slack_platform import DM, LostError, RefusedError, SlackPlatform, push


class SlackCounterpart:
    """A private chat with an app."""

    def __init__(self, platform: SlackPlatform, mode: Literal["websocket", "webhook"]) -> None:
        self.platform = platform
        self.app = platform.add_app()
        self.adapter = SlackAdapter("slack", platform.settings(self.app, mode=mode))
        self.thread_id = ThreadId("slack", "dm", DM)
        self._mode = mode
        self._hear: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        listen = self.adapter.listen

        async def listen_and_tell(hear: Any) -> None:
            if not self._hear.done():
                self._hear.set_result(hear)
            await listen(hear)

        self.adapter.listen = listen_and_tell

    async def say(self, text: str) -> None:
        if self._mode == "websocket":
            self.platform.say(text)
            return
        payload = self.platform.make_callback(self.platform.make_message(text, DM, "U1ANN"))
        while True:
            with contextlib.suppress(OSError):
                answer = await self.adapter.answer_hook(push(payload), await self._hear)
                assert answer.status == 200
                return

    def texts(self) -> list[str]:
        return self.platform.texts()

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        troubles = {
            "later": RefusedError("ratelimited", 429, retry_after="2"),
            "refused": RefusedError("is_archived"),
            "lost": LostError(),
        }
        self.platform.troubles.append(troubles[how])


@asynccontextmanager
async def private_chat(
    mode: Literal["websocket", "webhook"] = "websocket",
) -> AsyncGenerator[SlackCounterpart]:
    async with SlackPlatform() as platform:
        counterpart = SlackCounterpart(platform, mode)
        try:
            yield counterpart
        finally:
            await counterpart.adapter.close()


@pytest.mark.parametrize("mode", ["websocket", "webhook"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check, mode: Literal["websocket", "webhook"]) -> None:
    async with private_chat(mode) as counterpart:
        await check(counterpart)

"""The platform of memory and its adapter do what every other does."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

import pytest

from shipmate.adapters.memory_platform import MemoryAdapter, MemorySettings
from shipmate.errors import SendLaterError, SendRefusedError
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check


class MemoryCounterpart:
    """A chat on a platform of memory."""

    def __init__(self) -> None:
        self.adapter = MemoryAdapter("memory", MemorySettings())
        self.thread_id = ThreadId("memory", "dm", "1")
        self._count = 0

    async def say(self, text: str) -> None:
        """Say something, and once more whenever it was not taken."""
        self._count += 1
        while True:
            with contextlib.suppress(OSError):
                await self.adapter.platform.say(text, message_id=f"1.{self._count}")
                return
            await asyncio.sleep(0)

    def texts(self) -> list[str]:
        return [each.text for each in self.adapter.platform.in_chat("1")]

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        platform = self.adapter.platform
        match how:
            case "later":
                platform.troubles.append(SendLaterError(retry_after=2))
            case "refused":
                platform.troubles.append(SendRefusedError())
            case "lost":
                platform.losses.append(ConnectionResetError())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    await check(MemoryCounterpart())

"""Remember what people and chats are called; nothing waits long for a name, and nothing fails for one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from shipmate.errors import SendError

KEEP_SECONDS = 3600.0
# What platforms tell has to be confirmed within 3 seconds.
WAIT_SECONDS = 1.0
KEPT = 10_000


class NameBook:
    """The names one bot may see; empty where it may not."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, str]] = {}

    async def find(self, key: str, ask: Callable[[], Awaitable[str]]) -> str:
        """Return the name that is known by a key; ask for it when it is not, or was long ago."""
        now = time.monotonic()
        at, name = self._kept.get(key, (now - KEEP_SECONDS, ""))
        if now - at < KEEP_SECONDS:
            return name
        if len(self._kept) >= KEPT:
            self._kept.clear()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                name = await ask()
        except (SendError, TimeoutError):
            name = ""
        self._kept[key] = (now, name)
        return name

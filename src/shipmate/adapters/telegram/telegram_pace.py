"""Keep a bot within what Telegram takes: some 30 messages a second, and 20 a minute in a group.

What people wait for goes first: a preview that would be too much is shown later, with more in it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from shipmate.errors import SendLaterError

SECOND = 1.0
MESSAGES = 28
PREVIEWS = 20
GROUP_PREVIEW_SECONDS = 4.0
GROUP_COUNT = 1_000


class TelegramPace:
    """The pace of one bot."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        # When the messages of the last second were sent.
        self._sent: deque[float] = deque()
        self._groups: dict[str, float] = {}

    async def keep(self, chat_id: str, *, is_preview: bool) -> None:
        """Wait until a message may be sent; raise SendLaterError for a preview that may not be shown now."""
        while (left := self._left(PREVIEWS if is_preview else MESSAGES)) > 0:
            if is_preview:
                raise SendLaterError(retry_after=left)
            await self._sleep(left)
        now = self._clock()
        if chat_id.startswith("-"):
            self._keep_group(chat_id, now, is_preview=is_preview)
        self._sent.append(now)

    def _left(self, limit: int) -> float:
        """Return how long a message more would be too much."""
        now = self._clock()
        while self._sent and now - self._sent[0] >= SECOND:
            self._sent.popleft()
        return self._sent[-limit] + SECOND - now if len(self._sent) >= limit else 0.0

    def _keep_group(self, chat_id: str, now: float, *, is_preview: bool) -> None:
        left = self._groups.get(chat_id, -GROUP_PREVIEW_SECONDS) + GROUP_PREVIEW_SECONDS - now
        if is_preview and left > 0:
            raise SendLaterError(retry_after=left)
        if len(self._groups) >= GROUP_COUNT:
            self._groups.clear()
        self._groups[chat_id] = now

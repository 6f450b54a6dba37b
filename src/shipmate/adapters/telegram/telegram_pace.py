"""Keep a bot within what Telegram takes: 30 messages a second, one in a chat, 20 a minute in a group.

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
CHAT_SECONDS = 1.0
GROUP_PREVIEW_SECONDS = 4.0
MINUTE, GROUP_MESSAGES = 60.0, 20
CHAT_COUNT = 1_000


class TelegramPace:
    """The pace of one bot."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        # When the messages of the last second were sent, and the last ones of each chat.
        self._sent: deque[float] = deque()
        self._chats: dict[str, deque[float]] = {}

    async def keep(self, chat_id: str, *, is_preview: bool) -> None:
        """Wait until a message may be sent; raise SendLaterError where that is long, or is no use."""
        while (left := self._left(chat_id, is_preview=is_preview)) > 0:
            if is_preview or left > SECOND:
                raise SendLaterError(retry_after=left)
            await self._sleep(left)
        now = self._clock()
        self._sent.append(now)
        if chat_id not in self._chats and len(self._chats) >= CHAT_COUNT:
            self._chats.clear()
        self._chats.setdefault(chat_id, deque(maxlen=GROUP_MESSAGES)).append(now)

    def _left(self, chat_id: str, *, is_preview: bool) -> float:
        """Return how long a message more would be too much."""
        now = self._clock()
        while self._sent and now - self._sent[0] >= SECOND:
            self._sent.popleft()
        limit = PREVIEWS if is_preview else MESSAGES
        free = [self._sent[-limit] + SECOND] if len(self._sent) >= limit else []
        if times := self._chats.get(chat_id):
            is_group = chat_id.startswith("-")
            free.append(times[-1] + (GROUP_PREVIEW_SECONDS if is_preview and is_group else CHAT_SECONDS))
            if is_group and len(times) == GROUP_MESSAGES:
                free.append(times[0] + MINUTE)
        return max((at - now for at in free), default=0.0)

"""Keep a bot within what Telegram takes: 30 messages a second, one in a chat, 20 a minute in a group.

What people wait for goes first: a preview that would be too much is shown later, with more in it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from shipmate.errors import SendLaterError

SECOND = 1.0
MESSAGES = 28
PREVIEWS = 20
CHAT_SECONDS = 1.0
GROUP_PREVIEW_SECONDS = 4.0
MINUTE, GROUP_MESSAGES = 60.0, 20
CHAT_COUNT = 1_000


class TelegramPace:
    """The pace of one bot.

    A message arrives somewhere between its beginning and its end here, however slow the way is. So it counts
    from the one until a second after the other: no second of Telegram's own sees more than that.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        # Messages under way by chat; when those of the last second ended, and the last ones of each chat.
        self._begun: Counter[str] = Counter()
        self._sent: deque[float] = deque()
        self._chats: dict[str, deque[float]] = {}

    @asynccontextmanager
    async def keep(self, chat_id: str, *, is_preview: bool) -> AsyncGenerator[None]:
        """Wait until a message may be sent; raise SendLaterError where that is long, or is no use."""
        while (left := self._left(chat_id, is_preview=is_preview)) > 0:
            if is_preview or left > SECOND:
                raise SendLaterError(retry_after=left)
            await self._sleep(left)
        self._begun[chat_id] += 1
        try:
            yield
        finally:
            self._end(chat_id)

    def _end(self, chat_id: str) -> None:
        now = self._clock()
        self._begun[chat_id] -= 1
        if not self._begun[chat_id]:
            del self._begun[chat_id]
        self._sent.append(now)
        # The chats that were written to last stand last.
        times = self._chats.pop(chat_id, None) or deque[float](maxlen=GROUP_MESSAGES)
        times.append(now)
        self._chats[chat_id] = times
        if len(self._chats) > CHAT_COUNT:
            del self._chats[next(iter(self._chats))]

    def _left(self, chat_id: str, *, is_preview: bool) -> float:
        """Return how long a message more would be too much."""
        now = self._clock()
        while self._sent and now - self._sent[0] >= SECOND:
            self._sent.popleft()
        lefts = [0.0]
        excess = self._begun.total() + len(self._sent) - (PREVIEWS if is_preview else MESSAGES)
        if excess >= 0:
            lefts.append(self._sent[excess] + SECOND - now if excess < len(self._sent) else SECOND)
        is_group = chat_id.startswith("-")
        pause = GROUP_PREVIEW_SECONDS if is_preview and is_group else CHAT_SECONDS
        times = self._chats.get(chat_id)
        if chat_id in self._begun:
            lefts.append(pause)
        elif times:
            lefts.append(times[-1] + pause - now)
        if is_group and times and len(times) == GROUP_MESSAGES:
            lefts.append(times[0] + MINUTE - now)
        return max(lefts)

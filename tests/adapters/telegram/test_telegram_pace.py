"""A bot stays within what Telegram takes."""

from __future__ import annotations

import asyncio
import bisect

import pytest

from shipmate.adapters.telegram.telegram_pace import TelegramPace
from shipmate.errors import SendLaterError


class Clock:
    """A clock that stands until somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def test_fifty_chats_that_show_answers_never_take_more_than_thirty_messages_a_second() -> None:
    clock = Clock()
    pace = TelegramPace(clock, clock.sleep)
    sent: list[float] = []
    shown: dict[int, int] = {}
    pauses: set[float | None] = set()
    for step in range(200):
        clock.now = max(clock.now, step * 0.1)
        for chat in range(50):
            try:
                await pace.keep(str(chat), is_preview=chat >= 5)
            except SendLaterError as later:
                pauses.add(later.retry_after)
            else:
                sent.append(clock.now)
                shown[chat] = shown.get(chat, 0) + 1
    for number, at in enumerate(sent):
        assert bisect.bisect_left(sent, at + 1.0) - number <= 30
    assert all(pause and pause <= 1 for pause in pauses)
    assert min(shown[chat] for chat in range(5)) == 200


async def test_in_a_group_previews_leave_room_and_words_go_at_once() -> None:
    clock = Clock()
    pace = TelegramPace(clock, clock.sleep)
    await pace.keep("-1", is_preview=True)
    clock.now = 1.0
    with pytest.raises(SendLaterError) as later:
        await pace.keep("-1", is_preview=True)
    assert later.value.retry_after == 3.0
    await pace.keep("-2", is_preview=True)
    await pace.keep("-1", is_preview=False)
    assert clock.now == 1.0


async def test_one_chat_gets_one_message_a_second_and_a_group_twenty_a_minute() -> None:
    clock = Clock()
    pace = TelegramPace(clock, clock.sleep)
    sent: list[float] = []
    while clock.now < 200:
        try:
            await pace.keep("-1", is_preview=False)
        except SendLaterError as later:
            # Nothing else waits meanwhile.
            await clock.sleep(later.retry_after or 0)
        else:
            sent.append(clock.now)
    for number, at in enumerate(sent):
        assert bisect.bisect_left(sent, at + 1.0) - number <= 1
        assert bisect.bisect_left(sent, at + 60.0) - number <= 20
    assert len(sent) >= 60
    await pace.keep("1", is_preview=False)
    with pytest.raises(SendLaterError):
        await pace.keep("1", is_preview=True)

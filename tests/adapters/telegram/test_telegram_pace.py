"""A bot stays within what Telegram takes."""

from __future__ import annotations

import asyncio
import bisect
import heapq
import math
import random
from contextlib import AbstractAsyncContextManager, suppress

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


async def send(pace: TelegramPace, chat_id: str, *, is_preview: bool) -> None:
    async with pace.keep(chat_id, is_preview=is_preview):
        pass


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
                async with pace.keep(str(chat), is_preview=chat >= 5):
                    sent.append(clock.now)
                    shown[chat] = shown.get(chat, 0) + 1
            except SendLaterError as later:
                pauses.add(later.retry_after)
    for number, at in enumerate(sent):
        assert bisect.bisect_left(sent, at + 1.0) - number <= 30
    assert all(pause and pause <= 1 for pause in pauses)
    assert min(shown[chat] for chat in range(5)) == 200


async def test_in_a_group_previews_leave_room_and_words_go_at_once() -> None:
    clock = Clock()
    pace = TelegramPace(clock, clock.sleep)
    await send(pace, "-1", is_preview=True)
    clock.now = 1.0
    with pytest.raises(SendLaterError) as later:
        await send(pace, "-1", is_preview=True)
    assert later.value.retry_after == 3.0
    await send(pace, "-2", is_preview=True)
    await send(pace, "-1", is_preview=False)
    assert clock.now == 1.0


async def test_one_chat_gets_one_message_a_second_and_a_group_twenty_a_minute() -> None:
    clock = Clock()
    pace = TelegramPace(clock, clock.sleep)
    sent: list[float] = []
    while clock.now < 200:
        try:
            await send(pace, "-1", is_preview=False)
        except SendLaterError as later:
            # Nothing else waits meanwhile.
            await clock.sleep(later.retry_after or 0)
        else:
            sent.append(clock.now)
    for number, at in enumerate(sent):
        assert bisect.bisect_left(sent, at + 1.0) - number <= 1
        assert bisect.bisect_left(sent, at + 60.0) - number <= 20
    assert len(sent) >= 60
    await send(pace, "1", is_preview=False)
    with pytest.raises(SendLaterError):
        await send(pace, "1", is_preview=True)


@pytest.mark.parametrize("seed", range(5))
async def test_messages_that_are_held_up_on_their_way_do_not_arrive_bunched(seed: int) -> None:
    clock, chance = Clock(), random.Random(seed)
    arrived: list[float] = []
    # What is under way, by when it ends here.
    ends: list[tuple[float, int, AbstractAsyncContextManager[None]]] = []

    async def sleep(seconds: float) -> None:
        clock.now += seconds
        while ends and ends[0][0] <= clock.now:
            await heapq.heappop(ends)[2].__aexit__(None, None, None)

    pace = TelegramPace(clock, sleep)
    for number in range(2_000):
        await sleep(chance.choice((0, 0, 0.005, 0.02)))
        message = pace.keep(str(number), is_preview=chance.random() < 0.5)
        with suppress(SendLaterError):
            await message.__aenter__()
            # A busy machine lets many wait, and then go at once.
            end = math.ceil(clock.now / 1.5) * 1.5 + chance.uniform(0, 0.1)
            arrived.append(chance.uniform(max(clock.now, end - 0.2), end))
            heapq.heappush(ends, (end, number, message))
    arrived.sort()
    for number, at in enumerate(arrived):
        assert bisect.bisect_left(arrived, at + 1.0) - number <= 30
    assert len(arrived) > 100

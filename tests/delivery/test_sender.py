"""Many chats at once, redeliveries over hours, and restarts between any two steps."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shipmate.adapters.memory_platform import MemoryPlatform
from shipmate.models.port import Finish, ModelEvent, ModelRequest, TextDelta, Usage
from shipmate.models.scripted import ScriptedModel, call
from shipmate.values.adapter_event import AdapterEvent, Chat, Speaker
from shipmate.values.message import text_of, timestamp
from tests.support.chat import open_chat
from tests.support.workspace import Probe

LONG = 60
# The long proof sends 10,000 over 200 threads.
BURST = int(os.environ.get("SHIPMATE_BURST") or 200)
THREADS = min(200, BURST // 4)


class Echo:
    """A model that says what was said last."""

    name = "echo"

    def __init__(self) -> None:
        self.count = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.count += 1
        spoken: list[str] = []
        for message in reversed(request.messages):
            if message["role"] != "user":
                break
            spoken.append(text_of(message))
        yield TextDelta(" ".join(reversed(spoken)))
        yield Finish("stop", Usage(input_tokens=1, output_tokens=1))


async def test_a_burst_over_many_threads_keeps_the_order_of_each(tmp_path: Path) -> None:
    count = BURST
    async with open_chat(tmp_path, Echo()) as (ship, platform):
        for start in range(0, count, THREADS):
            numbers = range(start, min(start + THREADS, count))
            await asyncio.gather(
                *(platform.say(f"n{number}.", user=str(number % THREADS)) for number in numbers)
            )
        await ship.keeper.idle()
        while (await ship.store.outbox.threads()) or len(_said(platform)) < count:
            await asyncio.wait_for(platform.changed.wait(), LONG)
        for user in range(min(THREADS, count)):
            said = " ".join(each.text for each in platform.in_chat(str(user))).split()
            assert said == [f"n{number}." for number in range(user, count, THREADS)]


def _said(platform: MemoryPlatform) -> list[str]:
    return [word for each in platform.shown.values() for word in each.text.split()]


async def test_what_is_delivered_again_over_hours_and_restarts_is_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = datetime(2026, 3, 1, tzinfo=UTC)
    now = [began]
    chance = random.Random(7)
    deliveries = [
        (timedelta(seconds=after + chance.random()), number)
        for number in range(12)
        # At once, and as Feishu repeats itself.
        for after in [0, 15, 315, 3915, 25515][: chance.randint(1, 5)]
    ]
    model, platform = Echo(), None
    chance.shuffle(deliveries)
    for stretch in range(3):
        async with open_chat(tmp_path, model, platform=platform) as (ship, platform):
            monkeypatch.setattr(ship.store.inbox, "_clock", lambda: now[0])
            for after, number in sorted(deliveries)[stretch::3]:
                now[0] = began + after
                event = AdapterEvent(
                    platform="memory",
                    chat=Chat(id=f"c{number}"),
                    speaker=Speaker(id=f"c{number}"),
                    message_id=f"c{number}.om_{number}",
                    timestamp=timestamp(began),
                    text=f"n{number}.",
                )
                await platform.deliver(event)
            await ship.keeper.idle()
            while await ship.store.outbox.threads():
                await asyncio.wait_for(platform.changed.wait(), LONG)
    assert platform is not None
    assert sorted(each.text for each in platform.shown.values()) == sorted(
        f"n{number}." for number in range(12)
    )
    assert model.count == 12


async def test_a_question_of_a_group_is_answered_by_its_button_after_a_restart(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    group = Chat(id="g1", kind="group")
    async with open_chat(tmp_path, ScriptedModel([[call("act", mark="x")]]), [act]) as (_, platform):
        await platform.say("go", chat=group, user="1")
        await asyncio.wait_for(platform.wait("act"), LONG)
        (question,) = platform.in_chat("g1")
    async with open_chat(tmp_path, ScriptedModel(["Done."]), [act], platform=platform) as (ship, _):
        await platform.press(question, "✅ Yes, once", user="2")
        await asyncio.wait_for(platform.wait("can answer this"), LONG)
        assert act.marks == []
        await platform.press(question, "✅ Yes, once", user="1")
        await asyncio.wait_for(platform.wait("Done.", "Allowed."), LONG)
        await ship.keeper.idle()
    assert (act.marks, question.buttons) == (["x"], ())

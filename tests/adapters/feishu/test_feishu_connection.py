"""Events come over the long connection, whatever happens to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from shipmate.adapters.feishu import feishu
from shipmate.adapters.feishu.feishu import FeishuAdapter
from shipmate.app import Shipmate
from shipmate.delivery import preview
from shipmate.delivery.adapter import Button, OutgoingMessage
from shipmate.errors import SendError
from shipmate.models.port import Model
from shipmate.models.scripted import ScriptedModel, call, hold, say
from shipmate.tools.toolset import Toolset
from shipmate.values.adapter_event import AdapterEvent, HeardEvent
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import (
    LONG,
    Heard,
    hears_a_person,
    listening,
    tells_that_something_arrived_only_once_it_is_kept,
)
from tests.support.feishu_platform import APP_ID, APP_SECRET, BOT, CHAT, GROUP, FeishuPlatform, words_of
from tests.support.workspace import Probe


class ConnectedCounterpart:
    """The private chat, with events that come over the long connection."""

    def __init__(self, platform: FeishuPlatform) -> None:
        self.platform = platform
        self.adapter = FeishuAdapter("feishu", platform.settings())
        self.thread_id = ThreadId("feishu", "dm", CHAT)

    async def say(self, text: str) -> None:
        await self.platform.deliver(self.platform.say(text))

    def texts(self) -> list[str]:
        return [each.text for each in self.platform.in_chat()]

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        raise AssertionError(how)


@asynccontextmanager
async def connected() -> AsyncGenerator[ConnectedCounterpart]:
    async with FeishuPlatform() as platform:
        counterpart = ConnectedCounterpart(platform)
        yield counterpart
        await counterpart.adapter.close()


@pytest.mark.parametrize("check", [hears_a_person, tells_that_something_arrived_only_once_it_is_kept])
async def test_it_hears_as_every_adapter_does(check: Any) -> None:
    async with connected() as counterpart:
        await check(counterpart)


async def test_it_comes_back_greets_and_joins_what_comes_in_pieces() -> None:
    async with connected() as counterpart:
        platform, heard = counterpart.platform, Heard()
        async with listening(counterpart.adapter, heard):
            async with asyncio.timeout(LONG):
                await platform.deliver(platform.say("x" * 1000), pieces=7)
                await platform.connections[-1].send(b"\xff\xff")
                await platform.connections[-1].close()
                await platform.deliver(platform.say("again"))
                while platform.pings < 2:
                    await platform.changed.wait()
        assert [heard.events.get_nowait().text for _ in range(2)] == ["x" * 1000, "again"]
        assert platform.connected == 2


async def test_a_click_is_answered_before_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feishu, "CLICK_SECONDS", 0.01)
    slow, done = asyncio.Event(), asyncio.Event()

    async def hear(event: AdapterEvent) -> HeardEvent:
        if event.pressed == "slow":
            await slow.wait()
            done.set()
        return HeardEvent(status="accepted", told="Got it.")

    async with connected() as counterpart:
        platform = counterpart.platform
        buttons = ((Button("Fast", "fast"), Button("Slow", "slow")),)
        await counterpart.adapter.send(
            OutgoingMessage(thread_id=counterpart.thread_id, text="?", buttons=buttons, key="k" * 32)
        )
        (card,) = platform.in_chat()
        task = asyncio.create_task(counterpart.adapter.listen(hear))
        async with asyncio.timeout(LONG):
            assert await platform.deliver(platform.click(card, "Slow")) == {}
            assert not done.is_set()
            slow.set()
            await done.wait()
            monkeypatch.setattr(feishu, "CLICK_SECONDS", LONG)
            told = await platform.deliver(platform.click(card, "Fast"))
            assert told == {"toast": {"type": "info", "content": "Got it."}}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_connection_that_cannot_be_made_says_so_without_its_ticket() -> None:
    async with FeishuPlatform() as platform:
        adapter = FeishuAdapter("feishu", platform.settings(app_secret="wrong-secret"))
        with pytest.raises(SendError) as refused:
            await adapter.listen(Heard().hear)
        await adapter.close()
    assert "514" in str(refused.value)
    assert "wrong-secret" not in str(refused.value)
    assert APP_SECRET not in str(refused.value)


@asynccontextmanager
async def sailing(
    folder: Path, platform: FeishuPlatform, model: Model, tools: list[Probe]
) -> AsyncGenerator[Shipmate]:
    """Open a workspace that hears the platform over a long connection."""
    (folder / "Agent.md").write_text("# Captain\n")
    settings = {"domain": platform.url, "appId": APP_ID, "appSecret": APP_SECRET, "open": True}
    (folder / "ship.json").write_text(json.dumps({"adapters": {"feishu": settings}}))
    ship = await Shipmate.open(folder, model=model, environ={}, toolset=Toolset(tools))
    ship.listen()
    try:
        yield ship
    finally:
        await ship.close()


async def test_a_question_in_a_group_is_answered_by_a_click_after_a_restart(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[say("May I?"), call("act", mark="x")], "Done."])
    mentions = [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "Mate"}]
    async with FeishuPlatform() as platform, asyncio.timeout(2 * LONG):
        async with sailing(tmp_path, platform, model, [act]):
            await platform.deliver(
                platform.say("@_user_1 go", chat=GROUP, mentions=mentions, message_id="om_1")
            )
            await platform.wait("act")
        words, card = platform.in_chat(GROUP)
        assert (words.kind, words.text, words.reply_to) == ("post", "May I?", "om_1")
        assert card.kind == "interactive"
        async with sailing(tmp_path, platform, model, [act]):
            click = platform.click(card, "✅ Yes, once")
            assert await platform.deliver(click) == {"toast": {"type": "info", "content": "Got it."}}
            await platform.deliver(click)
            await platform.wait("Done.", "Allowed.")
        assert act.marks == ["x"]
        assert card.buttons == []


async def test_an_answer_is_one_card_that_changes_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "FIRST_SECONDS", 0.0)
    hold_on = asyncio.Event()
    model = ScriptedModel([[say("First words. "), hold(hold_on), say("Last words.")]])
    async with FeishuPlatform() as platform, asyncio.timeout(2 * LONG):
        async with sailing(tmp_path, platform, model, []):
            await platform.deliver(platform.say("go"))
            await platform.wait("First words.")
            hold_on.set()
            await platform.wait("Last words.")
        (card,) = platform.in_chat()
        assert card.kind == "interactive"
        assert [words_of(each) for each in card.history] == ["First words. …", "First words. Last words."]

"""Feishu's adapter does what every other does, and what is Feishu's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from shipmate.adapters.feishu.feishu import FeishuAdapter
from shipmate.delivery.adapter import Button, OutgoingMessage
from shipmate.errors import ConfigError, SendLaterError
from shipmate.values.adapter_event import AdapterEvent, Chat, HeardEvent, Speaker
from shipmate.values.thread_id import ThreadId
from tests.support.conformance import CHECKS, Check
from tests.support.feishu_platform import (
    APP_SECRET,
    BOT,
    CHAT,
    GROUP,
    PERSON,
    FeishuPlatform,
    push,
    refuse,
)

GROUP_THREAD = ThreadId("feishu", "group", GROUP)


class HookCounterpart:
    """The private chat, with events that come by webhook."""

    def __init__(self, platform: FeishuPlatform) -> None:
        self.platform = platform
        self.adapter = FeishuAdapter("feishu", platform.settings(mode="webhook"))
        self.thread_id = ThreadId("feishu", "dm", CHAT)
        self.answers: list[Any] = []
        listen = self.adapter.listen
        self._hear: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def listen_and_tell(hear: Any) -> None:
            self._hear = self._hear if not self._hear.done() else asyncio.get_running_loop().create_future()
            self._hear.set_result(hear)
            await listen(hear)

        self.adapter.listen = listen_and_tell

    async def say(self, text: str) -> None:
        """Push until it is confirmed."""
        event = self.platform.say(text)
        while True:
            try:
                answer = await self.adapter.answer_hook(push(event), await self._hear)
            except OSError:
                continue
            assert answer.status == 200
            return

    def texts(self) -> list[str]:
        return [each.text for each in self.platform.in_chat()]

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        match how:
            case "later":
                reset = {"x-ogw-ratelimit-limit": "100", "x-ogw-ratelimit-reset": "2"}
                self.platform.faults.append(refuse(99991400, "request trigger frequency limit", 429, reset))
            case "refused":
                self.platform.faults.append(refuse(230013, "Bot has NO availability to this user."))
            case "lost":
                self.platform.faults.append(None)


@asynccontextmanager
async def by_webhook() -> AsyncGenerator[HookCounterpart]:
    async with FeishuPlatform() as platform:
        counterpart = HookCounterpart(platform)
        yield counterpart
        await counterpart.adapter.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with by_webhook() as counterpart:
        await check(counterpart)


class Ear:
    """Keeps what it hears."""

    def __init__(self, told: str = "") -> None:
        self.events: list[AdapterEvent] = []
        self.told = told

    async def hear(self, event: AdapterEvent) -> HeardEvent:
        self.events.append(event)
        return HeardEvent(status="accepted", told=self.told)


async def take(counterpart: HookCounterpart, payload: Any, ear: Ear) -> Any:
    """Push an event; return what is answered."""
    answer = await counterpart.adapter.answer_hook(push(payload), ear.hear)
    assert answer.status == 200
    return json.loads(answer.body)


async def test_in_groups_it_is_meant_by_its_id_and_by_replies_to_it() -> None:
    def mention(open_id: str, key: str, name: str) -> dict[str, Any]:
        return {"key": key, "id": {"open_id": open_id}, "name": name}

    async with by_webhook() as counterpart:
        platform, ear = counterpart.platform, Ear()
        sent_id = await counterpart.adapter.send(
            OutgoingMessage(thread_id=GROUP_THREAD, text="x", key="k" * 32)
        )
        # Whoever calls themselves as the bot is called is not the bot.
        other = [mention("ou_x", "@_user_1", "Mate")]
        ours = [mention(BOT, "@_user_1", "Mate"), mention("ou_x", "@_user_10", "Bo")]
        for event in (
            platform.say("@_user_1 hi", chat=GROUP, mentions=other),
            platform.say("@_user_1 ask @_user_10", chat=GROUP, mentions=ours, thread_id="omt_1"),
            platform.say("@_all hi", chat=GROUP),
            platform.say("yes", chat=GROUP, parent_id=sent_id),
            platform.say("yes", chat=GROUP, parent_id="om_theirs"),
            platform.say("beep", chat=GROUP, sender_type="app", person="ou_b"),
        ):
            await take(counterpart, event, ear)
    assert [(each.text, each.is_addressed) for each in ear.events] == [
        ("@Mate hi", False),
        ("ask @Bo", True),
        ("@all hi", False),
        ("yes", True),
        ("yes", False),
        ("beep", False),
    ]
    assert ear.events[1].chat == Chat(id=GROUP, kind="group", topic="omt_1", title="The crew")
    assert ear.events[1].speaker == Speaker(id=PERSON, name="Ann")
    assert ear.events[5].speaker == Speaker(id="ou_b", is_bot=True)


async def test_answers_are_replies_and_stay_in_their_topic() -> None:
    async with by_webhook() as counterpart:
        adapter, platform = counterpart.adapter, counterpart.platform
        topic = ThreadId("feishu", "group", GROUP, "omt_1")
        for number, (thread_id, reply_to) in enumerate(
            [(GROUP_THREAD, "om_1"), (GROUP_THREAD, "om_1.press.ev1"), (topic, "om_2"), (topic, None)]
        ):
            await adapter.send(
                OutgoingMessage(thread_id=thread_id, text="x", reply_to=reply_to, key=f"{number:032}")
            )
        # What is answered was taken back.
        await adapter.send(
            OutgoingMessage(thread_id=GROUP_THREAD, text="x", reply_to="om_gone", key="g" * 32)
        )
    assert [(each.reply_to, each.in_thread) for each in platform.in_chat(GROUP)] == [
        ("om_1", False),
        ("om_1", False),
        ("om_2", True),
        ("om_root_omt_1", True),
        ("", False),
    ]


async def test_a_token_is_kept_and_renewed_when_it_is_not_taken_any_more() -> None:
    async with by_webhook() as counterpart:
        adapter, platform = counterpart.adapter, counterpart.platform
        for number in range(3):
            message = OutgoingMessage(thread_id=counterpart.thread_id, text="x", key=f"{number:032}")
            await adapter.send(message)
        assert len(platform.tokens) == 1
        platform.tokens.append("t-of-another-day")
        await adapter.send(OutgoingMessage(thread_id=counterpart.thread_id, text="x", key="n" * 32))
        assert len(platform.tokens) == 3
        assert len(platform.in_chat()) == 4


async def test_a_wrong_secret_holds_up_what_waits_and_is_not_told() -> None:
    async with FeishuPlatform() as platform:
        adapter = FeishuAdapter("feishu", platform.settings(mode="webhook", app_secret="wrong-secret"))
        with pytest.raises(SendLaterError) as later:
            await adapter.send(OutgoingMessage(thread_id=GROUP_THREAD, text="x", key="k" * 32))
        assert "appSecret" in str(later.value)
        assert "wrong-secret" not in str(later.value)
        await adapter.close()


async def test_nobody_is_called_up_by_what_a_member_writes() -> None:
    async with by_webhook() as counterpart:
        for number, kind in enumerate(("words", "preview")):
            text = '<at user_id="all">all</at> < AT id=all>'
            await counterpart.adapter.send(
                OutgoingMessage(thread_id=counterpart.thread_id, text=text, key=f"{number:032}", kind=kind)
            )
        for each in counterpart.platform.in_chat():
            assert "<at" not in json.dumps(each.content).lower().replace(" ", "")


async def test_markup_that_is_refused_is_sent_plainly() -> None:
    async with by_webhook() as counterpart:
        counterpart.platform.faults.append(refuse(230099, "Failed to create card content"))
        await counterpart.adapter.send(
            OutgoingMessage(thread_id=counterpart.thread_id, text="|x|", key="k" * 32)
        )
        assert counterpart.texts() == ["|x|"]
        assert '"md"' not in json.dumps(counterpart.platform.in_chat()[0].content)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mode": "webhook", "encrypt_key": ""}, "encryptKey"),
        ({"mode": "webhook", "verification_token": ""}, "verificationToken"),
        ({"domain": "elsewhere"}, "domain"),
    ],
)
async def test_what_is_unsafe_is_not_made(values: dict[str, Any], words: str) -> None:
    settings = FeishuPlatform.settings(_Nowhere(), **values)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=words) as refused:
        FeishuAdapter("feishu", settings)
    assert APP_SECRET not in str(refused.value)


class _Nowhere:
    url = "http://127.0.0.1:1"


async def test_a_click_on_a_card_is_answered_and_one_elsewhere_is_not_taken() -> None:
    async with by_webhook() as counterpart:
        platform, ear = counterpart.platform, Ear("Got it.")
        buttons = ((Button("Yes", "a:1:once"), Button("No", "d:1")),)
        question = OutgoingMessage(
            thread_id=GROUP_THREAD, text="May I?", buttons=buttons, key="q" * 32, kind="question"
        )
        await counterpart.adapter.send(question)
        (card,) = platform.in_chat(GROUP)
        assert await take(counterpart, platform.click(card, "Yes"), ear) == {
            "toast": {"type": "info", "content": "Got it."}
        }
        assert await take(counterpart, platform.click(card, "Yes", chat="oc_other"), ear) == {}
    (event,) = ear.events
    assert (event.pressed, event.reply_to, event.speaker.id) == ("a:1:once", card.id, PERSON)
    assert (event.chat, event.message_id.startswith(f"{card.id}.press.ev")) == (
        Chat(id=GROUP, kind="group"),
        True,
    )


async def test_what_is_taken_back_is_told_with_whose_it_was() -> None:
    async with by_webhook() as counterpart:
        ear = Ear()
        for event in (
            counterpart.platform.say("hi", message_id="om_1"),
            counterpart.platform.recall("om_1"),
            counterpart.platform.recall("om_unknown"),
            counterpart.platform.event("im.chat.member.bot.added_v1", {"chat_id": GROUP}),
        ):
            await take(counterpart, event, ear)
    assert [(each.message_id, each.changes, each.is_deletion) for each in ear.events] == [
        ("om_1", None, False),
        ("om_1.recall", "om_1", True),
    ]
    assert ear.events[1].speaker.id == PERSON

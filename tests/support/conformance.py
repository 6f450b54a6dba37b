"""What every adapter must do, whatever its platform: a test of one runs each of CHECKS with a counterpart.

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_every_adapter_does(check: Check) -> None:
    async with my_platform() as counterpart:
        await check(counterpart)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal, Protocol, TypeAlias

import pytest

from shipmate.delivery.adapter import Adapter, Button, OutgoingMessage
from shipmate.delivery.splitting import split
from shipmate.errors import EditGoneError, SendLaterError, SendRefusedError
from shipmate.values.adapter_event import AdapterEvent, HeardEvent
from shipmate.values.thread_id import ThreadId

LONG = 20


class Counterpart(Protocol):
    """A platform that a test serves, with one private chat in which a person and the bot talk."""

    @property
    def adapter(self) -> Adapter: ...
    @property
    def thread_id(self) -> ThreadId:
        """The thread of the private chat."""
        ...

    async def say(self, text: str) -> None:
        """Let the person say something; the platform delivers it until the adapter tells that it arrived."""
        ...

    def texts(self) -> list[str]:
        """List what the bot's messages in the chat say now, oldest first, without markup."""
        ...

    def fail_next(self, how: Literal["later", "refused", "lost"]) -> None:
        """Let the next send be limited for two seconds, be refused for good, or be taken and not answered."""
        ...


Check: TypeAlias = Callable[[Counterpart], Awaitable[None]]


class Heard:
    """What an adapter passed on."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[AdapterEvent] = asyncio.Queue()
        self.troubles: list[Exception] = []

    async def hear(self, event: AdapterEvent) -> HeardEvent:
        """Take an event, or refuse to have taken it."""
        if self.troubles:
            raise self.troubles.pop()
        self.events.put_nowait(event)
        return HeardEvent(status="accepted")


@asynccontextmanager
async def listening(adapter: Adapter, heard: Heard) -> AsyncGenerator[None]:
    """Listen as the product does: again after trouble, until the end."""

    async def listen() -> None:
        while True:
            try:
                await adapter.listen(heard.hear)
            except Exception as error:
                if str(error) != "the disk is full":
                    raise
            await asyncio.sleep(0.01)

    task = asyncio.create_task(listen())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def message(counterpart: Counterpart, text: str, key: str = "k" * 32) -> OutgoingMessage:
    """Make a message to the person."""
    return OutgoingMessage(thread_id=counterpart.thread_id, text=text, key=key)


async def hears_a_person(counterpart: Counterpart) -> None:
    heard, adapter = Heard(), counterpart.adapter
    async with listening(adapter, heard):
        await counterpart.say("hello")
        await counterpart.say("again")
        first, second = [await asyncio.wait_for(heard.events.get(), LONG) for _ in range(2)]
    assert (first.text, second.text) == ("hello", "again")
    assert first.message_id != second.message_id
    assert {(each.platform, each.chat.kind, each.is_addressed) for each in (first, second)} == {
        (adapter.name, "dm", True)
    }
    assert first.chat.id == counterpart.thread_id.scope_id
    assert first.speaker.id
    assert not first.speaker.is_bot


async def tells_that_something_arrived_only_once_it_is_kept(counterpart: Counterpart) -> None:
    heard = Heard()
    heard.troubles.append(OSError("the disk is full"))
    async with listening(counterpart.adapter, heard):
        await counterpart.say("hello")
        event = await asyncio.wait_for(heard.events.get(), LONG)
    assert event.text == "hello"


async def sends_and_changes_a_message(counterpart: Counterpart) -> None:
    adapter = counterpart.adapter
    sent_id = await adapter.send(message(counterpart, "one"))
    assert sent_id
    assert counterpart.texts() == ["one"]
    if not adapter.capabilities.supports_edits:
        return
    await adapter.edit(sent_id, message(counterpart, "two"))
    await adapter.edit(sent_id, message(counterpart, "two"))
    assert counterpart.texts() == ["two"]


async def sends_what_fills_a_message(counterpart: Counterpart) -> None:
    text = "Grüße, 世界 😀. " * 20_000
    first, *_ = split(text, counterpart.adapter.capabilities)
    await counterpart.adapter.send(message(counterpart, first))
    assert counterpart.texts() == [first]


async def sends_words_that_are_no_markup(counterpart: Counterpart) -> None:
    odd = ["*", "_a", "`", "[x](", "<b>&amp;", "\\", "~~", "|x|", "#", "1. ", "- a_b*c"]
    for number, text in enumerate(odd):
        await counterpart.adapter.send(message(counterpart, text, f"{number:032}"))
    assert len(counterpart.texts()) == len(odd)


async def tells_a_limit_from_a_refusal_and_from_silence(counterpart: Counterpart) -> None:
    adapter = counterpart.adapter
    counterpart.fail_next("later")
    with pytest.raises(SendLaterError) as later:
        await adapter.send(message(counterpart, "one"))
    assert later.value.retry_after == 2
    counterpart.fail_next("refused")
    with pytest.raises(SendRefusedError):
        await adapter.send(message(counterpart, "one"))
    assert counterpart.texts() == []
    counterpart.fail_next("lost")
    lost = await _send_into_silence(counterpart)
    assert not isinstance(lost, SendLaterError | SendRefusedError)


async def _send_into_silence(counterpart: Counterpart) -> Exception:
    try:
        await counterpart.adapter.send(message(counterpart, "one"))
    except Exception as error:
        return error
    raise AssertionError("nobody answered, and the adapter says it was sent")


async def knows_what_became_of_a_send_if_it_says_so(counterpart: Counterpart) -> None:
    adapter = counterpart.adapter
    counterpart.fail_next("lost")
    await _send_into_silence(counterpart)
    if adapter.capabilities.can_find_sends:
        assert await adapter.find(message(counterpart, "one"))
        assert await adapter.find(message(counterpart, "one", "n" * 32)) is None
    if adapter.capabilities.keeps_keys_seconds:
        assert await adapter.send(message(counterpart, "one"))
        assert counterpart.texts() == ["one"]


async def says_that_a_message_is_gone(counterpart: Counterpart) -> None:
    with pytest.raises(EditGoneError):
        await counterpart.adapter.edit("1.999999", message(counterpart, "two"))


async def takes_buttons_if_it_says_so(counterpart: Counterpart) -> None:
    adapter = counterpart.adapter
    if not adapter.capabilities.supports_buttons:
        return
    rows = ((Button("Yes", "y" * 64), Button("No", "n")),)
    asked = OutgoingMessage(
        thread_id=counterpart.thread_id, text="?", buttons=rows, key="b" * 32, kind="question"
    )
    sent_id = await adapter.send(asked)
    await adapter.edit(sent_id, message(counterpart, "decided"))
    assert counterpart.texts() == ["decided"]


CHECKS: tuple[Check, ...] = (
    hears_a_person,
    tells_that_something_arrived_only_once_it_is_kept,
    sends_and_changes_a_message,
    sends_what_fills_a_message,
    sends_words_that_are_no_markup,
    tells_a_limit_from_a_refusal_and_from_silence,
    knows_what_became_of_a_send_if_it_says_so,
    says_that_a_message_is_gone,
    takes_buttons_if_it_says_so,
)

"""Take in what adapters hear: find the thread and the person, ask the gate, and hand it to the keeper."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from shipmate.delivery.delivery_wording import say
from shipmate.delivery.press import read_press
from shipmate.delivery.reception.gate import Gate
from shipmate.delivery.reception.people import People
from shipmate.errors import ThreadIdError
from shipmate.orchestrator.feed import Receipt
from shipmate.thread.service import ThreadService
from shipmate.values.adapter_event import AdapterEvent, HeardEvent, RemoteFile
from shipmate.values.event import Attachment, CommandEvent, IngressEvent, TextEvent, VoiceEvent
from shipmate.values.reveal import reveal_line
from shipmate.workspace.config import AdapterSettings

# How a file is named that still lies with its platform.
REMOTE = "remote:"
NAME_LENGTH = 60
# How long a stranger who keeps writing is told nothing more.
STRANGER_SECONDS = 600.0
STRANGER_COUNT = 10_000
IGNORED = HeardEvent(status="ignored")


class Taking(Protocol):
    """What is done with events: the keeper's verbs."""

    async def receive(self, event: IngressEvent) -> Receipt: ...
    async def withdraw(self, thread_id: str, message_id: str) -> bool: ...


class Reception:
    """The way in for every platform that has an adapter."""

    def __init__(
        self,
        gate: Gate,
        people: People,
        settings: Callable[[str], AdapterSettings],
        receive: Callable[[IngressEvent], Awaitable[Receipt]],
        withdraw: Callable[[str, str], Awaitable[bool]],
        language: str,
    ) -> None:
        self._gate = gate
        self._people = people
        self._settings = settings
        self._receive = receive
        self._withdraw = withdraw
        self._language = language
        self._told: dict[tuple[str, str], float] = {}

    async def hear(self, event: AdapterEvent) -> HeardEvent:
        """Take an event in; when this returns it is on disk, or nothing has to come of it."""
        try:
            thread_id = ThreadService.resolve(event)
        except ThreadIdError:
            return IGNORED
        settings = self._settings(event.platform)
        admission = await self._gate.admit(event, thread_id, settings)
        if admission == "ignored":
            return IGNORED
        if admission == "stranger":
            return await self._meet(event, str(thread_id))
        if event.changes is not None and not await self._withdraw(str(thread_id), event.changes):
            # Its run has begun, or is over; what was said then stands.
            return IGNORED
        if event.is_deletion:
            return HeardEvent(status="accepted")
        made = self._make(event, str(thread_id), settings)
        if made is None:
            return IGNORED
        receipt = await self._receive(made)
        told = say(self._language, "pressed") if event.pressed is not None else ""
        return HeardEvent(status="accepted" if receipt.is_new else "repeated", told=told)

    async def _meet(self, event: AdapterEvent, thread_id: str) -> HeardEvent:
        """Tell a stranger how to be let in, now and then."""
        who = (event.platform, event.speaker.id)
        now = time.monotonic()
        if now - self._told.get(who, -STRANGER_SECONDS) < STRANGER_SECONDS:
            return HeardEvent(status="refused")
        if len(self._told) >= STRANGER_COUNT:
            self._told.clear()
        self._told[who] = now
        code = ""
        if event.chat.kind == "dm":
            code = self._people.offer(*who, reveal_line(event.speaker.name, NAME_LENGTH))
        common = self._common(event, thread_id, None)
        await self._receive(CommandEvent(**common, name="stranger", text=code))
        return HeardEvent(status="refused", told=say(self._language, "stranger-pressed"))

    def _make(self, event: AdapterEvent, thread_id: str, settings: AdapterSettings) -> IngressEvent | None:
        common = self._common(event, thread_id, settings.member)
        if event.pressed is not None:
            return read_press(event.pressed, common)
        files = tuple(map(self._name_file, [event.platform] * len(event.files), event.files))
        context = describe_chat(event)
        if event.voice is not None:
            audio = self._name_file(event.platform, event.voice)
            return VoiceEvent(**common, audio=audio, text=event.text.strip(), extra_context=context)
        if not event.text.strip() and not files:
            return None
        return TextEvent(**common, text=event.text, attachments=files, extra_context=context)

    def _common(self, event: AdapterEvent, thread_id: str, member: str | None) -> dict[str, Any]:
        return {
            "platform": event.platform,
            "thread_id": thread_id,
            "user_id": self._people.identify(event.platform, event.speaker.id),
            "message_id": event.message_id,
            "timestamp": event.timestamp,
            "member": member,
            "speaker": reveal_line(event.speaker.name, NAME_LENGTH) or None,
        }

    def _name_file(self, platform: str, file: RemoteFile) -> Attachment:
        return Attachment(
            url=f"{REMOTE}{platform}:{file.id}",
            media_type=file.media_type,
            filename=file.filename or None,
            size=file.size,
        )


def describe_chat(event: AdapterEvent) -> str:
    """Tell a model where something was said, and by whom; what people chose themselves stands in quotes."""
    chat = event.chat
    facts: Mapping[str, str] = {
        "chat": f"{event.platform} {chat.kind}",
        "title": quote_name(chat.title),
        "topic": quote_name(chat.topic or ""),
        "speaker": quote_name(event.speaker.name),
    }
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items() if fact)


def quote_name(name: str) -> str:
    """Put a name that somebody chose into quotes that nothing in it can end; an empty one stays empty."""
    shown = reveal_line(name, NAME_LENGTH)
    return json.dumps(shown, ensure_ascii=False) if shown else ""

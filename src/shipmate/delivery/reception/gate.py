"""Decide who is heard. This is the only place that does, and in doubt nobody is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from shipmate.delivery.reception.people import People
from shipmate.values.adapter_event import PERSON, AdapterEvent
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import AdapterSettings

Admission: TypeAlias = Literal["in", "ignored", "stranger"]


class Gate:
    """The gate of one workspace."""

    def __init__(self, people: People, answers: Callable[[ThreadId, str], Awaitable[bool]]) -> None:
        self._people = people
        # Tells whether words would answer a question that waits in a thread.
        self._answers = answers

    async def admit(self, event: AdapterEvent, thread_id: ThreadId, settings: AdapterSettings) -> Admission:
        """Return whether an event is heard, passed over, or of somebody who has to be let in first."""
        speaker = event.speaker
        # Bots that answer each other would never end, and members' words decide nothing.
        if speaker.is_bot or not speaker.id or speaker.id.startswith(PERSON):
            return "ignored"
        is_private = event.chat.kind == "dm"
        if not is_private and settings.groups == "off":
            return "ignored"
        if not self._is_allowed(event, settings):
            return "stranger" if event.is_addressed else "ignored"
        if is_private or event.is_addressed or event.pressed is not None or settings.groups == "all":
            return "in"
        return "in" if await self._answers(thread_id, event.text) else "ignored"

    def _is_allowed(self, event: AdapterEvent, settings: AdapterSettings) -> bool:
        if settings.open or event.speaker.id in settings.allow_from:
            return True
        if event.chat.kind != "dm" and event.chat.id in settings.chats:
            return True
        return self._people.is_known(event.platform, event.speaker.id)

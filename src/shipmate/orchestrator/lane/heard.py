"""Hear spoken messages before their turn begins, and again when a retry asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from shipmate.orchestrator.lane.outlet import Outlet
from shipmate.orchestrator.run_wording import say
from shipmate.orchestrator.work import is_cancelled
from shipmate.store.port import Inbox, InboxRow
from shipmate.thread.pin import is_pin_row
from shipmate.thread.service import Thread
from shipmate.values.event import Attachment, IngressEvent, RetryEvent, TextEvent, VoiceEvent
from shipmate.values.message import JsonObject, UIMessage, metadata_of, text_of


class SpokenRows:
    """The hearing of one thread.

    What was understood is kept in the inbox, in the place of the recording: after a crash nothing that has
    words is heard again, and whatever reads answers and turns sees words.
    """

    def __init__(self, inbox: Inbox, outlet: Outlet, language: str) -> None:
        self._inbox = inbox
        self._outlet = outlet
        self._language = language
        self._task: asyncio.Task[IngressEvent] | None = None
        # Whether a person stopped what was heard last.
        self.is_stopped = False

    def stop(self) -> bool:
        """End the hearing in flight; tell whether there was one."""
        return self._task is not None and self._task.cancel()

    async def hear(self, rows: Sequence[InboxRow]) -> list[InboxRow]:
        """Return rows whose spoken messages have words, or the reason why not."""
        found: list[InboxRow] = []
        self.is_stopped = False
        for row in rows:
            # Brought first: what lies with its platform is fetched once.
            for do in (self._outlet.bring, self._outlet.hear):
                if isinstance(row.event, VoiceEvent) and not row.event.unheard:
                    row = await self._inbox.hear(row, await self._do(do, row.event))
            found.append(row)
        return found

    async def find_trouble(self, thread: Thread, rows: Sequence[InboxRow]) -> str:
        """Return why a turn has no words that could be answered; what a retry is about is heard again."""
        if any(isinstance(row.event, RetryEvent) for row in rows):
            return await self._hear_again(thread)
        unheard = [reason for row in rows if (reason := unheard_reason(row.event))]
        return unheard[-1] if unheard and len(unheard) == len(rows) else ""

    async def _do(
        self, do: Callable[[VoiceEvent], Coroutine[Any, Any, IngressEvent]], event: VoiceEvent
    ) -> IngressEvent:
        self._task = asyncio.create_task(do(event))
        try:
            return await self._task
        except asyncio.CancelledError:
            if is_cancelled():
                # The process ends; the next keeper hears it.
                raise
            self.is_stopped = True
            return msgspec.structs.replace(event, unheard=say("stopped").tell(self._language))
        finally:
            self._task = None

    async def _hear_again(self, thread: Thread) -> str:
        for message in _find_unheard(thread):
            found = await self._do(self._outlet.hear, _ask_again(thread, message))
            if not isinstance(found, TextEvent):
                return unheard_reason(found)
            words: JsonObject = {"type": "text", "text": found.text}
            await thread.append({"id": message["id"], "role": "user", "parts": [words]})
        return ""


def unheard_reason(event: IngressEvent) -> str:
    """Return why a spoken message has no words; empty for everything else."""
    return event.unheard if isinstance(event, VoiceEvent) else ""


def _find_unheard(thread: Thread) -> list[UIMessage]:
    """Return the spoken messages without words before the last answer."""
    found: list[UIMessage] = []
    for message in reversed(thread.messages):
        if message["role"] == "user":
            found.append(message)
        elif found and not is_pin_row(message):
            break
    has_none = [each for each in reversed(found) if metadata_of(each).get("spoken") and not text_of(each)]
    return [each for each in has_none if any(part["type"] == "file" for part in each["parts"])]


def _ask_again(thread: Thread, message: UIMessage) -> VoiceEvent:
    metadata = metadata_of(message)
    part = next(part for part in message["parts"] if part["type"] == "file")
    audio = Attachment(url=part["url"], media_type=part["mediaType"], filename=part.get("filename"))
    return VoiceEvent(
        platform=str(metadata.get("platform", "")),
        thread_id=str(thread.id),
        user_id=str(metadata.get("userId", "")),
        message_id=message["id"],
        timestamp=str(metadata.get("timestamp", "")),
        audio=audio,
    )

"""A platform that is nothing but memory, and its adapter: for tests, and to see what members would send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import msgspec

from shipmate.delivery.adapter import Adapter, Button, Hear, OutgoingMessage
from shipmate.errors import EditGoneError, NotFoundError
from shipmate.values.adapter_event import AdapterEvent, Chat, HeardEvent, RemoteFile, Speaker
from shipmate.values.event import AdapterCapabilities
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import AdapterSettings

PIECE_BYTES = 64 * 1024


class MemorySettings(AdapterSettings, frozen=True, kw_only=True):
    """The keys of an adapter of this kind: what its platform can do."""

    capabilities: AdapterCapabilities = AdapterCapabilities(
        supports_buttons=True,
        supports_threaded_replies=True,
        supports_edits=True,
        supports_files=True,
        max_file_bytes=50 * 1024 * 1024,
        edit_seconds=0.05,
        can_find_sends=True,
    )


class ShownMessage(msgspec.Struct):
    """A message as people on the platform see it."""

    id: str
    thread_id: ThreadId
    text: str
    buttons: tuple[tuple[Button, ...], ...]
    reply_to: str | None
    key: str
    kind: str
    filename: str = ""
    content: bytes = b""
    # Every text it has had, the present one last.
    texts: list[str] = []


class MemoryPlatform:
    """What people see, and what they do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shown: dict[str, ShownMessage] = {}
        self.files: dict[str, bytes] = {}
        # Raised by the next sends and edits, in this order; None lets one pass.
        self.troubles: list[Exception | None] = []
        # Raised by the next sends after they were taken: the answer got lost.
        self.losses: list[Exception | None] = []
        # Set whenever something is shown or changed.
        self.changed = asyncio.Event()
        self._hear: asyncio.Future[Hear] = asyncio.get_running_loop().create_future()
        self._count = 0

    def in_chat(self, chat_id: str) -> list[ShownMessage]:
        """List the messages of a chat in the order they came."""
        return [each for each in self.shown.values() if each.thread_id.scope_id == chat_id]

    async def say(self, text: str, *, chat: Chat | None = None, user: str = "1", **values: Any) -> HeardEvent:
        """Say something as a person; return once the core has it on disk."""
        chat = chat or Chat(id=user)
        self._count += 1
        event = AdapterEvent(
            platform=self.name,
            chat=chat,
            speaker=values.pop("speaker", Speaker(id=user, name=f"user {user}")),
            message_id=values.pop("message_id", f"{chat.id}.in{self._count}"),
            timestamp=timestamp(),
            text=text,
            **values,
        )
        return await self.deliver(event)

    async def press(self, message: ShownMessage, label: str, *, user: str = "1") -> HeardEvent:
        """Press a button by what stands on it."""
        data = next(button.data for row in message.buttons for button in row if button.label == label)
        kind: Any = message.thread_id.scope_type
        chat = Chat(id=message.thread_id.scope_id, kind=kind, topic=message.thread_id.topic)
        return await self.say("", chat=chat, user=user, pressed=data, reply_to=message.id)

    async def deliver(self, event: AdapterEvent) -> HeardEvent:
        """Deliver an event, also a second time, to whoever listens."""
        hear = await asyncio.shield(self._hear)
        return await hear(event)

    async def listen(self, hear: Hear) -> None:
        """Let one listener hear everything, until it is cancelled."""
        self._hear.set_result(hear)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._hear = asyncio.get_running_loop().create_future()

    def show(self, message: OutgoingMessage) -> str:
        """Show a message; a repeated key shows nothing twice where the platform promises so."""
        self._raise_next(self.troubles)
        self._count += 1
        sent_id = f"{message.chat_id}.{self._count}"
        file = message.file
        self.shown[sent_id] = ShownMessage(
            id=sent_id,
            thread_id=message.thread_id,
            text=message.text,
            buttons=message.buttons,
            reply_to=message.reply_to,
            key=message.key,
            kind=message.kind,
            filename=file.filename if file else "",
            content=file.path.read_bytes() if file else b"",
            texts=[message.text],
        )
        self._note_change()
        self._raise_next(self.losses)
        return sent_id

    def change(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a message."""
        self._raise_next(self.troubles)
        shown = self.shown.get(sent_id)
        if shown is None:
            raise EditGoneError
        shown.text, shown.buttons, shown.kind = message.text, message.buttons, message.kind
        shown.texts.append(message.text)
        self._note_change()

    async def wait(self, *texts: str) -> None:
        """Wait until messages with these words are shown."""
        while not all(any(text in each.text for each in self.shown.values()) for text in texts):
            await self.changed.wait()

    async def wait_for_trouble(self) -> None:
        """Wait until the next trouble has happened."""
        while self.troubles:
            await self.changed.wait()

    def _note_change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _raise_next(self, troubles: list[Exception | None]) -> None:
        if troubles and (trouble := troubles.pop(0)) is not None:
            self._note_change()
            raise trouble


class MemoryAdapter(Adapter):
    """The adapter of a memory platform."""

    kind: ClassVar[str] = "memory"
    settings_type: ClassVar[type[AdapterSettings]] = MemorySettings

    def __init__(self, name: str, settings: MemorySettings) -> None:
        super().__init__(name, settings)
        self.capabilities = settings.capabilities
        self.platform = MemoryPlatform(name)

    async def listen(self, hear: Hear) -> None:
        """Hear what people on the platform say."""
        await self.platform.listen(hear)

    async def send(self, message: OutgoingMessage) -> str:
        """Show a message."""
        if self.capabilities.keeps_keys_seconds and (known := await self.find(message)):
            return known
        return self.platform.show(message)

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a message that is shown."""
        self.platform.change(sent_id, message)

    async def find(self, message: OutgoingMessage) -> str | None:
        """Look for a message with this key."""
        found = (each.id for each in self.platform.shown.values() if each.key == message.key)
        return next(found, None)

    async def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of a file that a person put on the platform."""
        if file.id not in self.platform.files:
            raise NotFoundError(f"{file.filename} is not there any more.")
        data = self.platform.files[file.id]
        for start in range(0, len(data), PIECE_BYTES):
            yield data[start : start + PIECE_BYTES]

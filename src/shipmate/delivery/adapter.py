"""Define what speaks to one platform. docs/adapters.md shows how to write one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import msgspec

from shipmate.errors import EditGoneError, NotFoundError, SendError
from shipmate.values.adapter_event import AdapterEvent, HeardEvent, RemoteFile
from shipmate.values.event import AdapterCapabilities
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import AdapterSettings

# Takes an event in; once it returns, the event is on disk and the platform may be told that it arrived.
Hear: TypeAlias = Callable[[AdapterEvent], Awaitable[HeardEvent]]


class Button(msgspec.Struct, frozen=True):
    """A button under a message; its data, at most 64 bytes, comes back as `AdapterEvent.pressed`."""

    label: str
    data: str


class OutgoingFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that leaves; adapters read it in pieces."""

    path: Path
    filename: str
    media_type: str
    size: int
    # Spoken words, for platforms that play such.
    is_voice: bool = False


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message as an adapter shall send it: it fits the platform, and has nothing the platform lacks."""

    thread_id: ThreadId
    # Markdown. An adapter whose platform refuses the markup sends the words plainly.
    text: str = ""
    # Rows of buttons, where the platform has such.
    buttons: tuple[tuple[Button, ...], ...] = ()
    # One file; the text is its caption.
    file: OutgoingFile | None = None
    # The `AdapterEvent.message_id` of the message this answers, where the platform has replies.
    reply_to: str | None = None
    # The same at each attempt of one send, and of no other: 32 letters and digits.
    key: str = ""
    kind: Literal["words", "preview", "question", "notice", "failure"] = "words"

    @property
    def chat_id(self) -> str:
        """Return the `Chat.id` it goes to."""
        return self.thread_id.scope_id


class HookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that a platform made at `/hooks/<adapter>`, its body unread."""

    # Some platforms try an address with a GET before they use it.
    method: Literal["GET", "POST"] = "POST"
    # By lower-case name.
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the platform is answered."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"


class Adapter(Protocol):
    """What speaks to one platform: it only renders, and decides nothing.

    Write a subclass. It is made with its name in ship.json and its settings, and does nothing until it is
    asked to listen or to send; a process may do either without the other. Nothing it raises may hold a
    secret.
    """

    kind: ClassVar[str]
    # Its keys in ship.json: a subclass of AdapterSettings.
    settings_type: ClassVar[type[AdapterSettings]] = AdapterSettings
    name: str
    capabilities: AdapterCapabilities

    def __init__(self, name: str, settings: Any) -> None:
        """Take its name and settings; connect to nothing yet, and raise ConfigError for what is unsafe."""
        del settings
        self.name = name

    async def listen(self, hear: Hear) -> None:
        """Hear the platform until cancelled: pass on each event, and tell it arrived once `hear` returned.

        Raise whatever goes wrong; it is logged, and listening begins anew after a pause that grows.
        """
        raise NotImplementedError

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
        """Answer a request of the platform; check who made it before reading it, and refuse in doubt."""
        del request, hear
        return HookAnswer(status=404)

    async def send(self, message: OutgoingMessage) -> str:
        """Send a message; return the platform's id for it.

        Raise SendLaterError or SendRefusedError when surely nothing was sent. Whatever else is raised means
        that nobody knows.
        """
        raise NotImplementedError

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change the text and the buttons of a message that was sent; the same once more is no error."""
        del sent_id, message
        raise EditGoneError

    async def find(self, message: OutgoingMessage) -> str | None:
        """Return the id of a message that a send with this key left, or None when it surely left none."""
        raise SendError(f"{self.name} cannot be asked about {message.key}.")

    def fetch(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Go over the bytes of a file that came with a message."""
        raise NotFoundError(f"{self.name} hands out no files ({file.filename or file.id}).")

    async def show_working(self, thread_id: ThreadId) -> None:
        """Show that an answer is being written, for the next few seconds."""
        del thread_id

    async def close(self) -> None:
        """Let go of connections."""

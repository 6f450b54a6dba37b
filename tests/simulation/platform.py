"""A platform outside the machine, and the adapter with which each process speaks to it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shipmate.delivery.adapter import Adapter, Hear, OutgoingMessage
from shipmate.errors import SendLaterError
from shipmate.values.event import AdapterCapabilities

if TYPE_CHECKING:
    from tests.simulation.process import Process

CHAT = "chat:group:d"
CHATS = """{"permissions": {"allow": ["deed"], "deciders": "anyone"},
"adapters": {"chat": {"kind": "memory", "open": true}}, "delivery": {"askAfterMinutes": 100000}}"""
# Seeds that found something before there were chats in the stories.
BEFORE_CHATS = frozenset(
    int(line.split()[0])
    for line in (Path(__file__).parent / "seeds.txt").read_text().splitlines()
    if line[:1].isdigit() and "(chats)" not in line
)


def has_chats(seed: int) -> bool:
    """Tell whether people chat in a seed; chosen aside, so that the others are as they were."""
    return seed not in BEFORE_CHATS and random.Random(f"chats of {seed}").random() < 0.4


@dataclass(slots=True)
class Posted:
    """A message as people see it."""

    number: int
    key: str
    kind: str
    text: str
    reply_to: str | None
    # What its buttons carried when it came, and what they do now.
    asked: tuple[str, ...]
    buttons: tuple[str, ...]
    texts: list[str] = field(default_factory=list[str])


class SimPlatform:
    """What people see in the chat."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(f"platform of {seed}")
        # It can be asked, or knows a key again, or neither.
        self.kind = chance.choice(("asked", "asked", "keyed", "neither"))
        self.capabilities = AdapterCapabilities(
            supports_buttons=True,
            supports_threaded_replies=True,
            supports_edits=chance.random() < 0.8,
            edit_seconds=0.2,
            can_find_sends=self.kind == "asked",
            keeps_keys_seconds=1e6 if self.kind == "keyed" else 0.0,
        )
        self.posted: dict[str, Posted] = {}

    def post(self, message: OutgoingMessage) -> str:
        """Show a message."""
        if self.kind == "keyed" and (known := self.find(message.key)):
            # As platforms do: the first one stands.
            return known
        name = f"p{len(self.posted) + 1}"
        data = tuple(button.data for row in message.buttons for button in row)
        self.posted[name] = Posted(
            len(self.posted),
            message.key,
            message.kind,
            message.text,
            message.reply_to,
            data,
            data,
            [message.text],
        )
        return name

    def change(self, name: str, message: OutgoingMessage) -> None:
        """Change a message."""
        posted = self.posted[name]
        posted.text, posted.kind = message.text, message.kind
        posted.buttons = tuple(button.data for row in message.buttons for button in row)
        posted.texts.append(message.text)

    def find(self, key: str) -> str | None:
        """Name the message with a key."""
        return next((name for name, each in self.posted.items() if each.key == key), None)


class SimAdapter(Adapter):
    """The adapter of one process; the way to the platform takes its time, and may break at either end."""

    kind: ClassVar[str] = "memory"

    def __init__(self, process: Process, platform: SimPlatform) -> None:
        super().__init__(CHAT.partition(":")[0], None)
        self.capabilities = platform.capabilities
        self._process = process
        self._platform = platform
        self._chance = process.world.chance

    async def listen(self, hear: Hear) -> None:
        """Hear nothing: people hand over what they say themselves."""

    async def send(self, message: OutgoingMessage) -> str:
        """Post a message."""
        await self._go()
        self._fail()
        name = self._platform.post(message)
        self._process.world.note(f"  posted {name} {message.kind} {message.text[:40]!r}")
        await self._go()
        self._break()
        return name

    async def edit(self, sent_id: str, message: OutgoingMessage) -> None:
        """Change a message."""
        await self._go()
        self._fail()
        self._platform.change(sent_id, message)
        self._process.world.note(f"  changed {sent_id} {message.kind} {message.text[:40]!r}")
        await self._go()
        self._break()

    async def find(self, message: OutgoingMessage) -> str | None:
        """Ask for a message."""
        await self._go()
        self._break()
        return self._platform.find(message.key)

    async def _go(self) -> None:
        await asyncio.sleep(self._chance.choice((0.0, 0.0, 0.01, 0.2)))
        self._process.check()

    def _fail(self) -> None:
        if self._process.world.is_rough and self._chance.random() < 0.08:
            raise SendLaterError(retry_after=self._chance.choice((None, 0.5, 5.0)))
        self._break()

    def _break(self) -> None:
        if self._process.world.is_rough and self._chance.random() < 0.08:
            raise ConnectionResetError("the way is broken")

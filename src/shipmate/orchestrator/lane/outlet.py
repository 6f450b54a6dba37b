"""Define what a lane asks of rooms below: files brought, commands answered, sends made, words passed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from shipmate.store.port import InboxRow
from shipmate.thread.service import Thread
from shipmate.values.event import EgressMessage, IngressEvent, Outcome, TextEvent, VoiceEvent


class CommandAnswer(msgspec.Struct, frozen=True):
    """What came of an event that no member answers."""

    outcome: Outcome
    # None means what the outcome itself sends.
    sends: Sequence[EgressMessage] | None = None


class Outlet(Protocol):
    """The way out of a lane."""

    async def bring(self, event: IngressEvent) -> IngressEvent:
        """Return an event whose files lie in the workspace; what cannot be had is said in its words."""
        ...

    async def hear(self, event: VoiceEvent) -> TextEvent | VoiceEvent:
        """Return what a message whose audio was brought says; else itself, and why it has no words."""
        ...

    async def answer(self, thread: Thread, event: IngressEvent) -> CommandAnswer | None:
        """Answer an event that asks for nothing but words already said; None for every other."""
        ...

    def follow(self, thread_id: str, rows: Sequence[InboxRow], run_id: str) -> None:
        """Hear that a run begins to answer rows."""
        ...

    async def compose(
        self, thread: Thread, rows: Sequence[InboxRow], outcome: Outcome
    ) -> Sequence[EgressMessage]:
        """Make what an outcome sends, from the rows of its thread alone."""
        ...

    def wake(self, thread_id: str) -> None:
        """Hear that something may wait to be sent."""
        ...


class Messenger(Protocol):
    """What carries words of members from one thread to another."""

    async def pass_on(self, thread: Thread, member: str, rows: Sequence[InboxRow], outcome: Outcome) -> str:
        """Hear how a run ended, before that is stored; after a crash the same is told again.

        Return what people should know of it, if anything.
        """
        ...

    def addressed(self, event: IngressEvent) -> str | None:
        """Return the member that a person's words call upon."""
        ...

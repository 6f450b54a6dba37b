"""What whoever hands an event over gets back."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.store.port import InboxRow
from shipmate.values.event import Outcome


class Receipt(msgspec.Struct, frozen=True):
    """The confirmation that an event is stored; await `outcome` for how its run ends."""

    row: InboxRow
    is_new: bool
    _future: asyncio.Future[Outcome]

    async def outcome(self) -> Outcome:
        """Wait for the run that answers the event; a repeat gets the stored outcome at once."""
        return await asyncio.shield(self._future)

"""What people said and were told while processes came and went."""

from __future__ import annotations

import time
from collections import Counter
from itertools import count

import msgspec

ROOMS = ("web:room:deck", "cli:dm:galley", "cli:chat:hold")


class Said(msgspec.Struct):
    """One message: when it was first sent and known to be stored, and what its sender was told in the end."""

    number: int
    thread_id: str
    way: str
    sent: float = 0.0
    acknowledged: float | None = None
    told: str | None = None

    @property
    def mark(self) -> str:
        # No mark begins with another: words are found by their beginnings, and a search has a limit.
        return f"mark-{self.number:05}"

    @property
    def text(self) -> str:
        return f"please {self.mark}"

    def acknowledge(self) -> None:
        """Note that the message is stored, as far as its sender can know."""
        self.acknowledged = self.acknowledged or time.monotonic()


class Record:
    """Everything said in one proof, and everything that went wrong."""

    def __init__(self) -> None:
        self.said: dict[str, Said] = {}
        self.troubles: list[str] = []
        self.counts: Counter[str] = Counter()
        self.keepers: set[int] = set()
        self._numbers = count(1)

    def new(self, thread_id: str, way: str) -> Said:
        """Make the next message; its sending begins now."""
        said = Said(next(self._numbers), thread_id, way, sent=time.monotonic())
        self.said[said.mark] = said
        self.counts[f"said by {way}"] += 1
        return said

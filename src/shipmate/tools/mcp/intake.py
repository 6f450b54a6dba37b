"""Bound what an MCP server sends: the size of a message, what it unpacks to, and how much comes."""

from __future__ import annotations

import time

from shipmate.errors import ToolError

MESSAGE_LIMIT = 8_000_000
# Values of one message, by the marks between them: each becomes an object many times the size of its text.
VALUE_LIMIT = 1_000_000
MARKS = (b",", b"[", b"{")
# Messages at once, and for each second after that; one that sends more keeps us busy with nothing.
BURST_LIMIT = 2_000
RATE_LIMIT = 50
# Bytes of a stream nobody waits for, at once and for each second after that.
BYTE_BURST_LIMIT = 32_000_000
BYTE_RATE_LIMIT = 1_000_000


class IntakeError(ToolError):
    """The server sent more than is taken from it."""


class Intake:
    """What one server has sent over one connection; `trouble` says why it was ended."""

    def __init__(self) -> None:
        self.trouble = ""
        self._messages = _Allowance(BURST_LIMIT, RATE_LIMIT)
        self._bytes = _Allowance(BYTE_BURST_LIMIT, BYTE_RATE_LIMIT)

    def refuse(self, what: str) -> IntakeError:
        """Remember and return what was too much."""
        self.trouble = f"it sent {what}"
        return IntakeError(self.trouble)

    def refuse_size(self) -> IntakeError:
        """Return the error for a message that is too long."""
        return self.refuse(
            f"a message of more than {MESSAGE_LIMIT // 1_000_000} MB; let its tool give less at once"
        )

    def check(self, values: int) -> None:
        """Raise IntakeError for a message of so many values."""
        if values > VALUE_LIMIT:
            raise self.refuse(
                f"a message of more than {VALUE_LIMIT:,} values; let its tool give less at once"
            )

    def count(self) -> None:
        """Count a message; raises IntakeError when too many come."""
        if not self._messages.takes(1):
            raise self.refuse(f"more than {BURST_LIMIT:,} messages at once")

    def count_bytes(self, size: int) -> None:
        """Count bytes of a stream nobody waits for; raises IntakeError when too many come."""
        if not self._bytes.takes(size):
            raise self.refuse(f"more than {BYTE_BURST_LIMIT // 1_000_000} MB that were not asked for")


class _Allowance:
    """A number of things that may come at once, which grows again with time."""

    def __init__(self, burst: int, rate: int) -> None:
        self._burst = burst
        self._rate = rate
        self._room = float(burst)
        self._counted = time.monotonic()

    def takes(self, number: int) -> bool:
        """Count so many; return whether there was room for them."""
        now = time.monotonic()
        self._room = min(self._burst, self._room + (now - self._counted) * self._rate) - number
        self._counted = now
        return self._room >= 0


def count_values(data: bytes) -> int:
    """Return how many values a text of JSON can have at most."""
    return sum(data.count(mark) for mark in MARKS)

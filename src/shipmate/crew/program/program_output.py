"""Take what a program prints, line by line, and hand on the events among it."""

from __future__ import annotations

import asyncio

import msgspec

from shipmate.values.message import JsonObject

# Programs repeat whole prompts and files in one line.
LINE_LIMIT = 16 * 1024 * 1024
# What of the lines that are no events is kept, to be quoted when it fails.
NOISE_LIMIT = 4_000


class EventLines:
    """What a program prints: events as they come, then None; of all else the last words."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._events: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self.noise = ""
        # A line was longer than any event; nothing after it is read.
        self.is_too_long = False

    async def next(self) -> JsonObject | None:
        """Wait for the next event; None when the program has ended, or prints what cannot be read."""
        event = await self._events.get()
        if event is None:
            # Whoever asks again is told the same.
            self._events.put_nowait(None)
        return event

    def write(self, data: bytes) -> None:
        """Take a piece."""
        if self.is_too_long:
            return
        self._rest += data
        while (end := self._rest.find(b"\n", self._searched)) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            self._searched = 0
            self._take(line)
        self._searched = len(self._rest)
        if self._searched > LINE_LIMIT:
            self.is_too_long = True
            self._rest.clear()
            self._events.put_nowait(None)

    def close(self) -> None:
        """Take what has no end of line, and say that it is over."""
        if self._rest:
            self._take(bytes(self._rest))
            self._rest.clear()
        self._events.put_nowait(None)

    def _take(self, line: bytes) -> None:
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            event = None
        if isinstance(event, dict):
            self._events.put_nowait(event)
        else:
            self.noise = (self.noise + line[-NOISE_LIMIT:].decode("utf-8", "replace") + "\n")[-NOISE_LIMIT:]

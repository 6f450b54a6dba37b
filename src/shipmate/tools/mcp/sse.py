"""Read the events of a stream, whatever its pieces are cut into."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake

LINE_END = re.compile(rb"\r\n|\n|\r")
# A mark is sent back to the server in a header.
MARK_LIMIT = 1_000


class StreamEvent(msgspec.Struct, frozen=True):
    """One event: its name and data."""

    name: str
    data: bytes


class EventReader:
    """Turns bytes into events; `mark` and `retry_seconds` are what the stream said about going on with it."""

    def __init__(self, intake: Intake) -> None:
        self.mark = ""
        self.retry_seconds: float | None = None
        self._intake = intake
        self._rest = bytearray()
        self._name = ""
        self._data = bytearray()
        self._has_data = False

    def restart(self) -> None:
        """Forget what an earlier stream left half said."""
        self._rest.clear()
        self._begin()

    def feed(self, piece: bytes) -> Iterator[StreamEvent]:
        """Take a piece; go over the events it ends. Raises IntakeError when one is too long."""
        # What was looked through before is not looked through again, but for half of a line's end.
        looked = max(0, len(self._rest) - 1)
        self._rest += piece
        start = 0
        for end in LINE_END.finditer(self._rest, looked):
            # A carriage return at the end of a piece may be half of a line's end.
            if end.group() == b"\r" and end.end() == len(self._rest):
                break
            line = bytes(self._rest[start : end.start()])
            start = end.end()
            if (event := self._take(line)) is not None:
                yield event
        del self._rest[:start]
        if len(self._rest) + len(self._data) > MESSAGE_LIMIT:
            raise self._intake.refuse_size()

    def _take(self, line: bytes) -> StreamEvent | None:
        if not line:
            return self._end()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                if self._has_data:
                    self._data += b"\n"
                self._data += value
                self._has_data = True
                if len(self._data) > MESSAGE_LIMIT:
                    raise self._intake.refuse_size()
            case b"event":
                self._name = value[:100].decode("utf-8", "replace")
            case b"id":
                self._mark(value)
            case b"retry" if value.isdigit() and len(value) < 9:
                self.retry_seconds = int(value) / 1000
            case _:
                pass
        return None

    def _mark(self, value: bytes) -> None:
        text = value.decode("latin-1")
        # It goes back in a header: anything else is not ours to repeat.
        if len(text) <= MARK_LIMIT and text.isascii() and (text.isprintable() or not text):
            self.mark = text

    def _end(self) -> StreamEvent | None:
        event = StreamEvent(self._name or "message", bytes(self._data)) if self._has_data else None
        self._begin()
        return event

    def _begin(self) -> None:
        self._name = ""
        self._data = bytearray()
        self._has_data = False

"""Read server-sent events from bytes that come in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
# One event of an answer is a few hundred bytes; a whole answer in one event is still far below this.
LONGEST_EVENT = 8_000_000


class ServerEvent(NamedTuple):
    """One event: its name, empty when it has none, and its data."""

    name: str
    data: bytes


class EventTooLongError(Exception):
    """An event is longer than anything a provider has to say."""


class EventParser:
    """Reads one stream; pieces may be cut anywhere, also inside a character or a line's end."""

    def __init__(self, limit: int = LONGEST_EVENT) -> None:
        self._limit = limit
        # The beginning of a line that has not ended, in pieces: joining them each time would be quadratic.
        self._open: list[bytes] = []
        self._size = 0
        # A carriage return ended the last piece; a line feed right after it belongs to the same end.
        self._after_return = False
        self._is_first = True
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Read a further piece and yield the events that it completes."""
        if self._after_return and piece:
            self._after_return = False
            piece = piece.removeprefix(b"\n")
        if b"\r" in piece:
            self._after_return = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._grow(len(line))
            if self._open:
                line = b"".join((*self._open, line))
                self._open.clear()
            if (event := self._take(line)) is not None:
                yield event
        if rest:
            self._open.append(rest)
            self._grow(len(rest))

    def close(self) -> Iterator[ServerEvent]:
        """End the stream and yield an event that lacks only the blank line after it, as some servers do."""
        if self._open:
            line = b"".join(self._open)
            self._open.clear()
            if (event := self._take(line)) is not None:
                yield event
        if (event := self._take(b"")) is not None:
            yield event

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            self._open.clear()
            self._data.clear()
            raise EventTooLongError

    def _take(self, line: bytes) -> ServerEvent | None:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(BOM)
        if not line:
            return self._complete()
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            self._name = line[7:] if line[6:7] == b" " else line[6:]
        elif line == b"data":
            self._data.append(b"")
        elif line == b"event":
            self._name = b""
        # Comments, ids and times to reconnect mean nothing here.
        return None

    def _complete(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._size = 0
        self._name = b""
        if not data:
            return None
        self._data = []
        return ServerEvent(name.decode(errors="replace"), data[0] if len(data) == 1 else b"\n".join(data))

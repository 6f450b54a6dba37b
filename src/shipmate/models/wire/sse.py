"""Read server-sent events from bytes that come in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
# One event of an answer is a few hundred bytes; a whole answer in one event is still far below this.
LONGEST_EVENT = 8_000_000
# A mark is sent back to the server in a header.
LONGEST_MARK = 1_000


class ServerEvent(NamedTuple):
    """One event: its name, empty when it has none, and its data."""

    name: str
    data: bytes


class EventTooLongError(Exception):
    """An event is longer than anything a provider has to say."""


class EventParser:
    """Reads one stream; pieces may be cut anywhere, also inside a character or a line's end.

    `mark` is the id of the last event that came whole and `retry_seconds` the wait the server wants: for
    going on with a stream that broke off.
    """

    def __init__(self, limit: int = LONGEST_EVENT) -> None:
        self.mark = ""
        self.retry_seconds: float | None = None
        self._limit = limit
        # The beginning of a line that has not ended, in pieces: joining them each time would be quadratic.
        self._open: list[bytes] = []
        self._size = 0
        # A carriage return ended the last piece; a line feed right after it belongs to the same end.
        self._after_return = False
        self._is_first = True
        self._name = b""
        self._data: list[bytes] = []
        self._next_mark: str | None = None

    def restart(self) -> None:
        """Begin another stream that goes on with this one; what was left half said is forgotten."""
        self._open.clear()
        self._after_return = False
        self._is_first = True
        self._data = []
        self._next_mark = None
        self._complete()

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
        else:
            # Nothing of these lines is kept, so that however many there are they fill nothing.
            self._size -= len(line)
            self._take_note(*line.split(b":", 1))
        return None

    def _take_note(self, field: bytes, value: bytes = b"") -> None:
        value = value.removeprefix(b" ")
        if field == b"id":
            mark = value.decode("latin-1")
            # It goes back in a header: what cannot stand there is not ours to repeat.
            if len(mark) <= LONGEST_MARK and mark.isascii() and (mark.isprintable() or not mark):
                self._next_mark = mark
        elif field == b"retry" and value.isdigit() and len(value) < 9:
            self.retry_seconds = int(value) / 1000

    def _complete(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._size = 0
        self._name = b""
        if self._next_mark is not None:
            self.mark, self._next_mark = self._next_mark, None
        if not data:
            return None
        self._data = []
        return ServerEvent(name.decode(errors="replace"), data[0] if len(data) == 1 else b"\n".join(data))

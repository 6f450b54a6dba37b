"""The messages of a thread: those of courses that ended long ago are kept packed.

A thread may live for years. What its current course shows is at hand as it is; of the rest only the
beginning, which names the thread, is. The others are unpacked by blocks when somebody looks at them.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from shipmate.values.message import UIMessage

BLOCK = 256
# So many messages before the current course are not packed: people scroll back, and retries look back.
AT_HAND = 1_000
PLACE_BITS = 24
_PLACE = (1 << PLACE_BITS) - 1
_HASH = (1 << 64 - PLACE_BITS) - 1
_decoder = msgspec.json.Decoder(list[UIMessage])
_encoder = msgspec.json.Encoder()


class MessageList(Sequence[UIMessage]):
    """A list that grows at its end, in which any message may be replaced."""

    def __init__(self) -> None:
        self._blocks: list[list[UIMessage] | bytes] = []
        self._length = 0
        self._packed = 1
        self._unpacked: tuple[int, list[UIMessage]] = (-1, [])
        # Where messages stand by their ids: those at hand, and hash and place of the packed ones, sorted.
        self._near: dict[str, int] = {}
        self._far = array("Q")

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return id(self)

    @overload
    def __getitem__(self, index: int) -> UIMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[UIMessage]: ...
    def __getitem__(self, index: int | slice) -> UIMessage | list[UIMessage]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return self._stretch(start, stop)
            return [self[place] for place in range(start, stop, step)]
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(index)
        return self._block(place // BLOCK)[place % BLOCK]

    def __iter__(self) -> Iterator[UIMessage]:
        for number in range(len(self._blocks)):
            yield from self._block(number)

    def __reversed__(self) -> Iterator[UIMessage]:
        for number in range(len(self._blocks) - 1, -1, -1):
            yield from reversed(self._block(number))

    def append(self, message: UIMessage) -> None:
        """Add a message that is not there yet."""
        if self._length % BLOCK == 0:
            self._blocks.append([])
        last = self._blocks[-1]
        assert isinstance(last, list), "what is packed is full"
        last.append(message)
        self._near[message["id"]] = self._length
        self._length += 1

    def replace(self, place: int, message: UIMessage) -> None:
        """Put a message in the place of the one of the same id."""
        number, at = divmod(place, BLOCK)
        messages = self._block(number)
        messages[at] = message
        if isinstance(self._blocks[number], bytes):
            self._blocks[number] = _pack(messages)

    def place_of(self, message_id: str) -> int | None:
        """Return where a message stands."""
        place = self._near.get(message_id)
        if place is not None or not self._far:
            return place
        sought = hash(message_id) & _HASH
        at = bisect_left(self._far, sought << PLACE_BITS)
        while at < len(self._far) and self._far[at] >> PLACE_BITS == sought:
            place = self._far[at] & _PLACE
            if self[place]["id"] == message_id:
                return place
            at += 1
        return None

    def pack(self, before: int) -> None:
        """Pack what stands well before a place; the first block stays as it is."""
        ready = (before - AT_HAND) // BLOCK
        if ready <= self._packed:
            return
        found = list(self._far)
        for number in range(self._packed, ready):
            messages = self._block(number)
            self._blocks[number] = _pack(messages)
            for at, message in enumerate(messages, number * BLOCK):
                self._near.pop(message["id"], None)
                found.append((hash(message["id"]) & _HASH) << PLACE_BITS | at)
        found.sort()
        self._far = array("Q", found)
        self._packed = ready
        # A dict keeps the room of what was taken out of it.
        self._near = dict(self._near)

    def _block(self, number: int) -> list[UIMessage]:
        block = self._blocks[number]
        if isinstance(block, list):
            return block
        if self._unpacked[0] != number:
            self._unpacked = (number, _decoder.decode(zlib.decompress(block)))
        return self._unpacked[1]

    def _stretch(self, start: int, stop: int) -> list[UIMessage]:
        found: list[UIMessage] = []
        for number in range(start // BLOCK, (stop + BLOCK - 1) // BLOCK if stop > start else 0):
            base = number * BLOCK
            found += self._block(number)[max(0, start - base) : stop - base]
        return found


def _pack(messages: list[UIMessage]) -> bytes:
    return zlib.compress(_encoder.encode(messages), 1)

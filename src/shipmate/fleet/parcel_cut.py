"""Join what is said below the size that a notification may have, and cut what is longer."""

from __future__ import annotations

from collections.abc import Iterable

from shipmate.fleet import fleet_frame as frames

# A notification must be shorter than 8,000 bytes, its head included.
LIMIT = 7_900
HEAD = 100
# What takes more pieces than this is not told live: whoever watches reads the stored row.
MOST_PIECES = 64


def pack(sender: str, serial: int, said: Iterable[bytes]) -> list[str]:
    """Return the notifications that carry what was said, in order."""
    found: list[str] = []
    joined: list[bytes] = []
    size = 0
    for each in said:
        if joined and size + len(each) + 1 > LIMIT - HEAD:
            found += _cut(sender, serial + len(found), frames.encode(joined))
            joined, size = [], 0
        joined.append(each)
        size += len(each) + 1
    return found + (_cut(sender, serial + len(found), frames.encode(joined)) if joined else [])


def _cut(sender: str, serial: int, data: bytes) -> list[str]:
    pieces: list[bytes] = []
    start = 0
    while start < len(data):
        end = min(start + LIMIT - HEAD, len(data))
        # Between characters: a notification is text.
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(data[start:end])
        start = end
    if len(pieces) > MOST_PIECES:
        return []
    return [
        f"{sender} {serial} {place} {len(pieces)}\n{piece.decode()}" for place, piece in enumerate(pieces, 1)
    ]


class Unpacking:
    """What came in so far of things that were cut."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}

    def take(self, payload: str) -> tuple[str, list[frames.Said]]:
        """Return who speaks and what was said; nothing while pieces are missing."""
        head, _, body = payload.partition("\n")
        sender, _, place, count = head.split(" ")
        if count == "1":
            return sender, frames.decode(body.encode())
        pieces = self._pieces.setdefault(sender, [])
        if place == "1":
            pieces.clear()
        pieces.append(body)
        # A piece that was lost with its connection makes the rest worthless.
        if place != count or len(pieces) != int(count):
            return sender, []
        del self._pieces[sender]
        return sender, frames.decode("".join(pieces).encode())

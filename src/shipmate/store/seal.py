"""One line of a chained log: its canonical bytes, its hash, and the link to the line before it."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from shipmate.values.message import JsonObject


class ChainLink(NamedTuple):
    """The number and the hash of an entry, which the next one names."""

    seq: int
    hash: str


# What the first entry follows.
NOTHING = ChainLink(0, "0" * 64)


def encode(entry: JsonObject) -> bytes:
    """Return the canonical JSON of an entry: equal entries have equal bytes."""
    return msgspec.json.encode(entry, order="sorted")


def seal(entry: JsonObject, end: ChainLink) -> JsonObject:
    """Return an entry chained to the one before it, with the hash over all of it."""
    chained = {**entry, "seq": end.seq + 1, "prev": end.hash}
    return {**chained, "hash": hashlib.sha256(encode(chained)).hexdigest()}


def is_sealed(line: bytes, entry: JsonObject) -> bool:
    """Return whether a line is, byte for byte, what was sealed."""
    bare = {key: value for key, value in entry.items() if key != "hash"}
    return hashlib.sha256(encode(bare)).hexdigest() == entry["hash"] and encode(entry) == line


def decode(line: bytes) -> JsonObject | None:
    """Return the entry of a line, or None when it is none."""
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    named = isinstance(entry.get("prev"), str) and isinstance(entry.get("hash"), str)
    return entry if named and type(entry.get("seq")) is int else None


def link_of(entry: JsonObject) -> ChainLink:
    """Return what the next entry names."""
    return ChainLink(entry["seq"], entry["hash"])

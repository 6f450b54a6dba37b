"""Check a chained log and say where it breaks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
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


# One cut through a long file is said once; a file full of trouble need not be told line by line.
BREAK_LIMIT = 20


class Break(msgspec.Struct, frozen=True):
    """One place where a log is not what was written."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class FileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in one file: how it begins and ends, and its breaks."""

    file: str
    # What the file's first entry follows; None when no line of it can be read.
    begins: ChainLink | None = None
    ends: ChainLink = NOTHING
    entries: int = 0
    breaks: tuple[Break, ...] = ()
    # Bytes behind the last newline, as a crash leaves them.
    torn: int = 0


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What checking a whole log found."""

    entries: int = 0
    breaks: tuple[Break, ...] = ()
    # The last line is unfinished; the next entry cuts it off and says so.
    torn: int = 0

    @property
    def holds(self) -> bool:
        return not self.breaks


def check_file(name: str, data: bytes) -> FileCheck:
    """Check the lines of one file by themselves."""
    *lines, rest = data.split(b"\n")
    begins: ChainLink | None = None
    ends = NOTHING
    entries = 0
    breaks: list[Break] = []
    for number, line in enumerate(lines, 1):
        entry = decode(line)
        if entry is None:
            breaks.append(Break(name, number, "this line is no entry"))
            continue
        follows = ChainLink(entry["seq"] - 1, entry["prev"])
        words = _compare_neighbours(ends, follows) if begins is not None else None
        if not is_sealed(line, entry):
            words = f"entry {entry['seq']} was changed: its hash does not fit"
        elif entry.get("event") == "broken":
            words = words or str(entry.get("what"))
        if words:
            breaks.append(Break(name, number, words))
        begins, ends, entries = begins or follows, link_of(entry), entries + 1
    return FileCheck(
        file=name,
        begins=begins,
        ends=ends,
        entries=entries,
        breaks=tuple(breaks[:BREAK_LIMIT]),
        torn=len(rest),
    )


def join_checks(
    checks: Sequence[FileCheck], head: ChainLink | None, find: Callable[[int], ChainLink | None]
) -> Verification:
    """Join the checks of a log's files, in order, and compare their end with the head."""
    breaks: list[Break] = []
    end = NOTHING
    for check in checks:
        if check.begins is not None:
            if words := _compare_neighbours(end, check.begins):
                breaks.append(Break(check.file, 1, words))
            end = check.ends
        breaks += check.breaks
        if check.torn and check is not checks[-1]:
            breaks.append(Break(check.file, check.entries + 1, "the last line is unfinished"))
    if words := compare_end(head, end, find, begun=bool(checks)):
        breaks.append(Break("head", 0, words))
    return Verification(
        entries=sum(check.entries for check in checks),
        breaks=tuple(breaks[:BREAK_LIMIT]),
        torn=checks[-1].torn if checks else 0,
    )


def compare_end(
    head: ChainLink | None, last: ChainLink, find: Callable[[int], ChainLink | None], *, begun: bool
) -> str | None:
    """Say what is wrong with the end of a log; a head that only lags is as a crash leaves it.

    The head is there before the first entry: a log that has begun always has one.
    """
    if head is None:
        gone = "the file is missing or cannot be read, so a cut at the end would not show"
        return gone if begun else None
    if head == NOTHING:
        # As a power cut leaves it when it takes back all later writes of the head.
        return None
    if head.seq > last.seq:
        return f"the log ends with entry {last.seq}, but {head.seq} were written: its end was cut off"
    there = last if head.seq == last.seq else find(head.seq)
    return None if there == head else f"entry {head.seq} of the log is not the one that was written"


def _compare_neighbours(before: ChainLink, follows: ChainLink) -> str | None:
    """Say what is wrong between an entry and the one it should follow."""
    if before == follows:
        return None
    seq = follows.seq + 1
    if follows.seq > before.seq:
        return f"entry {seq} follows entry {before.seq}: {follows.seq - before.seq:,} missing"
    if follows.seq < before.seq:
        return f"entry {seq} stands behind entry {before.seq}: lines were moved or repeated"
    return f"entry {seq} does not follow the entry before it: that one was changed"

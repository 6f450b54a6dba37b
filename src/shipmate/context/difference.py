"""Compare what a model read at two steps: what changed, in its words, and where the cached prefix broke."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Literal

import msgspec

from shipmate.context.kept.account import Account, AccountRow, RowKind

# Longer texts are not compared line by line, which could take minutes; both are shown instead.
COMPARED_CHARACTERS = 400_000
COMPARED_LINES = 4_000
# What is shown of a diff, and how many changed messages.
SHOWN_LINES = 2_000
SHOWN_MESSAGES = 100


class RowChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened to a section, a tool or a message, as a unified diff."""

    kind: RowKind
    name: str
    change: Literal["added", "removed", "changed"]
    tokens_before: int
    tokens_after: int
    diff: str


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How one request departs from another."""

    changes: list[RowChange]
    # How many changes of messages are not told.
    untold: int = 0
    # The tokens in front of the first change, of all the later request has.
    same_tokens: int
    total_tokens: int
    # The first byte of the system prompt that is not the same, None when it is the same.
    breaks_at: int | None = None
    # What the first change is in: "section NAME", "tool NAME" or "message NUMBER".
    breaks_in: str = ""


def compare(before: Account, after: Account) -> Difference:
    """Compare two requests."""
    pairs = [*_pair(before.of("section"), after.of("section")), *_pair(before.of("tool"), after.of("tool"))]
    changes = [_describe(old, new) for old, new in pairs if not _is_same(old, new)]
    messages = [
        (old, new) for old, new in _pair(before.of("message"), after.of("message")) if not _is_same(old, new)
    ]
    changes += [_describe(old, new) for old, new in messages[:SHOWN_MESSAGES]]
    same = _count_same(before.rows, after.rows)
    prompts = before.system.encode("utf-8", "replace"), after.system.encode("utf-8", "replace")
    return Difference(
        changes=changes,
        untold=max(0, len(messages) - SHOWN_MESSAGES),
        same_tokens=sum(row.tokens for row in after.rows[:same]),
        total_tokens=after.tokens,
        breaks_at=None if prompts[0] == prompts[1] else count_common(*prompts),
        breaks_in=f"{changes[0].kind} {changes[0].name}" if changes else "",
    )


def _pair(
    before: Sequence[AccountRow], after: Sequence[AccountRow]
) -> Iterator[tuple[AccountRow | None, AccountRow | None]]:
    """Go over rows by their name: those that are gone, then the later request's in their order."""
    old, new = {row.name: row for row in before}, {row.name: row for row in after}
    for name in dict.fromkeys([*(each for each in old if each not in new), *new]):
        yield old.get(name), new.get(name)


def _is_same(old: AccountRow | None, new: AccountRow | None) -> bool:
    return old is not None and new is not None and (old.title, old.text) == (new.title, new.text)


def _count_same(before: Sequence[AccountRow], after: Sequence[AccountRow]) -> int:
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        if old.kind != new.kind or old.name != new.name or not _is_same(old, new):
            return place
    return min(len(before), len(after))


def _describe(old: AccountRow | None, new: AccountRow | None) -> RowChange:
    known = new or old
    assert known is not None
    return RowChange(
        kind=known.kind,
        name=known.name,
        change="added" if old is None else "removed" if new is None else "changed",
        tokens_before=old.tokens if old else 0,
        tokens_after=new.tokens if new else 0,
        diff=diff_texts(old.text if old else "", new.text if new else ""),
    )


def diff_texts(before: str, after: str) -> str:
    """Return a unified diff of two texts, without a head."""
    old, new = before.splitlines(), after.splitlines()
    if len(before) + len(after) > COMPARED_CHARACTERS or len(old) + len(new) > COMPARED_LINES:
        lines = [*(f"-{line}" for line in old[:SHOWN_LINES]), *(f"+{line}" for line in new[:SHOWN_LINES])]
    else:
        lines = list(unified_diff(old, new, lineterm="", n=2))[2:]
    left = len(lines) - SHOWN_LINES
    return "\n".join(lines[:SHOWN_LINES] + ([f"@@ … {left:,} @@"] if left > 0 else []))


def count_common(before: bytes, after: bytes) -> int:
    """Count the leading bytes two prompts share."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[low:middle] == after[low:middle] else (low, middle - 1)
    return low

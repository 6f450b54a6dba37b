"""Compare the prompts of two turns: which sections changed, and where the cached prefix broke."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from shipmate.context.snapshot import Print, Snapshot, count_common


class SectionChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened to one section."""

    name: str
    kind: Literal["added", "removed", "changed"]
    bytes_before: int = 0
    bytes_after: int = 0
    # Known only when both turns ran under DEBUG.
    text_before: str | None = None
    text_after: str | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How one prompt departs from another."""

    changes: list[SectionChange]
    # The first byte that is no longer the same; None when the prompts are equal.
    breaks_at: int | None = None
    # The section that byte lies in.
    breaks_in: str = ""
    # False when the byte is the beginning of the section, the true one lying somewhere in it.
    is_exact: bool = True


def compare(turns: Sequence[Snapshot], before: int, after: int) -> Difference:
    """Compare two turns of a thread by their places in the list."""
    first, second = turns[before], turns[after]
    old = {each.name: each for each in first.sections}
    new = {each.name: each for each in second.sections}
    changes = [
        _change(name, old.get(name), new.get(name), turns, before, after)
        for name in dict.fromkeys([*old, *new])
        if name not in old or name not in new or old[name].digest != new[name].digest
    ]
    broken = _first_break(first.sections, second.sections)
    if broken is None:
        return Difference(changes=changes)
    start, section = broken
    exact = _exact_break(turns, before, after, start)
    if exact is not None:
        section = next((each.name for each in reversed(second.sections) if each.start <= exact), section)
    return Difference(
        changes=changes,
        breaks_at=start if exact is None else exact,
        breaks_in=section,
        is_exact=exact is not None,
    )


def _change(
    name: str, old: Print | None, new: Print | None, turns: Sequence[Snapshot], before: int, after: int
) -> SectionChange:
    return SectionChange(
        name=name,
        kind="added" if old is None else "removed" if new is None else "changed",
        bytes_before=old.bytes if old else 0,
        bytes_after=new.bytes if new else 0,
        text_before=_text(turns, before, name) if old else None,
        text_after=_text(turns, after, name) if new else None,
    )


def _text(turns: Sequence[Snapshot], at: int, name: str) -> str | None:
    """Find a section's text at a turn: kept then, or at the last turn it changed."""
    wanted = next(each.digest for each in turns[at].sections if each.name == name)
    for turn in reversed(turns[: at + 1]):
        if name in turn.texts and any(each.name == name and each.digest == wanted for each in turn.sections):
            return turn.texts[name]
    return None


def _first_break(old: Sequence[Print], new: Sequence[Print]) -> tuple[int, str] | None:
    """Find the first section that is not the same, and where it begins."""
    for was, now in zip(old, new, strict=False):
        if (was.name, was.start, was.digest) != (now.name, now.start, now.digest):
            return min(was.start, now.start), now.name
    if len(old) == len(new):
        return None
    longer = old if len(old) > len(new) else new
    left = longer[min(len(old), len(new))]
    return left.start, left.name


def _exact_break(turns: Sequence[Snapshot], before: int, after: int, start: int) -> int | None:
    """Find the exact byte: measured when the turns were built, or seen in texts kept under DEBUG."""
    kept = [turn.kept_bytes for turn in turns[before + 1 : after + 1]]
    known = [each for each in kept if each is not None]
    # With one smallest value, two prompts share exactly that much; with two, they may share more.
    if before < after and len(known) == len(kept) and known.count(min(known)) == 1:
        return min(known)
    section = next((each for each in turns[after].sections if each.start == start), None)
    if section is None or all(each.name != section.name for each in turns[before].sections):
        return None
    old, new = _text(turns, before, section.name), _text(turns, after, section.name)
    return None if old is None or new is None else start + count_common(old.encode(), new.encode())

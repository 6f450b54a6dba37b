"""Fold the entries of the audit log into calls: each call once, with all that happened to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from shipmate.approvals.audit import AuditEntry, Basis

Key: TypeAlias = tuple[str, ...]
DECIDING = ("allowed", "refused", "decided")


class AuditCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One call of the audit log, or a note of the log itself."""

    kind: Literal["call", "note"]
    # The number of its newest entry; a list goes on before it.
    seq: int
    # When it was first recorded.
    at: str
    thread_id: str
    member: str
    tool: str
    what: str
    # The approval's status until it runs; then running, ok, error or interrupted; or refused; a note's event.
    outcome: str
    by: Basis | None
    # The rule, grant, mode or person that decided, in a few words.
    basis: str
    # The person who decided; where none did, the one whose words led to the call.
    who: str
    initiators: tuple[str, ...]
    digest: str
    # Oldest first.
    events: tuple[AuditEntry, ...]


class AuditPage(msgspec.Struct, frozen=True):
    """Some calls, newest first, and whether there are older ones."""

    calls: list[AuditCall]
    has_more: bool = False


def fold(
    entries: Iterable[AuditEntry],
    limit: int,
    *,
    before: int | None = None,
    thread_id: str | None = None,
    since: str = "",
) -> AuditPage:
    """Return up to `limit` calls whose newest entry has a number below `before`, newest first."""
    found: dict[Key, list[AuditEntry]] = {}
    newer: set[Key] = set()
    # Calls whose first entry has not been met yet.
    unopened: set[Key] = set()
    has_more = False
    for entry in _choose(entries, thread_id):
        key = _key(entry)
        if key in newer:
            continue
        if before is not None and entry.seq >= before:
            newer.add(key)
            continue
        if key not in found:
            if entry.at < since or len(found) == limit:
                has_more = has_more or entry.at >= since
                if not unopened:
                    break
                continue
            found[key] = []
            unopened.add(key)
        found[key].append(entry)
        if _opens(entry):
            unopened.discard(key)
    return AuditPage([_make_call(list(reversed(each))) for each in found.values()], has_more)


def _choose(entries: Iterable[AuditEntry], thread_id: str | None) -> Iterator[AuditEntry]:
    return (entry for entry in entries if thread_id is None or entry.thread_id == thread_id)


def _key(entry: AuditEntry) -> Key:
    if not entry.call_id:
        return (str(entry.seq),)
    return entry.thread_id, entry.message_id, entry.call_id


def _opens(entry: AuditEntry) -> bool:
    """Return whether an entry is the first of its call."""
    if entry.event in ("ran", "decided"):
        return False
    return entry.event not in ("allowed", "refused") or entry.approval_id is None


def _make_call(events: list[AuditEntry]) -> AuditCall:
    last = events[-1]
    deciding = next((each for each in reversed(events) if each.event in DECIDING), None)
    return AuditCall(
        kind="call" if last.call_id else "note",
        seq=last.seq,
        at=events[0].at,
        thread_id=last.thread_id,
        member=last.member,
        tool=last.tool,
        what=last.what,
        outcome=_outcome(last),
        by=deciding.by if deciding is not None else None,
        basis=describe_basis(deciding) if deciding is not None else "",
        who=(deciding.who if deciding is not None else None) or ", ".join(last.initiators),
        initiators=last.initiators,
        digest=last.digest,
        events=tuple(events),
    )


def _outcome(last: AuditEntry) -> str:
    match last.event:
        case "ran" | "decided":
            return last.outcome or ""
        case "asked":
            return "requested"
        case "allowed":
            return "running"
        case _:
            return last.event


def describe_basis(entry: AuditEntry) -> str:
    """Return what decided: a rule's text, a grant's id, a mode, a person, or the key of the reason."""
    match entry.by:
        case "rule":
            return entry.rule or ""
        case "grant":
            return entry.grant_id or ""
        case "person":
            return entry.who or ""
        case _:
            # What was tried without effect passed because of the mode `preview`.
            return "preview" if entry.why == "tried" else entry.why or entry.outcome or ""

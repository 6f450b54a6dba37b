"""Calls are folded from the entries of the audit log."""

from __future__ import annotations

import pytest

from shipmate.approvals.audit import AuditEntry
from shipmate.approvals.audit_call import fold

# Newest first, as the log is read: one call a day.
ENTRIES = [
    AuditEntry(event="allowed", seq=day, at=f"2026-03-0{day}", call_id=f"c{day}", thread_id="t")
    for day in range(5, 0, -1)
]


@pytest.mark.parametrize(
    ("limit", "since", "found", "has_more"),
    [
        (9, "", [5, 4, 3, 2, 1], False),
        (5, "", [5, 4, 3, 2, 1], False),
        (3, "", [5, 4, 3], True),
        (9, "2026-03-03", [5, 4, 3], False),
        # What is older than `since` is no more to be had.
        (3, "2026-03-03", [5, 4, 3], False),
        (2, "2026-03-03", [5, 4], True),
        (2, "2026-03-06", [], False),
    ],
)
def test_there_is_more_only_of_what_was_asked_for(
    limit: int, since: str, found: list[int], has_more: bool
) -> None:
    page = fold(ENTRIES, limit, since=since)
    assert ([call.seq for call in page.calls], page.has_more) == (found, has_more)

"""What a process of a fleet does: work threads, lead what one does for all, or only ask."""

from __future__ import annotations

import msgspec

# So many threads a process works at once unless it is told otherwise.
CONCURRENCY = 20


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """The part a process takes."""

    name: str
    works: bool
    # Listens to platforms and sends, where no other process does.
    leads: bool
    # The members it serves; None for all.
    members: tuple[str, ...] | None = None
    concurrency: int = CONCURRENCY


VISITOR = Role(name="visitor", works=False, leads=False)
GATEWAY = Role(name="gateway", works=False, leads=True)
ALL_IN_ONE = Role(name="all-in-one", works=True, leads=True)
WORKER = Role(name="worker", works=True, leads=False)

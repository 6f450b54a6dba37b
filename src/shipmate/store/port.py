"""Define what any store keeps. SQLite implements it here; a fleet's PostgreSQL implements the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from shipmate.values.event import EgressMessage, IngressEvent, Outcome
from shipmate.values.message import JsonObject, UIMessage


class InboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """Hold one accepted event and what became of it."""

    seq: int
    event: IngressEvent
    received_at: str
    status: Literal["waiting", "running", "done", "withdrawn"]
    attempts: int
    run_id: str | None
    outcome: Outcome | None


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """Hold one intended send and its receipt."""

    id: int
    run_id: str
    segment: int
    platform: str
    message: EgressMessage
    created_at: str
    status: Literal["waiting", "sending", "sent", "uncertain", "failed"]
    attempts: int
    receipt: str | None
    error: str | None


class ThreadInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Describe a thread for a list, without its messages."""

    thread_id: str
    title: str
    member: str
    message_count: int
    token_estimate: int
    created_at: str
    last_at: str
    read_at: str | None
    archived: bool
    binned: bool
    settings: JsonObject


class StepUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Record what one step used, and what was estimated before."""

    at: str
    thread_id: str
    member: str
    run_id: str
    step: int
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost: float | None
    estimated_tokens: int
    milliseconds: int


class GrantRow(msgspec.Struct, frozen=True, kw_only=True):
    """Hold a stored grant; `data` is the approvals room's own record."""

    id: str
    data: JsonObject
    created_at: str
    until: str | None
    revoked_at: str | None


class SearchHit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Point at a message that matches."""

    thread_id: str
    message_id: str
    role: str
    at: str
    text: str


class Inbox(Protocol):
    """Keep every event that came in, once."""

    async def accept(self, event: IngressEvent) -> tuple[InboxRow, bool]:
        """Store an event durably; give its row, and whether it is new."""
        ...

    async def open(self, thread_id: str) -> list[InboxRow]:
        """List what waits or was being worked on when a process ended, oldest first."""
        ...

    async def take(self, rows: Sequence[InboxRow], run_id: str, progress: int = 0) -> list[InboxRow]:
        """Mark rows as worked on by a run; give those that were still to be had.

        Their `attempts` say how often the run was begun without getting further than this.
        """
        ...

    async def finish(
        self, rows: Sequence[InboxRow], outcome: Outcome, sends: Sequence[EgressMessage] = ()
    ) -> None:
        """Record the outcome and what must be sent, in one transaction."""
        ...

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Take back an event that still waits."""
        ...

    async def threads(self) -> list[str]:
        """List the threads that have open rows."""
        ...

    async def find(self, platform: str, message_id: str) -> InboxRow | None:
        """Give the row of one event."""
        ...

    async def forget(self, before: str) -> int:
        """Drop finished rows older than a moment; at least eight hours must stay for deduplication."""
        ...


class Outbox(Protocol):
    """Keep every intended send until its receipt."""

    async def next(self, platform: str) -> OutboxRow | None:
        """Claim the oldest waiting send of a platform; it counts as being sent from now on."""
        ...

    async def sent(self, row: OutboxRow, receipt: str) -> None: ...
    async def failed(self, row: OutboxRow, error: str, *, retry: bool) -> None: ...

    async def doubt(self, platform: str) -> int:
        """Mark sends that a dead process left half done as uncertain; they are never repeated blindly."""
        ...

    async def list(self, status: str | None = None) -> list[OutboxRow]: ...


class ThreadIndex(Protocol):
    """Keep the list of threads."""

    async def create(
        self, thread_id: str, *, title: str = "", member: str = "captain", settings: JsonObject | None = None
    ) -> None: ...
    async def note(self, thread_id: str, messages: Sequence[UIMessage], *, member: str = "captain") -> None:
        """Bring the list up to date with a thread's messages."""
        ...

    async def find(self, thread_id: str) -> ThreadInfo | None: ...
    async def list(
        self,
        *,
        query: str = "",
        archived: bool | None = False,
        binned: bool = False,
        before: str | None = None,
        limit: int = 50,
    ) -> list[ThreadInfo]: ...
    async def rename(self, thread_id: str, title: str) -> None: ...
    async def set(
        self,
        thread_id: str,
        *,
        archived: bool | None = None,
        binned: bool | None = None,
        read_at: str | None = None,
        settings: JsonObject | None = None,
    ) -> None: ...
    async def remove(self, thread_id: str) -> None: ...


class Ledger(Protocol):
    """Keep what runs used, which calls were begun, and the signatures of open turns."""

    async def add_usage(self, usage: StepUsage) -> None: ...
    async def usage(self, since: str, thread_id: str | None = None) -> list[StepUsage]: ...
    async def begin_call(self, thread_id: str, message_id: str, call_id: str) -> bool:
        """Claim an acting call; False means it was begun before and must not run again."""
        ...

    async def release_call(self, thread_id: str, message_id: str, call_id: str) -> None:
        """Give a claim back whose call has surely done nothing."""
        ...

    async def has_begun(self, thread_id: str, message_id: str, call_id: str) -> bool: ...
    async def keep_signatures(self, message_id: str, signatures: list[JsonObject]) -> None: ...
    async def signatures(self, message_id: str) -> list[JsonObject]: ...
    async def drop_signatures(self, message_id: str) -> None: ...


class Consents(Protocol):
    """Keep the index of approvals and the grants."""

    async def put_approval(
        self, approval_id: str, thread_id: str, status: str, requested_at: str, expires_at: str | None
    ) -> None: ...
    async def approvals(
        self, *, status: str | None = None, thread_id: str | None = None, limit: int = 500
    ) -> list[str]:
        """List approval ids, newest first."""
        ...

    async def waiting(self) -> dict[str, int]:
        """Count the approvals that wait, by thread."""
        ...

    async def add_grant(self, grant_id: str, data: JsonObject, until: str | None) -> None: ...
    async def grants(self, *, every: bool = False) -> list[GrantRow]:
        """List the grants that were not taken back, over or not, or every one there ever was."""
        ...

    async def revoke_grant(self, grant_id: str) -> bool: ...


class Search(Protocol):
    """Find messages by words, in any language."""

    async def index(self, thread_id: str, messages: Sequence[UIMessage]) -> None:
        """Add messages, replacing what was known of them."""
        ...

    async def find(self, query: str, limit: int = 50) -> list[SearchHit]: ...
    async def drop(self, thread_id: str) -> None: ...
    async def clear(self) -> None: ...


class Store(Protocol):
    """Hold all tables of one workspace."""

    @property
    def inbox(self) -> Inbox: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def threads(self) -> ThreadIndex: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def consents(self) -> Consents: ...
    @property
    def search(self) -> Search: ...
    async def close(self) -> None: ...

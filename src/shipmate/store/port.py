"""Define what any store keeps. Files with an index implement it here; a fleet's PostgreSQL does the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from shipmate.values.event import EgressMessage, IngressEvent, Outcome
from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.sidecar import Sidecar
from shipmate.workspace.layout import CAPTAIN


class InboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted event and what became of it."""

    seq: int
    event: IngressEvent
    received_at: str
    status: Literal["waiting", "running", "done", "withdrawn"]
    # How often its run reached the model and broke off without getting further.
    attempts: int = 0
    run_id: str | None = None
    # A person stopped its run; whoever takes it up ends it instead of going on.
    is_stopped: bool = False
    outcome: Outcome | None = None


def answered_by(rows: Sequence[InboxRow]) -> str:
    """Name what is answered by the run that took rows, or at once; the same whoever answers it."""
    return f"{rows[0].seq} {rows[0].event.message_id}"


SendStatus = Literal["waiting", "sending", "shown", "sent", "uncertain", "held", "failed", "dropped"]


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One intended send and its receipt: a message on a platform, from its preview to its last change."""

    id: int
    run_id: str
    # What it answers, as `answered_by` names it.
    answered: str = ""
    segment: int
    platform: str
    message: EgressMessage
    created_at: str
    # `shown` is a preview whose last words are still to come; `held` is so old that a person is asked first.
    status: SendStatus
    attempts: int
    # The platform's id of the message, as soon as it is known; what follows changes that message.
    receipt: str | None = None
    error: str | None = None
    # Only the beginning of what will be said.
    is_preview: bool = False
    # A preview of it may be there besides: nobody knows whether it arrived.
    has_stray: bool = False
    # What was shown of it was taken away: it is sent anew, under another key.
    is_gone: bool = False
    begun_at: str | None = None
    # A person wants it sent, however old it is.
    is_wanted: bool = False


class ThreadInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A thread as a list shows it, without its messages."""

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

    @property
    def cursor(self) -> str:
        """Return what the next page of a list begins behind."""
        return f"{self.last_at} {self.thread_id}"


class StepUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one step used, and what was estimated before."""

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
    # Where a colleague worked for another member: whoever asked first, and the thread they were asked in.
    asker: str = ""
    payer: str = ""
    # Why rules chose the model, where they did, and who was asked before and did not answer.
    route: str = ""


class GrantRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored grant; `data` is the approvals room's own record."""

    id: str
    data: JsonObject
    created_at: str
    until: str | None
    revoked_at: str | None


class SearchHit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message that matches."""

    thread_id: str
    message_id: str
    role: str
    at: str
    text: str


class Reconciled(msgspec.Struct, frozen=True, kw_only=True):
    """What bringing the index up to date with the files took."""

    threads: int = 0
    messages: int = 0
    # Threads that were read because they differed, and those that were dropped because they have no file.
    changed: int = 0
    dropped: int = 0
    problems: int = 0


class Inbox(Protocol):
    """Every event that came in, once, until its thread shows what became of it; used by the keeper alone."""

    async def load(self) -> None:
        """Read the file anew. Whoever becomes the keeper calls this first; else the first use does."""

    async def accept(self, event: IngressEvent) -> tuple[InboxRow, bool]:
        """Store an event durably by thread, platform and message id; return its row and whether it is new."""
        ...

    async def find(self, event: IngressEvent) -> InboxRow | None:
        """Return the row of an event of the same key, while it is remembered."""
        ...

    async def open(self, thread_id: str) -> list[InboxRow]:
        """List what waits or was being worked on when a process ended, oldest first."""
        ...

    async def threads(self) -> list[str]:
        """List the threads that have open rows."""
        ...

    async def hear(self, row: InboxRow, event: IngressEvent) -> InboxRow:
        """Keep what a spoken message turned out to say, in its place; return the row as it is now."""
        ...

    async def take(self, rows: Sequence[InboxRow], run_id: str) -> list[InboxRow]:
        """Mark rows as worked on by a run; return those that were still to be had."""
        ...

    async def ask(self, run_id: str, progress: int) -> None:
        """Count an attempt: the run asks a model now, having got as far as `progress`."""

    async def leave(self, run_id: str) -> None:
        """Take the last attempt back: the run did not break, its process leaves or its disk refused."""

    async def stop(self, run_id: str) -> None:
        """Put on disk that a person stopped a run."""

    async def withdraw(self, thread_id: str, message_id: str) -> InboxRow | None:
        """Take back an event that still waits, durably; return its row, or None when it goes on."""
        ...

    async def finish(
        self, rows: Sequence[InboxRow], outcome: Outcome, sends: Sequence[EgressMessage] = ()
    ) -> None:
        """Record the outcome and what must be sent, in one step."""
        ...


class Outbox(Protocol):
    """Every intended send until its receipt. One process at a time uses it: the keeper."""

    async def load(self) -> None:
        """Read the file anew, as the inbox does."""

    async def intend(self, run_id: str, answered: str, messages: Sequence[EgressMessage]) -> None:
        """Note what an answer sends, once; what was shown of it as a preview becomes the whole."""

    async def preview(self, run_id: str, answered: str, message: EgressMessage) -> OutboxRow | None:
        """Begin to send a preview, durably, or return the one that was; None once the whole is known."""
        ...

    async def conclude(self, row: OutboxRow, message: EgressMessage) -> None:
        """Put a last word in the place of a preview whose run came to nothing."""

    async def threads(self) -> list[str]:
        """List the threads in which something waits to be sent."""
        ...

    async def open(self, thread_id: str) -> list[OutboxRow]:
        """List what waits to be sent in a thread, oldest first."""
        ...

    async def get(self, send_id: int) -> OutboxRow | None: ...

    async def begin(self, row: OutboxRow) -> OutboxRow:
        """Put on disk that a send begins."""
        ...

    async def shown(self, row: OutboxRow, receipt: str | None, error: str | None = None) -> None:
        """Record what the platform calls a preview; None when it is not there, or with an error may be."""

    async def gone(self, row: OutboxRow) -> OutboxRow:
        """Record that what was shown is not there any more; what follows is sent, not changed."""
        ...

    async def sent(self, row: OutboxRow, receipt: str) -> None: ...
    async def failed(self, row: OutboxRow, error: str, *, retry: bool) -> None: ...

    async def mark(self, row: OutboxRow, status: SendStatus, error: str | None = None) -> None:
        """Record how a send stands otherwise; one that waits again is wanted by a person."""

    async def doubt(self) -> list[OutboxRow]:
        """Mark sends that a dead process left half done as uncertain; they are never repeated blindly."""
        ...

    async def list(self, status: SendStatus | None = None) -> list[OutboxRow]:
        """List sends, oldest first."""
        ...

    async def in_thread(self, thread_id: str, limit: int = 200) -> list[OutboxRow]:
        """List the last sends of a thread, oldest first."""
        ...


class ThreadIndex(Protocol):
    """The list of threads and their marks; a thread is listed while it has a file."""

    async def create(
        self,
        thread_id: str,
        *,
        title: str = "",
        member: str = CAPTAIN,
        settings: JsonObject | None = None,
        is_new: bool = False,
    ) -> None:
        """Put the marks of a new thread on disk; `note` lists it once its file is there.

        One that `is_new` has no words yet, so that its file may be empty.
        """
        ...

    async def note(self, thread_id: str, messages: Sequence[UIMessage], *, member: str = CAPTAIN) -> None:
        """Bring list and search up to date with all messages of a thread, by whoever holds it.

        What changed is found by the rows that were appended since the last time. A thread without marks
        gets them when its member is not the captain.
        """
        ...

    async def refresh(self, thread_id: str) -> None:
        """Bring list and search up to date with a thread's file: there, in the bin, or gone."""

    async def catch_up(self) -> None:
        """Bring what could not be read when it changed up to date, once it can be."""

    async def find(self, thread_id: str) -> ThreadInfo | None: ...
    async def list(
        self,
        *,
        query: str = "",
        archived: bool | None = False,
        binned: bool = False,
        before: str | None = None,
        limit: int = 50,
        viewer: str | None = None,
    ) -> list[ThreadInfo]:
        """List threads, the one that changed last first; `before` is the `cursor` of the last one seen.

        Of a `viewer` those alone whose setting `owner` is it, or whose `sharedWith` has it.
        """
        ...

    async def rename(self, thread_id: str, title: str) -> None: ...
    async def set(
        self,
        thread_id: str,
        *,
        archived: bool | None = None,
        read_at: str | None = None,
        settings: JsonObject | None = None,
    ) -> None: ...
    async def remove(self, thread_id: str) -> None:
        """Take back the marks of a thread that came to nothing."""


class Ledger(Protocol):
    """What runs used, and what stands beside the rows of courses."""

    async def add_usage(self, usage: StepUsage) -> None: ...
    async def usage(
        self, since: str, thread_id: str | None = None, run_id: str | None = None
    ) -> list[StepUsage]:
        """List the steps since a time, oldest first: all, or those of a thread or of one of its runs."""
        ...

    async def sidecars(self, thread_id: str) -> Mapping[str, Sidecar]:
        """Return what stands beside the messages of a thread's course, by message id."""
        ...

    async def keep_context(self, thread_id: str, message_id: str, context: str) -> None: ...
    async def keep_signatures(
        self, thread_id: str, message_id: str, step: int, signatures: list[JsonObject]
    ) -> None: ...
    async def copy_sidecars(self, source: str, target: str, message_ids: Collection[str]) -> None:
        """Put beside the messages of a copied thread what stands beside them in the one it is of."""

    async def drop_sidecars(self, thread_id: str) -> None:
        """Forget what stands beside the messages of a course that ended."""


class Consents(Protocol):
    """The index of approvals and the grants."""

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
    """Search for messages by words, in any language. `ThreadIndex.note` and `refresh` keep it up to date."""

    async def find(
        self, query: str, limit: int = 50, viewer: str | None = None, within: str = ""
    ) -> list[SearchHit]: ...


class Store(Protocol):
    """What one workspace keeps beside its threads."""

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

    def revision(self) -> bytes:
        """Return what differs once anything that is listed changed, by whichever process."""
        ...

    async def settle(self) -> None:
        """Put on disk what a process wrote that ended before it had waited for it; others build on it now."""

    async def reconcile(
        self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False
    ) -> Reconciled:
        """Compare the index with the files and bring it up to date, or make it anew.

        The event loop goes on meanwhile; `progress` is told how many threads of how many are done.
        """
        ...

    async def close(self) -> None: ...

"""Describe answers about threads, approvals and prompts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from shipmate.server.shape import Shape


class Problem(Shape):
    """Why a request was refused, and what to do next."""

    code: str
    message: str
    next: str
    id: str | None = None
    version: str | None = None


class ProblemReply(Shape):
    """The problem, wrapped as in every refusal."""

    error: Problem


class ThreadMade(Shape):
    """The new thread."""

    thread_id: str
    messages: int = 0
    text: str = ""


class Thread(Shape):
    """A thread as a list shows it."""

    id: str
    title: str
    platform: str
    member: str
    message_count: int
    token_estimate: int
    created_at: str
    last_at: str
    archived: bool
    binned: bool
    unread: bool
    running: bool
    pending_approvals: int


class Threads(Shape):
    """Threads, newest first."""

    threads: list[Thread]
    next: str | None


class Messages(Shape):
    """A page of messages, oldest first."""

    messages: list[dict[str, Any]]
    has_more: bool
    problems: list[str]
    running: bool
    hide_priming: bool


class Stopped(Shape):
    """Whether something was stopped."""

    stopped: bool


class RunFile(Shape):
    """A file that a run changed, and what keeps it from being put back."""

    path: str
    change: Literal["added", "changed", "removed"]
    obstacle: Literal["", "changed-since", "not-kept"]


class RunChanges(Shape):
    """The files a run changed."""

    run_id: str
    thread_id: str
    at: str
    tools: list[str]
    files: list[RunFile]
    can_rewind: bool
    is_rewound: bool


class Accepted(Shape):
    """The id of the accepted message."""

    message_id: str


class PinReply(Shape):
    """A pinned fact, when and by whom it was pinned, and the message it was taken from."""

    number: int
    text: str
    at: str
    by: str
    source: str | None


class PinsReply(Shape):
    """What is pinned, oldest first, and the texts that will be once the run has ended."""

    pins: list[PinReply]
    waiting: list[str]


class Noted(Shape):
    """What came of a course to open or a pin; what waits is done when the run has ended."""

    message_id: str
    waits: bool
    course: int | None
    pin: PinReply | None
    say: str | None


class Queued(Shape):
    """A message that waits."""

    message_id: str
    text: str
    at: str


class Queue(Shape):
    """What waits, oldest first."""

    queue: list[Queued]


class Hit(Shape):
    """A found message."""

    thread_id: str
    title: str
    message_id: str
    role: str
    snippet: str
    at: str


class Hits(Shape):
    """Found messages."""

    hits: list[Hit]


class Scope(Shape):
    """An answer that holds longer than once, with exactly what it covers."""

    scope: str
    covers: str
    # None is the very call, with all its arguments.
    rule: str | None


class Length(Shape):
    """How long the text is that a person must look at."""

    lines: int
    characters: int


class Approval(Shape):
    """A question put to a person."""

    id: str
    status: str
    thread_id: str
    tool: str
    input: dict[str, Any]
    preview: str | None
    # The folder the call works in.
    folder: str
    # Where the path of the call really leads, when links lead it elsewhere.
    leads_to: str | None
    length: Length
    member: str
    # The longer answers that would hold; none is offered that would not.
    scopes: list[Scope]
    wording: str
    reason: str
    requested_at: str
    expires_at: str | None
    decided_at: str | None
    decided_by: str | None
    words: str | None


class Approvals(Shape):
    """Approvals, newest first."""

    approvals: list[Approval]


class Ruled(Shape):
    """What became of a decision."""

    approval: Approval
    say: str | None


class Grant(Shape):
    """A stored answer that covers more than one call."""

    id: str
    tool: str
    pattern: str | None
    wording: str
    scope: str
    thread_id: str | None
    granted_by: str
    granted_at: str
    expires_at: str | None


class Grants(Shape):
    """The grants in force."""

    grants: list[Grant]


class AuditEvent(Shape):
    """One thing that happened to a call; which fields it has depends on the event."""

    event: str
    at: str
    seq: int
    by: str | None = None
    why: str | None = None
    reason: str | None = None
    rule: str | None = None
    grant_id: str | None = None
    approval_id: str | None = None
    who: str | None = None
    where: str | None = None
    words: str | None = None
    shown: str | None = None
    outcome: str | None = None


class AuditEntry(Shape):
    """One call that acted or was refused, with its history; or a note of the log itself."""

    kind: str
    seq: int
    at: str
    thread_id: str
    member: str
    tool: str
    what: str
    outcome: str
    by: str | None
    basis: str
    who: str
    initiators: list[str]
    digest: str
    events: list[AuditEvent]


class AuditBreak(Shape):
    """A place where the log is not what was written."""

    file: str
    line: int
    message: str


class Verified(Shape):
    """Whether the log is as it was written."""

    holds: bool
    entries: int
    breaks: list[AuditBreak]
    torn: int


class Audit(Shape):
    """The calls that acted or were refused, newest first."""

    entries: list[AuditEntry]
    next: int | None
    verified: Verified


class ContextSection(Shape):
    """One section of a prompt, with its cost and reason."""

    name: str
    title: str
    text: str
    source: str
    stability: str
    bytes: int
    tokens: int
    included: bool
    reason: str


class ContextHistory(Shape):
    """What the conversation adds."""

    messages: int
    bytes: int
    tokens: int


class ContextTool(Shape):
    """What one tool adds."""

    name: str
    bytes: int
    tokens: int


class ContextTools(Shape):
    """What the tools add."""

    count: int
    bytes: int
    tokens: int
    items: list[ContextTool]


class ContextTurn(Shape):
    """A turn whose prompt is known."""

    turn: int
    at: str
    message_id: str
    text: str


class ContextChange(Shape):
    """What happened to one section between two turns."""

    name: str
    change: Literal["changed", "added", "removed"]
    diff: str
    bytes_before: int
    bytes_after: int
    is_known: bool


class ContextDiff(Shape):
    """The prompts of two turns, compared."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    sections: list[ContextChange]
    unchanged_bytes: int
    total_bytes: int
    breaks_in: str


class Context(Shape):
    """A prompt, section by section."""

    profile: str
    member: str
    sections: list[ContextSection]
    history: ContextHistory
    tools: ContextTools
    stable_bytes: int
    system_bytes: int
    total_bytes: int
    total_tokens: int
    turns: list[ContextTurn]

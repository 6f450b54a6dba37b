"""Describe answers for /openapi.json. Nothing here is loaded before someone asks for the description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from shipmate.server.shape import Shape


class Problem(Shape):
    """Say why a request was refused, and what to do next."""

    code: str
    message: str
    next: str
    id: str | None = None
    version: str | None = None


class ProblemReply(Shape):
    """Wrap the problem, as every refusal does."""

    error: Problem


class Workspace(Shape):
    """Name the workspace."""

    name: str
    has_agent: bool


class ModelName(Shape):
    """Name the model that answers."""

    name: str
    is_rehearsal: bool


class Member(Shape):
    """Describe a member."""

    id: str
    name: str
    description: str
    kind: str


class Session(Shape):
    """Tell the page what it needs at its start."""

    csrf: str
    language: str
    mode: str
    version: str
    workspace: Workspace
    model: ModelName
    members: list[Member]


class Localized(Shape):
    """Hold the same words in both languages."""

    en: str
    zh: str


class Example(Shape):
    """Offer an Agent.md to begin with."""

    id: str
    name: str
    title: Localized
    description: Localized
    text: str


class SetupOffer(Shape):
    """List the examples."""

    has_agent: bool
    examples: list[Example]


class SetupReply(Shape):
    """Tell what was made."""

    workspace: Workspace


class KeyTestReply(Shape):
    """Tell whether the provider answered."""

    ok: bool
    ms: int
    model: str = ""
    reply: str = ""
    code: str | None = None
    message: str | None = None


class Settings(Shape):
    """Show the configuration without its secrets."""

    config: dict[str, Any]
    model: ModelName
    key_hint: dict[str, Any]


class Finding(Shape):
    """Say how one thing stands."""

    level: Literal["ok", "warn", "error"]
    subject: str
    message: str
    fix: str


class Findings(Shape):
    """List what the doctor found."""

    findings: list[Finding]


class ThreadMade(Shape):
    """Name the new thread."""

    thread_id: str
    messages: int = 0
    text: str = ""


class Thread(Shape):
    """Describe a thread for a list."""

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
    """List threads, newest first."""

    threads: list[Thread]
    next: str | None


class Messages(Shape):
    """Give a page of messages, oldest first."""

    messages: list[dict[str, Any]]
    has_more: bool
    problems: list[str]
    running: bool
    hide_priming: bool


class Stopped(Shape):
    """Tell whether something was stopped."""

    stopped: bool


class Accepted(Shape):
    """Name the accepted message."""

    message_id: str


class Queued(Shape):
    """Show a message that waits."""

    message_id: str
    text: str
    at: str


class Queue(Shape):
    """List what waits, oldest first."""

    queue: list[Queued]


class Hit(Shape):
    """Point at a found message."""

    thread_id: str
    title: str
    message_id: str
    role: str
    snippet: str
    at: str


class Hits(Shape):
    """List found messages."""

    hits: list[Hit]


class Approval(Shape):
    """Show a question put to a person."""

    id: str
    status: str
    thread_id: str
    tool: str
    input: dict[str, Any]
    preview: str | None
    wording: str
    reason: str
    requested_at: str
    expires_at: str | None
    decided_at: str | None
    decided_by: str | None
    words: str | None


class Approvals(Shape):
    """List approvals, newest first."""

    approvals: list[Approval]


class Ruled(Shape):
    """Tell what became of a decision."""

    approval: Approval
    say: str | None


class Grant(Shape):
    """Show a stored answer that covers more than one call."""

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
    """List the grants in force."""

    grants: list[Grant]


class Script(Shape):
    """Show a priming script in a list."""

    script_ref: str
    slug: str
    title: str | None
    path: str
    records: int
    applicable_member_ids: list[str]
    updated_at: str
    used_at: str | None


class Scripts(Shape):
    """List priming scripts, and what is wrong with those that cannot be read."""

    scripts: list[Script]
    problems: list[str]


class ScriptText(Shape):
    """Give one priming script, and every mistake in it."""

    script_ref: str
    title: str | None
    path: str
    text: str
    records: int
    problems: list[str]


class ScriptSaved(Shape):
    """Name the written script."""

    path: str
    script_ref: str
    records: int


class DocumentInfo(Shape):
    """Show a document in a list."""

    name: str
    exists: bool
    bytes: int
    version: str | None
    updated_at: str | None


class Documents(Shape):
    """List documents."""

    files: list[DocumentInfo]


class DocumentText(Shape):
    """Give a document and the version a later write must name."""

    name: str
    text: str
    version: str


class DocumentSaved(Shape):
    """Name the new version."""

    version: str


class RevisionText(Shape):
    """Give an earlier text."""

    version: str
    at: str
    bytes: int
    text: str


class Revisions(Shape):
    """List earlier texts, newest first."""

    versions: list[RevisionText]


class Upload(Shape):
    """Describe a kept file."""

    url: str
    media_type: str
    filename: str
    bytes: int


class Members(Shape):
    """List the members."""

    members: list[Member]


class Health(Shape):
    """Say that the server lives."""

    status: Literal["ok"]


class Used(Shape):
    """Add up what models used; no cost when a price is unknown."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    milliseconds: int
    cost: float | None
    unpriced: int


class UsedDay(Used):
    """Add up one day."""

    day: str


class UsedModel(Used):
    """Add up one model."""

    model: str


class Usage(Shape):
    """Add up use by day and by model."""

    days: list[UsedDay]
    models: list[UsedModel]
    total: Used


class AuditEntry(Shape):
    """Record one thing that was asked or decided."""

    at: str
    kind: str
    thread_id: str
    tool: str
    who: str
    what: str
    outcome: str


class Audit(Shape):
    """List what was asked and decided, newest first."""

    entries: list[AuditEntry]


class Skill(Shape):
    """Describe a skill."""

    name: str
    title: str
    description: str
    always: bool
    available: bool
    missing: list[str]
    source: str
    text: str | None = None


class Skills(Shape):
    """List the skills."""

    skills: list[Skill]


class Task(Shape):
    """Show a task file."""

    id: str
    title: str
    text: str
    updated_at: str


class Tasks(Shape):
    """List the tasks."""

    tasks: list[Task]


class ContextSection(Shape):
    """Show one section of a prompt, with its cost and reason."""

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
    """Count what the conversation adds."""

    messages: int
    bytes: int
    tokens: int


class ContextTool(Shape):
    """Count what one tool adds."""

    name: str
    bytes: int
    tokens: int


class ContextTools(Shape):
    """Count what the tools add."""

    count: int
    bytes: int
    tokens: int
    items: list[ContextTool]


class ContextTurn(Shape):
    """Name a turn whose prompt is known."""

    turn: int
    at: str
    message_id: str
    text: str


class ContextChange(Shape):
    """Show what happened to one section between two turns."""

    name: str
    change: Literal["changed", "added", "removed"]
    diff: str
    bytes_before: int
    bytes_after: int
    is_known: bool


class ContextDiff(Shape):
    """Compare the prompts of two turns."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    sections: list[ContextChange]
    unchanged_bytes: int
    total_bytes: int
    breaks_in: str


class MemoryFile(Shape):
    """Show a memory file in a list."""

    path: str
    bytes: int
    version: str
    updated_at: str


class MemoryFiles(Shape):
    """List the memory files."""

    files: list[MemoryFile]


class Context(Shape):
    """Show a prompt."""

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

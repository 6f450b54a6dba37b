"""Describe answers about the workspace and the server."""

from __future__ import annotations

from typing import Any, Literal

from shipmate.server.shape import Shape


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


class MemoryFile(Shape):
    """Show a memory file in a list."""

    path: str
    bytes: int
    version: str
    updated_at: str


class MemoryFiles(Shape):
    """List the memory files."""

    files: list[MemoryFile]

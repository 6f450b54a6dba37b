"""Describe answers about the workspace and the server."""

from __future__ import annotations

from typing import Any, Literal

from shipmate.server.shape import Shape


class Workspace(Shape):
    """The workspace's name, and whether it has a member."""

    name: str
    has_agent: bool


class ModelName(Shape):
    """The model that answers."""

    name: str
    is_rehearsal: bool


class Member(Shape):
    """A member."""

    id: str
    name: str
    description: str
    kind: str


class Session(Shape):
    """What the page needs at its start."""

    csrf: str
    language: str
    mode: str
    version: str
    workspace: Workspace
    model: ModelName
    members: list[Member]


class Localized(Shape):
    """The same words in both languages."""

    en: str
    zh: str


class Example(Shape):
    """An Agent.md to begin with."""

    id: str
    name: str
    title: Localized
    description: Localized
    text: str


class SetupOffer(Shape):
    """The examples on offer."""

    has_agent: bool
    examples: list[Example]


class SetupReply(Shape):
    """What was made."""

    workspace: Workspace


class KeyTestReply(Shape):
    """Whether the provider answered."""

    ok: bool
    ms: int
    model: str = ""
    reply: str = ""
    code: str | None = None
    message: str | None = None


class Settings(Shape):
    """The configuration without its secrets."""

    config: dict[str, Any]
    model: ModelName
    key_hint: dict[str, Any]


class Finding(Shape):
    """How one thing stands."""

    level: Literal["ok", "warn", "error"]
    subject: str
    message: str
    fix: str


class Findings(Shape):
    """What the doctor found."""

    findings: list[Finding]


class Script(Shape):
    """A priming script as a list shows it."""

    script_ref: str
    slug: str
    title: str | None
    path: str
    records: int
    applicable_member_ids: list[str]
    updated_at: str
    used_at: str | None


class Scripts(Shape):
    """Priming scripts, and what is wrong with those that cannot be read."""

    scripts: list[Script]
    problems: list[str]


class ScriptText(Shape):
    """One priming script, and every mistake in it."""

    script_ref: str
    title: str | None
    path: str
    text: str
    records: int
    problems: list[str]


class ScriptSaved(Shape):
    """Where the script was written."""

    path: str
    script_ref: str
    records: int


class DocumentInfo(Shape):
    """A document as a list shows it."""

    name: str
    exists: bool
    bytes: int
    version: str | None
    updated_at: str | None


class Documents(Shape):
    """The documents."""

    files: list[DocumentInfo]


class DocumentText(Shape):
    """A document and the version a later write must name."""

    name: str
    text: str
    version: str


class DocumentSaved(Shape):
    """The new version of a document."""

    version: str


class RevisionText(Shape):
    """An earlier text."""

    version: str
    at: str
    bytes: int
    text: str


class Revisions(Shape):
    """Earlier texts, newest first."""

    versions: list[RevisionText]


class Upload(Shape):
    """A kept file."""

    url: str
    media_type: str
    filename: str
    bytes: int


class Members(Shape):
    """The members."""

    members: list[Member]


class Health(Shape):
    """The server's sign of life."""

    status: Literal["ok"]


class Used(Shape):
    """The sum of what models used; no cost when a price is unknown."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    milliseconds: int
    cost: float | None
    unpriced: int


class UsedDay(Used):
    """The sum of one day."""

    day: str


class UsedModel(Used):
    """The sum of one model."""

    model: str


class Usage(Shape):
    """The use of models, by day and by model."""

    days: list[UsedDay]
    models: list[UsedModel]
    total: Used


class Skill(Shape):
    """A skill as a list shows it."""

    name: str
    title: str
    description: str
    always: bool
    available: bool
    missing: list[str]
    source: str
    location: str
    for_model: bool
    for_people: bool
    allowed_tools: list[str]
    problems: list[str]
    text: str | None = None


class Skills(Shape):
    """The skills."""

    skills: list[Skill]


class Task(Shape):
    """A task file."""

    id: str
    title: str
    text: str
    updated_at: str


class Tasks(Shape):
    """The tasks."""

    tasks: list[Task]


class MemoryFile(Shape):
    """A memory file as a list shows it."""

    path: str
    bytes: int
    version: str
    updated_at: str


class MemoryFiles(Shape):
    """The memory files."""

    files: list[MemoryFile]

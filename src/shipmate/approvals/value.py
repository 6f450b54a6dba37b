"""Hold the values of the room: the call judged, the verdict, the approval, the answer and the grant."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from shipmate.tools.tool import Tool, ToolContext
from shipmate.values.message import JsonObject
from shipmate.values.reason import Why

Action = Literal["allow", "ask", "deny"]
Status = Literal["requested", "approved", "denied", "expired", "superseded"]
GrantScope = Literal["thread", "member"]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Hold one tool call that a model wants made."""

    call_id: str
    message_id: str
    tool: Tool[Any]
    arguments: Any
    raw: JsonObject
    context: ToolContext
    # True once untrusted content has entered the run.
    tainted: bool = False
    # What lets it run: the verdict of policy, or the question a person said yes to.
    verdict: Verdict | None = None
    approval: Approval | None = None

    @property
    def folder(self) -> str:
        return str(self.context.folder)

    @property
    def digest(self) -> str:
        """Give the hash a decision is bound to."""
        return hash_call(self.tool.name, self.raw, self.folder)


def hash_call(tool: str, arguments: JsonObject, folder: str) -> str:
    """Hash a tool, its arguments and the working folder; equal calls have equal hashes."""
    canonical = msgspec.json.encode([tool, arguments, folder], order="deterministic")
    return hashlib.sha256(canonical).hexdigest()


class Verdict(msgspec.Struct, frozen=True):
    """Say what policy makes of a call, and why."""

    action: Action
    reason: str
    grant_id: str | None = None
    why: Why | None = None
    # The text of the rule that decided.
    rule: str | None = None


class Ruling(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Record who decided, when, where and in which words."""

    by: str
    at: str
    platform: str
    thread_id: str
    message_id: str
    words: str
    reason: str | None = None
    grant_id: str | None = None


class Proposal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Remember an approval that a model read into unclear words, until the person confirms it."""

    by: str
    at: str
    message_id: str
    words: str


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Hold one question put to a person; it is stored as `.ship/approvals/<id>.json` and never deleted."""

    id: str
    status: Status
    thread_id: str
    member: str
    run_id: str
    call_id: str
    message_id: str
    # How people refer to it while several wait in the thread.
    number: int
    tool: str
    input: JsonObject
    folder: str
    digest: str
    # What the call would do, whole; None means it cannot be shown and so cannot be approved.
    preview: str | None
    reason: str
    initiator: str
    requested_at: str
    expires_at: str
    ruling: Ruling | None = None
    proposed: Proposal | None = None
    superseded_by: str | None = None

    @property
    def is_open(self) -> bool:
        return self.status == "requested"

    def has_expired(self, now: str) -> bool:
        """Tell whether its time to be answered is over."""
        return self.is_open and now >= self.expires_at


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Tell the loop what was decided about one call."""

    approval_id: str
    call_id: str
    message_id: str
    approved: bool
    reason: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Say what a person's message did: decisions, words back, and whether it was an answer at all."""

    decisions: list[Decision] = []
    say: str | None = None
    consumed: bool = False


class Grant(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Hold a stored answer that covers more than one call."""

    id: str
    tool: str
    # A command, path or host, exactly; None together with a digest binds to one call's very arguments.
    pattern: str | None = None
    digest: str | None = None
    scope: GrantScope
    member: str
    thread_id: str | None = None
    granted_by: str
    granted_at: str
    expires_at: str | None = None
    words: str = ""
    approval_id: str | None = None

    @property
    def rule(self) -> str:
        """Write the grant as a rule of ship.json would be."""
        return f"{self.tool}({self.pattern})" if self.pattern is not None else f"{self.tool}(this very call)"


class Suggestion(msgspec.Struct, frozen=True):
    """Carry what a model takes an unclear reply to mean."""

    approved: bool
    approval_ids: tuple[str, ...]


def decision_of(approval: Approval) -> Decision:
    """Give the decision an approval that is no longer open amounts to."""
    reason = approval.ruling.reason if approval.ruling else approval.status
    return Decision(
        approval_id=approval.id,
        call_id=approval.call_id,
        message_id=approval.message_id,
        approved=approval.status == "approved",
        reason=reason,
    )

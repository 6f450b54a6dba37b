"""Hold the values of the room: the call judged, the verdict, the approval, the answer and the grant."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from shipmate.tools.tool import Picture, Tool, ToolContext
from shipmate.values.message import JsonObject
from shipmate.values.reason import Why

Action = Literal["allow", "ask", "deny"]
Status = Literal["requested", "approved", "denied", "expired", "superseded"]
GrantScope = Literal["thread", "member"]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call that a model wants made."""

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
    def call_digest(self) -> str:
        """Return the hash that grants of this very call are bound to."""
        return hash_call(self.tool.name, self.raw, self.folder)

    def bind(self, target: JsonObject) -> str:
        """Return the hash a decision is bound to: of the call, and of what it acts on as it was shown."""
        return hash_call(self.tool.name, self.raw, self.folder, target)


def hash_call(tool: str, arguments: JsonObject, folder: str, target: JsonObject | None = None) -> str:
    """Hash a tool, its arguments, the working folder and, where given, the target it was shown with."""
    call = [tool, arguments, folder, *([] if target is None else [target])]
    return hashlib.sha256(msgspec.json.encode(call, order="deterministic")).hexdigest()


class Verdict(msgspec.Struct, frozen=True):
    """What policy makes of a call, and why."""

    action: Action
    # Without a key where the words of an error are all there is to say.
    why: Why = Why("")
    grant_id: str | None = None
    # The text of the rule of ship.json that decided.
    rule: str | None = None
    # A rule may speak of what the command reads: a person is asked before it is even tried.
    by_words: bool = False
    # Why, in the words of the member's language.
    reason: str = ""
    # What to show a person where they are asked.
    picture: Picture | None = None


class Coverage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an answer that holds longer than once would let through."""

    # As a rule of ship.json would be written; None is this very call with all its arguments.
    rule: str | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who decided, when, where and in which words."""

    by: str
    at: str
    platform: str
    thread_id: str
    message_id: str
    words: str
    reason: str | None = None
    grant_id: str | None = None


class Proposal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An approval that a model read into unclear words, kept until the person confirms it."""

    by: str
    at: str
    message_id: str
    words: str


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One question put to a person; it is stored as `.ship/approvals/<id>.json` and never deleted."""

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
    requested_at: str
    expires_at: str
    # What `reason` says, for those who read another language.
    why: Why = Why("")
    # The people whose words are in the turn, by their ids; `platform:id` for one of another platform.
    initiators: tuple[str, ...] = ()
    # How the question is worded: plain, brief or warm.
    tone: str = "plain"
    # As files had it that knew one only.
    initiator: str = ""
    # The key files have had from the beginning.
    decision: Decision | None = msgspec.field(default=None, name="ruling")
    proposed: Proposal | None = None
    # What the call acts on, and how that stood when it was shown.
    target: JsonObject = {}
    # None means that a longer answer would not hold, and so is not offered.
    coverage: Coverage | None = None
    # How often this call has been put to a person; each change of its target puts it anew.
    round: int = 1
    superseded_by: str | None = None

    def __post_init__(self) -> None:
        if self.initiator:
            msgspec.structs.force_setattr(self, "initiators", self.initiators or (self.initiator,))
            msgspec.structs.force_setattr(self, "initiator", "")

    @property
    def call_digest(self) -> str:
        """Return the hash that grants of this very call are bound to."""
        return hash_call(self.tool, self.input, self.folder)

    @property
    def is_open(self) -> bool:
        return self.status == "requested"

    def has_expired(self, now: str) -> bool:
        """Return whether its time to be answered is over."""
        return self.is_open and now >= self.expires_at


class DecidedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about one call, as the loop is told it."""

    approval_id: str
    call_id: str
    message_id: str
    approved: bool
    reason: str | None = None


class ReplyEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a person's message did: decisions, words back, and whether it was an answer at all."""

    decisions: list[DecidedCall] = []
    # Also where it was no answer: what would have been one.
    say: str | None = None
    consumed: bool = False
    # A person stopped the model that was to suggest a reading.
    stopped: bool = False


class Grant(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A stored answer that covers more than one call."""

    id: str
    tool: str
    # A command or path, exactly; None binds to one call's very arguments alone.
    pattern: str | None = None
    # The beginning of the command, path or address it was given for, for people to know it by.
    what: str = ""
    # The call it was given for, arguments included.
    digest: str | None = None
    # What a foreign tool said it was, as a hash; our own tools mean what they always do.
    meaning: str | None = None
    scope: GrantScope
    member: str
    thread_id: str | None = None
    granted_by: str
    granted_at: str
    expires_at: str | None = None
    words: str = ""
    approval_id: str | None = None

    def is_in_force(self, now: str) -> bool:
        """Return whether it holds at this time: a window only within it, so not before it was given."""
        return self.expires_at is None or self.granted_at <= now < self.expires_at

    @property
    def rule(self) -> str:
        """Write the grant as a rule of ship.json would be."""
        return name_rule(self.tool, self.pattern)


def name_rule(tool: str, pattern: str | None) -> str:
    """Write what a grant covers as a rule of ship.json would be."""
    return f"{tool}({pattern})" if pattern is not None else f"{tool}(this very call)"


class Suggestion(msgspec.Struct, frozen=True):
    """What a model takes an unclear reply to mean."""

    approved: bool
    approval_ids: tuple[str, ...]


def decision_of(approval: Approval) -> DecidedCall:
    """Return the decision an approval that is no longer open amounts to."""
    reason = approval.decision.reason if approval.decision else approval.status
    return DecidedCall(
        approval_id=approval.id,
        call_id=approval.call_id,
        message_id=approval.message_id,
        approved=approval.status == "approved",
        reason=reason,
    )

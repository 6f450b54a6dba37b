"""Make grants from approvals: never broader than the call a person saw or the words they named."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from shipmate.approvals.policy.rule import parse_rules
from shipmate.approvals.policy.subject import CommandSubject, HostSubject, PathSubject, find_subject
from shipmate.approvals.reply.naming import calls_by_name, names_of
from shipmate.approvals.reply.reading import Span
from shipmate.approvals.value import Approval, Grant, GrantScope, name_rule
from shipmate.tools.exec.command import plan_command
from shipmate.values.message import JsonObject, new_id, timestamp
from shipmate.values.reason import Why
from shipmate.values.reveal import reveal_line

WINDOW_LIMIT_DAYS = 7
WHAT_LIMIT = 80


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """For how long and by whom consent is given."""

    span: Span
    minutes: int | None
    by: str
    words: str
    at: datetime

    @property
    def is_too_long(self) -> bool:
        return self.minutes is not None and self.minutes > WINDOW_LIMIT_DAYS * 24 * 60


def make_grant(approval: Approval, named: str, lease: Lease) -> Grant | Why | None:
    """Return the grant that consent amounts to, None for consent to one call, or why there can be none."""
    if lease.span == "once":
        return None
    pattern = _pattern(approval, named)
    # `allow git status` for a waiting `git status -s` grants what was said, not what waits.
    is_this_call = pattern is None or pattern == _pattern(approval, approval.tool)
    if isinstance(pattern, Why):
        return pattern
    scope: GrantScope = "member" if lease.span == "always" else "thread"
    until = timestamp(lease.at + timedelta(minutes=lease.minutes)) if lease.minutes else None
    grant = Grant(
        id=new_id("grant"),
        tool=approval.tool,
        pattern=pattern,
        what=reveal_line(names_of(approval)[0], WHAT_LIMIT),
        digest=approval.call_digest if is_this_call else None,
        meaning=approval.target.get("meaning"),
        scope=scope,
        member=approval.member,
        thread_id=approval.thread_id if scope == "thread" else None,
        granted_by=lease.by,
        granted_at=timestamp(lease.at),
        expires_at=until,
        words=lease.words,
        approval_id=approval.id,
    )
    return grant if pattern is None or _names_one(grant.rule) else Why("no-path-grant")


def describe_scope(approval: Approval) -> str | None:
    """Return exactly what a grant for this call would cover, as a rule; None when it cannot be granted."""
    pattern = _pattern(approval, approval.tool)
    if isinstance(pattern, Why):
        return None
    rule = name_rule(approval.tool, pattern)
    return rule if pattern is None or _names_one(rule) else None


def _pattern(approval: Approval, named: str) -> str | Why | None:
    """Return the exact command or path a grant may name; None binds it to the very arguments."""
    match find_subject(approval.tool, approval.input, Path(approval.folder)):
        case CommandSubject() if _goes_beyond_words(approval.input):
            return None
        case CommandSubject(text=text):
            said = named != approval.tool and calls_by_name(named, text)
            wanted = (named if said else text).strip()
            # What needs a shell is more than its words: only that very text is granted.
            return wanted if plan_command(wanted, Path(approval.folder)).words is not None else None
        case PathSubject(real=real) if real is not None:
            return "/".join(real)
        case PathSubject(text=text):
            return Why("outside", text)
        # An address is more than its host: it can carry data out.
        case HostSubject() | None:
            return None


def _goes_beyond_words(arguments: JsonObject) -> bool:
    """Return whether a command asks for what its words do not say: the network, or private variables."""
    return bool(arguments.get("network") or arguments.get("variables"))


def _names_one(rule: str) -> bool:
    rules, _ = parse_rules([rule])
    return bool(rules) and rules[0].is_exact

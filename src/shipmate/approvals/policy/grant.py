"""Make grants from approvals: never broader than the call a person saw or the words they named."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from shipmate.approvals.policy.program import refuse_program
from shipmate.approvals.policy.rule import parse_rules
from shipmate.approvals.policy.subject import CommandSubject, HostSubject, PathSubject, find_subject
from shipmate.approvals.reply.naming import calls_by_name
from shipmate.approvals.reply.reading import Span
from shipmate.approvals.value import Approval, Grant, GrantScope
from shipmate.tools.exec.shell import read_command
from shipmate.values.message import new_id, timestamp
from shipmate.values.reason import Why

WINDOW_LIMIT_DAYS = 7


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Say for how long and by whom consent is given."""

    span: Span
    minutes: int | None
    by: str
    words: str
    at: datetime

    @property
    def is_too_long(self) -> bool:
        return self.minutes is not None and self.minutes > WINDOW_LIMIT_DAYS * 24 * 60


def make_grant(approval: Approval, named: str, lease: Lease) -> Grant | Why | None:
    """Give the grant that consent amounts to, None for consent to one call, or why there can be none."""
    if lease.span == "once":
        return None
    pattern = _pattern(approval, named)
    if isinstance(pattern, Why):
        return pattern
    scope: GrantScope = "member" if lease.span == "always" else "thread"
    until = timestamp(lease.at + timedelta(minutes=lease.minutes)) if lease.minutes else None
    grant = Grant(
        id=new_id("grant"),
        tool=approval.tool,
        pattern=pattern,
        digest=approval.call_digest if pattern is None else None,
        scope=scope,
        member=approval.member,
        thread_id=approval.thread_id if scope == "thread" else None,
        granted_by=lease.by,
        granted_at=timestamp(lease.at),
        expires_at=until,
        words=lease.words,
        approval_id=approval.id,
    )
    return grant if pattern is None or _is_exact(grant) else Why("no-path-grant")


def _pattern(approval: Approval, named: str) -> str | Why | None:
    """Give the exact command, path or host a grant may name; None binds it to the very arguments."""
    match find_subject(approval.tool, approval.input, Path(approval.folder)):
        case CommandSubject() if approval.input.get("network"):
            # The words of a command do not say that it may reach the network.
            return None
        case CommandSubject(text=text):
            # `allow git status` for a waiting `git status -s` grants what was said, not what waits.
            wanted = named if named != approval.tool and calls_by_name(named, text) else text
            words = read_command(wanted.strip())
            return words.why or refuse_program(words.words or ()) or wanted.strip()
        case PathSubject(real=real) if real is not None:
            return "/".join(real)
        case PathSubject(text=text):
            return Why("outside", text)
        case HostSubject(host=host, text=text):
            return host if host is not None else Why("address", text)
        case None:
            return None


def _is_exact(grant: Grant) -> bool:
    rules, _ = parse_rules([grant.rule])
    return bool(rules) and rules[0].is_exact

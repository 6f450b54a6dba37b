"""Decide what may happen unasked, from labels, rules, mode, grants and taint. Deny wins; doubt asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from shipmate.approvals.policy.program import CARRIERS, is_spelled, name_of
from shipmate.approvals.policy.rule import Rule, is_idle, parse_rules
from shipmate.approvals.policy.subject import (
    CommandSubject,
    HostSubject,
    PathSubject,
    Subject,
    find_subject,
    locate,
)
from shipmate.approvals.value import Action, Call, Grant
from shipmate.tools.exec.shell import COMMAND_LIMIT
from shipmate.tools.file.protection import refuse_reading, refuse_writing
from shipmate.values.message import JsonObject
from shipmate.values.reason import Why
from shipmate.workspace.config import Permissions
from shipmate.workspace.finding import Finding

EDITING = ("write", "edit")
SCRATCH = (".ship", "scratch")
# Programs that look into every file below the folder they stand in when given none.
SEARCHING = ("grep", "rg", "ag", "ack")


class Judgement(msgspec.Struct, frozen=True):
    """Hold a verdict before it is put into words."""

    action: Action
    why: Why
    grant_id: str | None = None


class Policy:
    """Judge calls by the permissions of one workspace."""

    def __init__(self, permissions: Permissions, *, sandbox_works: Callable[[], bool]) -> None:
        self.mode = permissions.mode
        self.sandbox_works = sandbox_works
        self.allow, self._broken_allow = parse_rules(permissions.allow)
        self.ask, self._broken_ask = parse_rules(permissions.ask)
        self.deny, self._broken_deny = parse_rules(permissions.deny)

    @property
    def broken(self) -> list[tuple[str, str]]:
        """List the rules that cannot be read, and why."""
        return [*self._broken_deny, *self._broken_ask, *self._broken_allow]

    def judge(self, call: Call, grants: Sequence[Grant]) -> Judgement:
        """Give the verdict on a call; `grants` are those in force."""
        acts = call.tool.labels_for(call.arguments).acts
        subject = find_subject(call.tool.name, given_arguments(call), call.context.folder)
        if refusal := self._refuse(call, subject, acts):
            return Judgement("deny", refusal)
        if self.mode == "yolo":
            return self._judge_yolo(call, subject)
        if not acts:
            return self._judge_reading(call, subject, grants)
        return self._judge_acting(call, subject, grants)

    def _refuse(self, call: Call, subject: Subject | None, acts: bool) -> Why | None:
        """Find what no answer can lift."""
        if acts and self.broken:
            rule, problem = self.broken[0]
            return Why("broken", f"{rule}: {problem}")
        if isinstance(subject, CommandSubject) and len(subject.text) > COMMAND_LIMIT:
            return Why("too-long", f"{COMMAND_LIMIT:,}")
        if isinstance(subject, PathSubject) and _is_protected(subject, call.tool.name):
            return Why("protected", subject.text)
        if rule := _first(self.deny, call, subject):
            return Why("denied", rule.text)
        return Why("read-only") if acts and self.mode == "read-only" else None

    def _judge_yolo(self, call: Call, subject: Subject | None) -> Judgement:
        if rule := _first(self.ask, call, subject):
            return Judgement("ask", Why("asked", rule.text))
        guarded = any(rule.name == "exec" for rule in (*self.deny, *self.ask))
        if guarded and isinstance(subject, CommandSubject) and not _is_clear(subject):
            # A deny rule cannot be looked for in what cannot be read.
            return Judgement("ask", subject.reading.why or Why("not-plain"))
        return Judgement("allow", Why("yolo"))

    def _judge_reading(self, call: Call, subject: Subject | None, grants: Sequence[Grant]) -> Judgement:
        """Let reading pass, but for what lies outside, what a rule asks about, and a tainted way out."""
        needs_answer: Why | None = None
        if rule := _first(self.ask, call, subject):
            needs_answer = Why("asked", rule.text)
        elif isinstance(subject, PathSubject) and not subject.is_inside:
            return Judgement("ask", Why("outside", subject.text))
        elif call.tainted and isinstance(subject, HostSubject):
            # An address can carry private data out as well as bring a page in.
            needs_answer = Why("tainted")
        if needs_answer is None:
            return Judgement("allow", Why("reads"))
        return self._find_leave(call, subject, grants, exact=call.tainted) or Judgement("ask", needs_answer)

    def _judge_acting(self, call: Call, subject: Subject | None, grants: Sequence[Grant]) -> Judgement:
        if isinstance(subject, PathSubject) and not subject.is_inside:
            return Judgement("ask", Why("outside", subject.text))
        unguarded = isinstance(subject, CommandSubject) and not self.sandbox_works()
        exact = call.tainted or unguarded
        if found := self._find_leave(call, subject, grants, exact=exact):
            return found
        if rule := _first(self.ask, call, subject):
            return Judgement("ask", Why("asked", rule.text))
        if isinstance(subject, PathSubject) and call.tool.name in EDITING:
            if subject.real is not None and subject.real[:2] == SCRATCH:
                return Judgement("allow", Why("scratch"))
            if self.mode == "auto-edit" and not call.tainted:
                return Judgement("allow", Why("auto-edit"))
        return Judgement("ask", self._reason_to_ask(call, subject, unguarded))

    def _reason_to_ask(self, call: Call, subject: Subject | None, unguarded: bool) -> Why:
        if call.tainted:
            return Why("tainted")
        if unguarded:
            return Why("no-sandbox")
        stumbles = (rule.covers(call.tool.name, subject) for rule in self.allow)
        stumbled = next((found for found in stumbles if isinstance(found, Why)), None)
        return stumbled or Why("no-rule")

    def _find_leave(
        self, call: Call, subject: Subject | None, grants: Sequence[Grant], *, exact: bool
    ) -> Judgement | None:
        """Find the grant or allow rule that covers a call; grants outrank ask rules, allow rules do not."""
        if isinstance(subject, CommandSubject) and given_arguments(call).get("network") is True:
            # Words name a command, not its way out: only a grant of this very call covers that.
            grants = [grant for grant in grants if grant.digest is not None]
            rules: list[Rule] = []
        else:
            rules = self.allow
        for grant in grants:
            if grant_covers(grant, call, subject) and not self._leads_to_denied(call, subject, ()):
                return Judgement("allow", Why("granted", grant.rule), grant.id)
        if _first(self.ask, call, subject):
            return None
        for rule in rules:
            if exact and not rule.is_exact:
                continue
            if rule.covers(call.tool.name, subject) is True and not self._leads_to_denied(
                call, subject, rule.words
            ):
                return Judgement("allow", Why("allowed", rule.text))
        return None

    def _leads_to_denied(self, call: Call, subject: Subject | None, given: tuple[str, ...]) -> bool:
        """Tell whether a command's open words are paths that a rule keeps tools from."""
        if not isinstance(subject, CommandSubject) or subject.reading.words is None:
            return False
        opened = subject.reading.words[max(len(given), 1) :]
        names = [word.partition("=")[2] or word for word in opened if not word.startswith("-")]
        if opened and name_of(subject.reading.words) in SEARCHING:
            names.append(".")
        places = [locate(name, call.context.folder) for name in names]
        kept = [rule for rule in self.deny if rule.wildcard is not None]
        return any(rule.touches_path(place, contains=True) for rule in kept for place in places)


def given_arguments(call: Call) -> JsonObject:
    """Give the arguments as the tool will see them: "true" has become true by now."""
    if not isinstance(call.arguments, msgspec.Struct):
        return call.raw
    return msgspec.to_builtins(call.arguments)


def grant_covers(grant: Grant, call: Call, subject: Subject | None) -> bool:
    """Tell whether a grant names exactly this call, in this thread or for this member."""
    context = call.context
    if grant.tool != call.tool.name or grant.member != context.member:
        return False
    if grant.scope == "thread" and grant.thread_id != context.thread_id:
        return False
    if grant.pattern is None:
        return grant.digest is not None and grant.digest == call.call_digest
    rules, _ = parse_rules([grant.rule])
    return bool(rules) and rules[0].is_exact and rules[0].covers(call.tool.name, subject) is True


def _is_protected(subject: PathSubject, tool: str) -> bool:
    refuse = refuse_writing if tool in EDITING else refuse_reading
    ways = [way for way in (subject.written, subject.real) if way is not None]
    return any(refuse(way) is not None for way in ways)


def _is_clear(subject: CommandSubject) -> bool:
    """Tell whether every command in a command line can be seen without running it."""
    commands, is_clear = subject.within
    return is_clear and not any(
        name_of(words) in CARRIERS or is_spelled(name_of(words)) for words in commands
    )


def _first(rules: Iterable[Rule], call: Call, subject: Subject | None) -> Rule | None:
    return next((rule for rule in rules if rule.touches(call.tool.name, subject)), None)


def findings(permissions: Permissions) -> list[Finding]:
    """Say what stands out in the permissions."""
    policy = Policy(permissions, sandbox_works=lambda: True)
    found = [
        Finding(
            "error",
            f"permissions: {rule}",
            f"{problem}. Until then everything that acts is denied.",
            "mend ship.json",
        )
        for rule, problem in policy.broken
    ]
    found += [
        Finding(
            "warn",
            f"permissions: {rule.text}",
            "this rule covers nothing: such commands always ask",
            "remove it",
        )
        for rule in policy.allow
        if is_idle(rule)
    ]
    if permissions.mode == "yolo":
        found.append(
            Finding(
                "warn", "permissions: mode", "yolo: everything runs unasked except what deny names", "use ask"
            )
        )
    return found or [
        Finding("ok", "permissions", f"mode {permissions.mode}, {len(policy.allow)} allow rules")
    ]

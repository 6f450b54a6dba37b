"""Decide what may happen unasked, from labels, rules, mode, grants and taint. Deny wins; doubt asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from shipmate.approvals.policy.path import (
    EDITING,
    PathRules,
    doubt_command,
    doubt_reading,
    forms_by_name,
    hold_operands,
    judge_writing,
    refuse_operands,
    refuse_project,
)
from shipmate.approvals.policy.rule import PermissionRule, is_idle, parse_rules
from shipmate.approvals.policy.subject import (
    CommandSubject,
    HostSubject,
    PathSubject,
    Subject,
    find_subject,
    locate,
)
from shipmate.approvals.value import Call, Grant, Verdict
from shipmate.tools.exec.shell import COMMAND_LIMIT
from shipmate.tools.file.protection import refuse_reading, refuse_writing
from shipmate.values.message import JsonObject
from shipmate.values.reason import Why
from shipmate.values.tool_name import REMEMBER
from shipmate.workspace.config import Permissions
from shipmate.workspace.finding import Finding


class Policy:
    """Judges calls by the permissions of one workspace."""

    def __init__(
        self,
        permissions: Permissions,
        *,
        sandbox_works: Callable[[], bool],
        forms: Callable[[PathSubject], bool] = forms_by_name,
    ) -> None:
        self.mode = permissions.mode
        self.sandbox_works = sandbox_works
        self.allow, self._broken_allow = parse_rules(permissions.allow)
        self.ask, self._broken_ask = parse_rules(permissions.ask)
        self.deny, self._broken_deny = parse_rules(permissions.deny)
        self._paths = PathRules(mode=permissions.mode, allow=self.allow, ask=self.ask, forms=forms)

    @property
    def broken(self) -> list[tuple[str, str]]:
        """List the rules that cannot be read, and why."""
        return [*self._broken_deny, *self._broken_ask, *self._broken_allow]

    def judge(self, call: Call, grants: Sequence[Grant]) -> Verdict:
        """Return the verdict on a call; `grants` are those in force."""
        acts = call.tool.labels_for(call.arguments).acts
        subject = find_subject(call.tool.name, given_arguments(call), call.context.folder)
        if refusal := self._refuse(call, subject, acts):
            return refusal
        if acts and call.tool.forms_member:
            return Verdict("ask", Why("forms-member", call.tool.name))
        if call.tool.labels.asks:
            return Verdict("ask", _explain_question(call))
        if self.mode == "yolo":
            return self._judge_yolo(call, subject)
        if not acts:
            return self._judge_reading(call, subject, grants)
        if isinstance(subject, CommandSubject):
            verdict = self._judge_command(call, subject, grants)
            # What a trial prints reaches the model with no question, so it must show nothing rules keep back.
            by_words = verdict.rule is not None or doubt_reading(subject, [*self.deny, *self.ask])
            return msgspec.structs.replace(verdict, by_words=by_words)
        return self._judge_acting(call, subject, grants)

    def forbids(self, call: Call, parts: Sequence[str]) -> bool:
        """Return whether a deny rule or a project's rights close a path to what a call would change."""
        place = locate("/".join(parts), call.context.folder)
        return (
            any(rule.restricts_path("write", place) for rule in self.deny)
            or refuse_project(place, call) is not None
        )

    def _refuse(self, call: Call, subject: Subject | None, acts: bool) -> Verdict | None:
        """Find what no answer can lift."""
        if acts and self.broken:
            rule, problem = self.broken[0]
            return Verdict("deny", Why("broken", f"{rule}: {problem}"), rule=rule)
        if rule := _first(self.deny, call, subject):
            return Verdict("deny", Why("denied", rule.text), rule=rule.text)
        if isinstance(subject, PathSubject) and (why := self._refuse_path(call, subject)):
            return Verdict("deny", why)
        if isinstance(subject, CommandSubject):
            if len(subject.text) > COMMAND_LIMIT:
                return Verdict("deny", Why("too-long", f"{COMMAND_LIMIT:,}"))
            if found := refuse_operands(subject, call, self.deny):
                return Verdict("deny", found[0], rule=found[1])
        return Verdict("deny", Why("read-only")) if acts and self.mode == "read-only" else None

    def _refuse_path(self, call: Call, subject: PathSubject) -> Why | None:
        is_writing = call.tool.name in EDITING
        refuse = refuse_writing if is_writing else refuse_reading
        if any(refuse(way) is not None for way in subject.ways):
            return Why("protected", subject.text)
        return refuse_project(subject, call) if is_writing else None

    def _judge_yolo(self, call: Call, subject: Subject | None) -> Verdict:
        if rule := _first(self.ask, call, subject):
            return Verdict("ask", Why("asked", rule.text), rule=rule.text)
        if isinstance(subject, CommandSubject) and (why := doubt_command(subject, [*self.deny, *self.ask])):
            return Verdict("ask", why, rule=why.what)
        return Verdict("allow", Why("yolo"))

    def _judge_reading(self, call: Call, subject: Subject | None, grants: Sequence[Grant]) -> Verdict:
        """Let reading pass, but for what lies outside, what a rule asks about, and a tainted way out."""
        # An address can carry private data out as well as bring a page in, and a colleague has other rights.
        is_way_out = call.tainted and (call.tool.delegates or isinstance(subject, HostSubject))
        rule = _first(self.ask, call, subject)
        if rule is None and isinstance(subject, PathSubject) and not subject.is_inside:
            return Verdict("ask", Why("outside", subject.text))
        if rule is None and not is_way_out:
            return Verdict("allow", Why("reads"))
        if granted := find_grant(grants, call, subject, exact=call.tainted):
            return granted
        return _ask_for(rule) if rule else Verdict("ask", Why("tainted"))

    def _judge_command(self, call: Call, subject: CommandSubject, grants: Sequence[Grant]) -> Verdict:
        if not self.sandbox_works():
            return Verdict("ask", Why("no-sandbox"))
        beyond = _beyond_words(call)
        doubt = doubt_command(subject, self.deny)
        granted = find_grant(grants, call, subject, exact=call.tainted or beyond is not None)
        # What a person granted may run unproven, but not at paths that are denied to tools.
        if granted and (doubt is None or subject.invocation is None):
            return granted
        if rule := _first(self.ask, call, subject):
            return _ask_for(rule)
        covering = self._find_rule(call, subject)
        if isinstance(covering, Why):
            return Verdict("ask", Why("tainted") if call.tainted else beyond or covering)
        if call.tainted and not (_carries_nothing_out(call, subject) and beyond is None):
            return Verdict("ask", Why("tainted"))
        if doubt is None and subject.invocation is not None:
            doubt = doubt_command(subject, self.ask)
        if why := beyond or doubt:
            return Verdict("ask", why)
        return Verdict("allow", Why("allowed", covering.text), rule=covering.text)

    def _find_rule(self, call: Call, subject: CommandSubject) -> PermissionRule | Why:
        """Return the rule that covers a command, or what the first one stumbled over."""
        stumble: Why | None = None
        for rule in self.allow:
            found = rule.covers(call.tool.name, subject)
            if found is True:
                found = hold_operands(subject, call, self._paths, exact=rule.is_exact) or True
            if found is True:
                return rule
            stumble = stumble or found or None
        return stumble or Why("no-rule")

    def _judge_acting(self, call: Call, subject: Subject | None, grants: Sequence[Grant]) -> Verdict:
        if isinstance(subject, PathSubject) and not subject.is_inside:
            return Verdict("ask", Why("outside", subject.text))
        if granted := find_grant(grants, call, subject, exact=call.tainted):
            return granted
        if rule := _first(self.ask, call, subject):
            return _ask_for(rule)
        if isinstance(subject, PathSubject) and call.tool.name in EDITING:
            return judge_writing(self._paths, call.tool.name, subject, call)
        if call.tainted:
            return Verdict("ask", Why("tainted"))
        for rule in self.allow:
            if rule.covers(call.tool.name, subject) is True:
                return Verdict("allow", Why("allowed", rule.text), rule=rule.text)
        return Verdict("ask", Why("no-rule"))


def _explain_question(call: Call) -> Why:
    if call.tool.name != REMEMBER:
        return Why("budget")
    return Why("memory-tainted") if call.tainted else Why("memory")


def given_arguments(call: Call) -> JsonObject:
    """Return the arguments as the tool will see them: "true" has become true by now."""
    if not isinstance(call.arguments, msgspec.Struct):
        return call.raw
    return msgspec.to_builtins(call.arguments)


def find_grant(
    grants: Sequence[Grant], call: Call, subject: Subject | None, *, exact: bool
) -> Verdict | None:
    """Return leave by a grant; an exact one was given for this very call, arguments included."""
    for grant in grants:
        if grant_covers(grant, call, subject, exact=exact):
            return Verdict("allow", Why("granted", grant.rule), grant.id)
    return None


def grant_covers(grant: Grant, call: Call, subject: Subject | None, *, exact: bool = False) -> bool:
    """Return whether a grant names exactly this call, in this thread or for this member."""
    context = call.context
    if grant.tool != call.tool.name or grant.member != context.member.id:
        return False
    if grant.scope == "thread" and grant.thread_id != context.thread_id:
        return False
    if grant.digest is not None and grant.digest == call.call_digest:
        return True
    if grant.pattern is None or exact:
        return False
    rules, _ = parse_rules([grant.rule])
    return bool(rules) and rules[0].is_exact and rules[0].covers(call.tool.name, subject) is True


def _beyond_words(call: Call) -> Why | None:
    """Return what a command asks for that its words do not say; only a grant of the call covers that."""
    arguments = given_arguments(call)
    if arguments.get("network") is True:
        return Why("network")
    variables = arguments.get("variables")
    return Why("variables", ", ".join(map(str, variables))) if variables else None


def _carries_nothing_out(call: Call, subject: CommandSubject) -> bool:
    """Return whether a command is no more than a look into the workspace: it changes and reaches nothing."""
    reaches_out = call.tool.labels_for(call.arguments).reads_untrusted
    return subject.invocation is not None and subject.invocation.only_reads and not reaches_out


def _ask_for(rule: PermissionRule) -> Verdict:
    return Verdict("ask", Why("asked", rule.text), rule=rule.text)


def _first(rules: Iterable[PermissionRule], call: Call, subject: Subject | None) -> PermissionRule | None:
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
            "this rule covers nothing: a program without a grammar needs a rule that gives every word",
            "remove it, or write out the commands you mean",
        )
        for rule in policy.allow
        if is_idle(rule)
    ]
    if permissions.mode == "yolo":
        found.append(
            Finding(
                "warn",
                "permissions: mode",
                "yolo: everything runs unasked except what deny and ask name",
                "use ask",
            )
        )
    return found or [
        Finding("ok", "permissions", f"mode {permissions.mode}, {len(policy.allow)} allow rules")
    ]

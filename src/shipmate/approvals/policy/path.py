"""Judge paths that are written: by a tool, or by a command as one of its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from shipmate.approvals.policy.forming import forms_by_name
from shipmate.approvals.policy.rule import PermissionRule
from shipmate.approvals.policy.subject import CommandSubject, PathSubject, is_folder
from shipmate.approvals.value import Call, Verdict
from shipmate.tools.file.protection import refuse_reading, refuse_writing
from shipmate.tools.file.right import find_rights
from shipmate.values.reason import Why

EDITING = ("write", "edit")
SCRATCH = (".ship", "scratch")
NOTHING = "/dev/null"


class PathRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules and the mode that paths are judged by."""

    mode: str
    allow: Sequence[PermissionRule]
    ask: Sequence[PermissionRule]
    # Whether a path forms a member.
    forms: Callable[[PathSubject], bool] = forms_by_name


def refuse_project(place: PathSubject, call: Call) -> Why | None:
    """Return why a member may not write in the project a path lies in."""
    rights = find_rights(call.context.layout)
    found = rights.find_closed(call.context.member.id, place.ways)
    return Why("project", found) if found is not None else None


def judge_writing(rules: PathRules, tool: str, place: PathSubject, call: Call) -> Verdict:
    """Return whether a path may be written unasked."""
    if not place.is_inside:
        return Verdict("ask", Why("outside", place.text))
    if any(refuse_writing(way) is not None for way in place.ways):
        return Verdict("ask", Why("kept", place.text))
    if rule := next((rule for rule in rules.ask if rule.restricts_path(tool, place)), None):
        return Verdict("ask", Why("asked", rule.text), rule=rule.text)
    forms = rules.forms(place)
    if not call.tainted and (rule := _find_allowing(rules.allow, tool, place, exact=forms)):
        return Verdict("allow", Why("allowed", rule.text), rule=rule.text)
    if place.real is not None and place.real[:2] == SCRATCH:
        return Verdict("allow", Why("scratch"))
    if forms:
        return Verdict("ask", Why("forms-member", place.text))
    if call.tainted:
        return Verdict("ask", Why("tainted"))
    if rules.mode == "auto-edit":
        return Verdict("allow", Why("auto-edit"))
    return Verdict("ask", Why("no-rule"))


def _find_allowing(
    rules: Sequence[PermissionRule], tool: str, place: PathSubject, *, exact: bool
) -> PermissionRule | None:
    """Return the rule that lets a path be written; what forms a member has to be named without a wildcard."""
    covering = (rule for rule in rules if rule.covers(tool, place) is True)
    return next((rule for rule in covering if rule.is_exact or not exact), None)


def refuse_operands(
    subject: CommandSubject, call: Call, deny: Sequence[PermissionRule]
) -> tuple[Why, str | None] | None:
    """Return why no answer lets a command at one of its paths, and the rule that says so."""
    for operand, place in subject.places:
        tools = [tool for tool, holds in (("read", operand.reads), ("write", operand.writes)) if holds]
        for rule in deny:
            if any(rule.restricts_path(tool, place) for tool in tools):
                return Why("denied", rule.text), rule.text
        if operand.writes and (why := refuse_project(place, call)):
            return why, None
    return None


def doubt_command(subject: CommandSubject, rules: Sequence[PermissionRule]) -> Why | None:
    """Return which of these rules a command is not proven to be free of."""
    for rule in rules:
        if rule.restricts("exec") and rule.words and not rule.excludes(subject):
            return Why("unproven", rule.text)
        if (rule.restricts("read") or rule.restricts("write")) and not _keeps_clear(subject, rule):
            return Why("unproven", rule.text)
    return None


def doubt_reading(subject: CommandSubject, rules: Sequence[PermissionRule]) -> bool:
    """Return whether a command may read what one of these rules is about."""
    return any(rule.restricts("read") and not _keeps_clear(subject, rule) for rule in rules)


def _keeps_clear(subject: CommandSubject, rule: PermissionRule) -> bool:
    """Return whether no path a command reads or writes, nor one below those, falls under a rule."""
    if subject.invocation is None:
        return False
    for operand, place in subject.places:
        if operand.writes and rule.restricts_path("write", place, contains=True):
            return False
        if operand.reads and rule.restricts_path("read", place, contains=operand.below):
            return False
        # Where links lead that lie in a folder is not known before they are followed.
        if operand.follows and rule.restricts("read") and is_folder(subject.folder, operand.text):
            return False
    return True


def hold_operands(subject: CommandSubject, call: Call, rules: PathRules, *, exact: bool) -> Why | None:
    """Return why a rule does not cover a command with these paths; an exact one vouches for all but links."""
    for operand, place in subject.places:
        if operand.text == NOTHING or (exact and place.written == place.real):
            continue
        # Some programs read an address where others read a path.
        if not place.is_inside or "://" in operand.text:
            return Why("outside-word", operand.text)
        if operand.reads and any(refuse_reading(way) is not None for way in place.ways):
            return Why("kept", operand.text)
        if operand.writes:
            verdict = judge_writing(rules, "write", place, call)
            if verdict.action != "allow":
                why = verdict.why
                return Why("no-write-rule", place.text) if why.key == "no-rule" else why
    return None

"""Judge paths that are written: by a tool, or by a command as one of its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from shipmate.approvals.policy.forming import forms_by_name
from shipmate.approvals.policy.rule import PermissionRule
from shipmate.approvals.policy.subject import PathSubject
from shipmate.approvals.value import Call, Verdict
from shipmate.tools.file.protection import refuse_writing
from shipmate.tools.file.right import find_rights
from shipmate.values.reason import Why

EDITING = ("write", "edit")
SCRATCH = (".ship", "scratch")


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

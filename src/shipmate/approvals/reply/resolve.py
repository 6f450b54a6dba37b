"""Apply a reply to the approvals that wait, or say why that cannot be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from shipmate.approvals.reply.naming import find_named
from shipmate.approvals.reply.reading import Clause, Reply
from shipmate.approvals.value import Approval


class Selection(msgspec.Struct, frozen=True):
    """What becomes of one approval, and by which words it was named, if any."""

    approval: Approval
    approved: bool
    named: str = ""


class ReplyProblem(msgspec.Struct, frozen=True):
    """Why a reply cannot be applied; nothing changes then."""

    kind: Literal["several", "no-such-number"]
    number: int = 0


def resolve(reply: Reply, waiting: Sequence[Approval]) -> list[Selection] | ReplyProblem:
    """Find what each clause is about; a clause that names something outranks `all` and `rest`."""
    chosen: dict[str, Selection] = {}
    for clause in sorted(reply.clauses, key=lambda clause: clause.kind in ("all", "rest")):
        found = _find(clause, waiting)
        if isinstance(found, ReplyProblem):
            return found
        for approval in found:
            if approval.id not in chosen:
                chosen[approval.id] = Selection(approval, clause.approved, clause.text)
            elif clause.kind == "text":
                return ReplyProblem("several")
    return [chosen[each.id] for each in waiting if each.id in chosen]


def _find(clause: Clause, waiting: Sequence[Approval]) -> Sequence[Approval] | ReplyProblem:
    match clause.kind:
        case "it":
            return waiting if len(waiting) == 1 else ReplyProblem("several")
        case "all" | "rest":
            # The numbers of an `all` are those it leaves out.
            return [each for each in waiting if each.number not in clause.numbers]
        case "numbers":
            known = {each.number: each for each in waiting}
            missing = next((number for number in clause.numbers if number not in known), None)
            return [known[number] for number in clause.numbers] if missing is None else _no_such(missing)
        case "text":
            named = find_named(clause.text, waiting)
            return named if len(named) == 1 else ReplyProblem("several")


def _no_such(number: int) -> ReplyProblem:
    return ReplyProblem("no-such-number", number)

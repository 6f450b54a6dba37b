"""Tell whether a person's words name a call that waits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from shipmate.approvals.policy.subject import KINDS, PATH_KEYS
from shipmate.approvals.reply.reading import Clause, Reply
from shipmate.approvals.reply.table import MARKS, WIDTH, read_table
from shipmate.approvals.value import Approval

QUOTED = re.compile(r"([`'\"])(.+)\1")
# A command may be called by its first words only if all of it is plain words: of `git status && rm x` nobody
# names the half.
PLAIN = re.compile(r"[\w ./:=@,+%-]+")
# Tools that are called by a verb: of `just write` nobody knows whether it means the tool.
VERBAL = ("read", "write", "edit")
# Words that speech does not have: an option, a path from the top or with an ending, an address, a_tool.
CODE = re.compile(
    r"-{1,2}\w[\w.=-]*|(?:\.{0,2}/)[\w./@+-]*|[\w./@+-]*\w{2,}\.[a-z][a-z0-9]{0,7}|https?://\S+|[a-z]\w*_\w+",
    re.ASCII | re.IGNORECASE,
)


def names_of(approval: Approval) -> list[str]:
    """Return what a call can be called by: its command, path or address, and its tool."""
    keys = {"command": ("command",), "host": ("url",), "path": PATH_KEYS, None: ()}[KINDS.get(approval.tool)]
    given = [approval.input[key] for key in keys if isinstance(approval.input.get(key), str)]
    return [*given, approval.tool]


def find_spoken(words: str, names: Sequence[str]) -> str | None:
    """Return the name that words call a waiting call by: None for none, "" where it could be speech."""
    quoted = QUOTED.fullmatch(words)
    said = quoted[2].strip() if quoted else words
    if not any(calls_by_name(said, name) for name in names):
        return None
    return said if quoted or _is_code(said) else ""


def _is_code(words: str) -> bool:
    """Return whether words cannot be speech: a call can be named so that it swallows a condition."""
    table = read_table()
    program, *rest = words.split() or [""]
    if not table.speech.isdisjoint(re.split(r"[\s,]+", words.casefold())):
        return False
    if program in KINDS and program not in VERBAL and not rest:
        return True
    verbs = table.names.get(program)
    if verbs and rest[:1] and rest[0] in verbs:
        rest = rest[1:]
    is_known = verbs is not None or program in table.names["alone"]
    return (is_known or CODE.fullmatch(program) is not None) and all(map(CODE.fullmatch, rest))


def calls_by_name(words: str, name: str) -> bool:
    """Return whether words are a name, the first words of a plain one, or the end of its path."""
    said, wanted = _simplify(words), _simplify(name)
    if not said:
        return False
    if said == wanted:
        return True
    if " " not in wanted:
        return wanted.endswith(f"/{said}") and "." in said
    return wanted.startswith(f"{said} ") and PLAIN.fullmatch(name.strip()) is not None


def find_named(words: str, approvals: Sequence[Approval]) -> list[Approval]:
    """Return the approvals that words name; one that fits exactly outranks those that only begin so."""
    exact = [
        each for each in approvals if any(_simplify(words) == _simplify(name) for name in names_of(each))
    ]
    if exact:
        return exact
    return [each for each in approvals if any(calls_by_name(words, name) for name in names_of(each))]


@lru_cache(256)
def _simplify(text: str) -> str:
    # Replies are read in one width and with straight quotes, so names are compared the same way.
    return " ".join(text.translate(WIDTH).translate(MARKS).split())


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

"""Read answers to approvals: a fixed grammar for Chinese and English, in which doubt is no answer.

`parse` gives a reading only when every word of a reply is understood (a reason for a refusal excepted);
anything else is None, an ordinary message. No reply approves what it negates: consent words hold no negation,
a reason given with consent may hold none, and where a reply both approves and denies, each part names what it
is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from shipmate.approvals.reply import lexicon as lex
from shipmate.approvals.reply.line import SIMPLIFIED, Line, normalise
from shipmate.approvals.reply.naming import calls_by_name
from shipmate.approvals.reply.number import read_minutes, read_numbers
from shipmate.approvals.reply.reading import Clause, Reply, Span

FLAGS = re.IGNORECASE
CONJUNCTION = re.compile(r"[,.;:!\n]+|(?<![a-z])but(?![a-z])|但是?", FLAGS)
EDGE_NEGATION = re.compile(rf"^(?:{lex.NEGATION.pattern})|\\s(?:{lex.NEGATION.pattern})$", FLAGS)
BREAK = r"[\s,.;:!~-]*"


SPANS: tuple[tuple[Span, str, str], ...] = (
    ("once", lex.ONCE, lex.ONCE),
    ("thread", lex.THREAD, lex.THREAD),
    ("window", lex.WINDOW, lex.LENGTH),
    ("always", lex.ALWAYS, lex.ALWAYS),
)


def parse(text: str, names: Sequence[str] = ()) -> Reply | None:
    """Read a reply, or give None for an ordinary message; `names` are what the waiting calls go by."""
    line = normalise(text, tuple(names))
    if line is None:
        return None
    reply = _read(line) or _read_with_reason(line)
    return reply if reply is not None and _is_safe(line, reply) else None


def _is_safe(line: Line, reply: Reply) -> bool:
    """Refuse consent from a reply that negates anything it does not also deny."""
    rest = line.plain
    for clause in reply.clauses:
        named = clause.text.translate(SIMPLIFIED)
        if clause.approved and named and EDGE_NEGATION.search(named):
            return False
        rest = rest.replace(named, " ", 1) if named else rest
    denies = any(not clause.approved for clause in reply.clauses)
    return denies or lex.NEGATION.search(rest) is None


def _read(line: Line) -> Reply | None:
    """Read a reply that gives no reason."""
    bare = _strip_politeness(line)
    clauses = _clauses(line) or _clauses(bare)
    return Reply(clauses=clauses) if clauses else _read_span(bare)


def _strip_politeness(line: Line) -> Line:
    while True:
        before = re.match(rf"{lex.POLITE_BEFORE}(?:[\s,.!~]+|(?=[\u3400-\u9fff]))", line.plain, FLAGS)
        after = re.search(rf"(?:[\s,.!~]+|(?<=[\u3400-\u9fff])){lex.POLITE_AFTER}$", line.plain, FLAGS)
        if before and before.end() < len(line.plain):
            line = line.cut(before.end())
        elif after and after.start() > 0:
            line = line.cut(0, after.start())
        else:
            return line


def _read_span(line: Line) -> Reply | None:
    """Read a reply that says how long it holds, at its beginning or its end."""
    for span, beginning, ending in SPANS:
        starts = re.match(rf"({beginning}){BREAK}", line.plain, FLAGS)
        ends = re.search(rf"{BREAK}(?:(?:但|but)\s*)?({ending})$", line.plain, FLAGS)
        without = [(starts[1], line.cut(starts.end()))] if starts else []
        without += [(ends[1], line.cut(0, ends.start()))] if ends else []
        for words, rest in without:
            clauses = _clauses(_strip_politeness(rest)) if rest.plain else _bare_span(span)
            if clauses is not None:
                return _spanned(clauses, span, words)
    return None


def _bare_span(span: str) -> tuple[Clause, ...] | None:
    """Take `just this once` for consent; longer spans must say so."""
    return (Clause(True, "it"),) if span == "once" else None


def _spanned(clauses: tuple[Clause, ...], span: Span, words: str) -> Reply | None:
    if not any(clause.approved for clause in clauses):
        # A refusal holds for what was asked; lasting refusals are deny rules.
        return Reply(clauses=clauses)
    minutes = read_minutes(words) if span == "window" else None
    return None if minutes == 0 else Reply(clauses=clauses, span=span, minutes=minutes)


def _clauses(line: Line) -> tuple[Clause, ...] | None:
    """Read verdicts, each with what it is about."""
    for reader in (_plain, _only, _except, _by_number, _several, _named, _after_plain):
        found = reader(line)
        if found is not None:
            return found
    return None


def _plain(line: Line) -> tuple[Clause, ...] | None:
    """Read bare consent or refusal, said once or more."""
    # Chinese refusals must stand apart: `不能不同意` is consent, if it is anything.
    for approved, words, soft, gap in (
        (True, lex.YES, lex.YES_SOFT, BREAK),
        (False, lex.NO, lex.NO_SOFT, rf"{BREAK}(?<=[\s,.;:!~-])"),
    ):
        one = rf"{lex.HASTE}{words}(?:\s*{lex.IT})?{soft}*"
        # Possessive, for words can begin with one another: without it `不不不…` would be tried in every way.
        if re.fullmatch(rf"{one}(?>{gap}(?:{lex.POLITE_AFTER}|{one}))*+", line.plain, FLAGS):
            return (Clause(approved, "it"),)
    return None


def _only(line: Line) -> tuple[Clause, ...] | None:
    """Read `only X`: X is approved and everything else denied."""
    found = re.fullmatch(
        rf"(?:{lex.YES}{BREAK}(?:但|but\s+)?)?{lex.ONLY}\s*:?\s*(?P<x>.+)", line.plain, FLAGS
    )
    if found is None:
        return None
    target = _target(line.cut(found.start("x")), approved=True)
    if target is None or target.kind not in ("numbers", "text"):
        return None
    return (target, Clause(False, "rest"))


def _except(line: Line) -> tuple[Clause, ...] | None:
    """Read `all except 2`, in the orders people say it."""
    numbers = rf"(?P<n>{lex.NUMBER_LIST})"
    outside = r"\s*(?:之外|以外|外)?"
    shapes = (
        rf"(?:{lex.APPROVE_VERB}|(?P<no1>{lex.DENY_VERB}))\s*{lex.ALL}{BREAK}{lex.EXCEPT}\s*{numbers}",
        rf"{lex.ALL}\s*(?:{lex.YES}|(?P<no2>{lex.NO})){BREAK}{lex.EXCEPT}\s*{numbers}",
        rf"{lex.EXCEPT}\s*{numbers}{outside}{BREAK}(?:{lex.ALL}|{lex.REST})*\s*(?:{lex.YES}|(?P<no3>{lex.NO}))",
    )
    for shape in shapes:
        found = re.fullmatch(shape, line.plain, FLAGS)
        if found is not None:
            denied = any(value for name, value in found.groupdict().items() if name.startswith("no"))
            listed = read_numbers(found["n"])
            # `deny all except 2` leaves 2 open: it was not said that 2 may run.
            return (
                (Clause(False, "all", listed),)
                if denied
                else (Clause(True, "all"), Clause(False, "numbers", listed))
            )
    return None


def _by_number(line: Line) -> tuple[Clause, ...] | None:
    """Read `1 and 3 yes, 2 no`, `approve 1, deny 2`, `全部同意`, `1 yes, the rest no`."""
    if re.fullmatch(lex.NONE, line.plain, FLAGS):
        return (Clause(False, "all"),)
    about = rf"(?:(?P<all>{lex.ALL})|(?P<rest>{lex.REST})|(?P<numbers>{lex.NUMBER_LIST}))"
    link = r"(?:\s*(?:,|;|:|=|-|is|are|就|都|也|,?\s*(?:but|and|但是?|而|然后))?\s*)"
    yes_first = (
        rf"(?:(?P<yes>{lex.APPROVE_VERB}|{lex.YES})|(?P<no>{lex.DENY_VERB}|{lex.NO}))(?:\s+to)?{BREAK}{about}"
    )
    yes_last = rf"{about}{link}(?:(?P<yes>{lex.YES})|(?P<no>{lex.NO}))(?:\s*{lex.YES_SOFT})*"
    joint = rf"{BREAK}(?:(?:but|and|但是?|而|然后)\s*)?"
    return _repeat(line, re.compile(joint + yes_last, FLAGS), re.compile(joint + yes_first, FLAGS))


def _repeat(line: Line, *shapes: re.Pattern[str]) -> tuple[Clause, ...] | None:
    position, clauses = 0, list[Clause]()
    while position < len(line.plain):
        tries = (shape.match(line.plain, position) for shape in shapes)
        found = next((match for match in tries if match), None)
        if found is None:
            return None
        approved = found["yes"] is not None
        if found["numbers"]:
            clauses.append(Clause(approved, "numbers", read_numbers(found["numbers"])))
        else:
            clauses.append(Clause(approved, "all" if found["all"] else "rest"))
        position = found.end()
    return tuple(clauses) if clauses and _is_consistent(clauses) else None


def _is_consistent(clauses: list[Clause]) -> bool:
    """Refuse a reply that decides one thing twice, or the rest of nothing."""
    numbers = [number for clause in clauses for number in clause.numbers]
    kinds = [clause.kind for clause in clauses]
    if 0 in numbers or len(numbers) != len(set(numbers)):
        return False
    if kinds.count("all") + kinds.count("rest") > 1:
        return False
    return kinds != ["rest"] and not ("all" in kinds and len(kinds) > 1)


def _named(line: Line) -> tuple[Clause, ...] | None:
    """Read `allow git status` and `deny git push`: a verdict on what the words name."""
    for approved, verb in ((True, lex.APPROVE_VERB), (False, lex.DENY_VERB)):
        found = re.fullmatch(
            rf"{lex.HASTE}{verb}(?:\s+|\s*:\s*|(?<=[\u3400-\u9fff]))(?P<x>.+)", line.plain, FLAGS
        )
        if found is not None and not re.search(r"[\n;]", found["x"]):
            target = _target(line.cut(found.start("x")), approved=approved)
            if target is not None and target.kind == "text":
                return (target,)
    return None


def _target(line: Line, *, approved: bool) -> Clause | None:
    """Read what a verdict is about."""
    plain = line.plain
    if re.fullmatch(lex.NUMBER_LIST, plain, FLAGS):
        numbers = read_numbers(plain)
        return Clause(approved, "numbers", numbers) if 0 not in numbers else None
    if re.fullmatch(lex.ALL, plain, FLAGS):
        return Clause(approved, "all")
    if re.fullmatch(lex.IT, plain, FLAGS):
        return Clause(approved, "it")
    quoted = re.fullmatch(r"([`'\"])(.+)\1", line.written)
    named = quoted[2] if quoted else line.written
    if not any(calls_by_name(named.strip(), name) for name in line.names):
        return None
    return Clause(approved, "text", text=named.strip())


def _after_plain(line: Line) -> tuple[Clause, ...] | None:
    """Read `ok, approve all`: a bare verdict before one that says what it is about."""
    found = re.match(rf"(?:(?P<yes>{lex.YES})|{lex.NO}){lex.YES_SOFT}*\s*[,.;!]\s*", line.plain, FLAGS)
    if found is None:
        return None
    rest = _clauses(_strip_politeness(line.cut(found.end())))
    if rest is None:
        return None
    approved = found["yes"] is not None
    agrees = (
        any(clause.approved for clause in rest) if approved else not any(clause.approved for clause in rest)
    )
    return rest if agrees and (approved or rest) else None


def _several(line: Line) -> tuple[Clause, ...] | None:
    """Read `approve git status, deny git push`: several verdicts, each with its own words."""
    verb = rf"(?:{lex.APPROVE_VERB}|{lex.DENY_VERB})"
    pieces = re.split(
        rf"\s*(?:[,;\n]\s*(?:and|but|但是?|而)?|\s(?:and|but)\s|但是?)\s*(?={verb})", line.plain, flags=FLAGS
    )
    if len(pieces) < 2:
        return None
    clauses: list[Clause] = []
    start = 0
    for piece in pieces:
        start = line.plain.index(piece, start)
        found = _named(line.cut(start, start + len(piece)))
        if found is None:
            return None
        clauses.extend(found)
        start += len(piece)
    names = [clause.text for clause in clauses]
    return tuple(clauses) if len(set(names)) == len(names) else None


def _read_with_reason(line: Line) -> Reply | None:
    """Read a verdict that is followed by its reason."""
    because = rf"{BREAK}\s*{lex.BECAUSE}\s*"
    for found in re.finditer(rf"(?P<because>{because})|[,.;:!\n]+\s*|\s+-+\s*", line.plain, FLAGS):
        head, tail = line.cut(0, found.start()), line.cut(found.end())
        if not head.plain or not tail.plain:
            continue
        reply = _read(head)
        if reply is None:
            continue
        allowed = _is_reason_to_approve(tail, found) if reply.approves else _is_reason_to_deny(tail)
        return msgspec.structs.replace(reply, reason=tail.written) if allowed else None
    return None


def _is_reason_to_approve(tail: Line, found: re.Match[str]) -> bool:
    """Take only an open `because` for a reason to approve: any other words may be a condition."""
    doubtful = lex.NEGATION.search(tail.plain) or lex.CONDITION.search(tail.plain)
    return found["because"] is not None and not doubtful


def _is_reason_to_deny(tail: Line) -> bool:
    """Refuse a reason of which any part is consent: `no, go ahead` is unclear."""
    pieces = [tail, *(Line(piece, piece, tail.names) for piece in CONJUNCTION.split(tail.plain))]
    readings = [_read(piece.cut(0)) for piece in pieces if piece.plain.strip()]
    return not any(reading is not None and reading.approves for reading in readings)

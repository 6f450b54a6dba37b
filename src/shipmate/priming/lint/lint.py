"""Find everything that is wrong with a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from shipmate.priming.lint.lint_mark import Mark, mark_error
from shipmate.priming.lint.mend import MendEffort, split_lines
from shipmate.priming.lint.pairing import find_shared, find_unpaired
from shipmate.priming.lint.stray import find_strays
from shipmate.priming.rehearsal.recorded import check_expects
from shipmate.priming.script.parse import Scan, scan_script
from shipmate.priming.script.record import Record, Script, ScriptError
from shipmate.priming.script.record_rule import RULES, is_known
from shipmate.priming.script.record_turn import CALLS
from shipmate.priming.script.script_frontmatter import KEYS
from shipmate.priming.script.ui_key import is_showable
from shipmate.values.message import JsonObject
from shipmate.workspace.json import read_json, read_unique_json
from shipmate.workspace.layout import MEMBER_ID

# About a second: people wait for marks while they type.
EFFORT = 2_000_000
_EXPECT = "Write what is expected as docs/rehearsal.md shows it, or take `expect` out"

_ONCE = "Keep the one that is meant, and take the other out"
_UNREAD = "Take it out when it was meant to do something"
# What makes a model be told something else than people read.
_ERRORS = frozenset({"part", "twice", "differ"})
_SPOKEN = ("human_text_record", "agent_words_record")


Oddity: TypeAlias = tuple[str, str, str, str]


def find_oddities(scan: Scan, lines: Sequence[str]) -> Iterator[Mark]:
    """Yield keys nobody reads, texts nobody is told, parts nobody can be shown, and numbers that fall."""
    for key, rule, reason, mend in _look_at_top(scan.frontmatter):
        line = find_key(lines, 2, scan.first, key)
        yield Mark(line=line or 1, record=0, level="warning", rule=rule, reason=reason, mend=mend)
    last = 0
    for number, record in scan.records.items():
        block = scan.blocks[number - 1]
        if record.type == "func_call_record" and gives_twice("\n".join(block.lines)):
            reason = "this call gives a key twice, and the last one counts"
            yield Mark(
                line=record.line, record=number, level="error", rule="twice", reason=reason, mend=_ONCE
            )
        for key, rule, reason, mend in _look_at(record, last):
            line = find_key(lines, block.start, block.start + len(block.lines), key) or record.line
            level = "error" if rule in _ERRORS else "warning"
            yield Mark(line=line, record=number, level=level, rule=rule, reason=reason, mend=mend)
        last = record.genseq or last


def gives_twice(text: str) -> bool:
    """Return whether JSON gives a key of an object twice."""
    try:
        read_json(text)
    except ValueError:
        return False
    try:
        read_unique_json(text)
    except ValueError:
        return True
    return False


def find_key(lines: Sequence[str], start: int, end: int, key: str) -> int:
    """Return the line between two that a key stands on, 0 when it is on none."""
    for number in range(start, end):
        if key and lines[number - 1].lstrip(" \"'").startswith(key):
            return number
    return 0


def _look_at_top(frontmatter: JsonObject) -> Iterator[Oddity]:
    for key in frontmatter:
        if key not in KEYS:
            yield key, "unknown", f"nothing reads `{key:.80}`", _UNREAD
    title = frontmatter.get("title", "")
    if not isinstance(title, str):
        yield "title", "title", f"the title {title!r:.80} is no text and is not shown", "Put it in quotes"
    for member in Script(frontmatter, []).applicable:
        if not MEMBER_ID.fullmatch(member):
            reason = f"no member can be called {member!r:.80}"
            yield "applicable", "member", reason, "Write each member as an item of its own"


def _look_at(record: Record, last: int) -> Iterator[Oddity]:
    for key in record.extra:
        if not is_known(record.type, key):
            yield key, "unknown", f"nothing reads `{key:.80}`", _UNREAD
    raw = record.extra.get("uiRaw")
    if raw is not None and not is_showable(raw):
        yield (
            "uiRaw",
            "part",
            "no page can show the part in `uiRaw`",
            "Write a part of a known type, or take it out",
        )
    if _is_called_replaced(record.extra.get("uiMessage")):
        yield (
            "uiMessage",
            "replaced",
            "`replacedBy` hides nothing: a model is told this message as any other",
            "Take the records of this message out when it was meant to be hidden, else `replacedBy`",
        )
    if record.type in _SPOKEN and not record.fields[RULES[record.type].body or ""].strip():
        yield "", "empty", f"this {record.type} is empty, and no model is told it", "Write what was said"
    if record.genseq is not None and record.genseq < last:
        yield (
            "genseq",
            "genseq",
            f"genseq falls from {last} to {record.genseq}",
            "Number the generations in the order of the records",
        )
    if record.type in CALLS:
        yield from _look_at_call(record)


def _is_called_replaced(envelope: Any) -> bool:
    metadata = envelope.get("metadata") if isinstance(envelope, dict) else None
    return isinstance(metadata, dict) and "replacedBy" in metadata


def _look_at_call(record: Record) -> Iterator[Oddity]:
    text = record.fields.get("rawArgumentsText")
    if not text:
        return
    if gives_twice(text):
        yield "rawArg", "twice", "rawArgumentsText gives a key twice, and the last one counts", _ONCE
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        yield (
            "rawArg",
            "arguments",
            "rawArgumentsText is no JSON object",
            "Write the arguments as a JSON object",
        )
    elif "arguments" in record.fields and record.fields["arguments"] != value:
        yield (
            "arguments",
            "differ",
            "`arguments` and `rawArgumentsText` differ, and a model is told `arguments`",
            "Take one of them out",
        )


def mark_expect(error: ScriptError) -> Mark:
    """Return the mark of an `expect` that no rehearsal understands."""
    _, _, hint = error.problem.partition(". ")
    return msgspec.structs.replace(mark_error(error), rule="expect", mend=hint or _EXPECT)


def lint_script(text: str, name: str = "") -> list[Mark]:
    """List what is wrong with a script, in the order of its lines.

    Errors keep it from being read, or lose what was meant; of the rest it is only said. `name` is what the
    file is called.
    """
    scan = scan_script(text, name)
    lines = split_lines(text)
    marks = [mark_error(error) for error in scan.problems]
    known = {mark.line for mark in marks}
    marks += [mark for mark in find_strays(lines, scan) if mark.line not in known]
    marks += find_oddities(scan, lines)
    if not scan.problems:
        # A record that could not be read would leave others alone that are not.
        marks += [*find_unpaired(scan.records), *find_shared(scan.records)]
        script = Script(scan.frontmatter, list(scan.records.values()))
        marks += [mark_expect(error) for error in check_expects(script)]
    found = sorted(marks, key=lambda mark: (mark.line, mark.record))
    effort = MendEffort(EFFORT)
    return [msgspec.structs.replace(mark, can_fix=effort.mend(mark, lines) is not None) for mark in found]

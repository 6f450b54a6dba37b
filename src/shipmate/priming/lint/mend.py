"""Mend what is mechanical: each rule has one way to do it, or none."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from shipmate.priming.lint.lint_mark import Mark
from shipmate.priming.lint.pairing import pair_records
from shipmate.priming.lint.stray import Fence, count_fences
from shipmate.priming.script.block import is_heading, match_fence, split_metadata
from shipmate.priming.script.metadata import write_value
from shipmate.priming.script.near_key import find_near
from shipmate.priming.script.parse import scan_script
from shipmate.priming.script.record import BLANKS
from shipmate.priming.script.record_rule import RULES
from shipmate.priming.script.script_frontmatter import RESTRICTIONS
from shipmate.values.message import JsonObject
from shipmate.workspace.json import read_json
from shipmate.workspace.layout import MEMBER_ID
from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml

Lines = list[str]
_QUOTED = re.compile(r"`([^`]+)`")
_FENCES = re.compile(r"`+|~+")
_RULE = re.compile(r"\s*-{3,}\s*")
# Written as `applicableMemberIds` these would let in whom they were to keep out.
_OPPOSITE = re.compile(r"[^a-z]*(?:in|un|non|not|no|ex|dis|without|except)", re.IGNORECASE)
# Mends that read every record anew take longer by so much.
_COSTS = {"shared-call": 40}
_OLD = {"user": "human_text_record", "assistant": "agent_words_record"}

# Of so many places one is the right one, or a person has to look.
TRY_LIMIT = 50


class Span(msgspec.Struct, frozen=True):
    """The lines that hold the values of a record or of the frontmatter, from 0, and whether they are JSON."""

    start: int
    end: int
    is_json: bool


def find_span(lines: Sequence[str], line: int) -> Span | None:
    """Return where the values stand that a line (from 1) belongs to; None when there are none."""
    heading = next((at for at in range(line - 1, -1, -1) if is_heading(lines[at])), None)
    if heading is None:
        text = split_metadata(list(lines)).text
        return None if text is None else Span(1, 2 + text.count("\n"), is_json=False)
    opening = next((at for at in range(heading + 1, len(lines)) if lines[at].strip(BLANKS)), len(lines))
    fence = match_fence(lines[opening]) if opening < len(lines) else ""
    start = opening + 1 if fence else opening
    end = next((at for at in range(start, len(lines)) if _ends(lines[at], fence)), len(lines))
    if lines[heading].split()[-1].lower() == "func_call_record":
        return Span(start, end, is_json=True)
    text = split_metadata(list(lines[start:end])).text
    return None if text is None else Span(start + 1, start + 2 + text.count("\n"), is_json=False)


def read_values(lines: Sequence[str], line: int) -> JsonObject | None:
    """Return the values that a line belongs to, None when they cannot be read."""
    span = find_span(lines, line)
    if span is None:
        return None
    text = "\n".join(lines[span.start : span.end])
    try:
        values: Any = read_json(text) if span.is_json else read_yaml(text)[0]
    except (ValueError, YamlError):
        return None
    return values if isinstance(values, dict) else None


def replace_each(
    lines: Sequence[str], line: int, pattern: re.Pattern[str], write: Callable[[re.Match[str]], str]
) -> Iterator[list[str]]:
    """Yield the text with one place replaced, for each place a pattern fits among the values of a line."""
    span = find_span(lines, line)
    places = () if span is None else range(span.start, span.end)
    found = ((at, match) for at in places for match in pattern.finditer(lines[at]))
    for at, match in itertools.islice(found, TRY_LIMIT):
        text = lines[at]
        yield [*lines[:at], text[: match.start()] + write(match) + text[match.end() :], *lines[at + 1 :]]


def choose_as_wanted(line: int, tries: Iterable[tuple[list[str], JsonObject]]) -> list[str] | None:
    """Return the first of some mended texts whose values around a line are as wanted, in the same order."""
    return next((mended for mended, wanted in tries if _is_same(read_values(mended, line), wanted)), None)


def _is_same(found: JsonObject | None, wanted: JsonObject) -> bool:
    # Compared as text: 1, 1.0 and true are not the same here.
    return found is not None and repr(list(found.items())) == repr(list(wanted.items()))


def _ends(line: str, fence: str) -> bool:
    return line.strip(BLANKS) == fence if fence else is_heading(line)


class MendEffort:
    """How much may still be spent on mending one text, in lines that are looked at.

    Each mend looks at the whole text, so that thousands of mistakes would take hours.
    """

    def __init__(self, lines: int) -> None:
        self._left = lines

    def mend(self, mark: Mark, lines: Sequence[str]) -> Lines | None:
        """Return the lines with what a mark names mended; None when that takes a person, or too long."""
        if mark.rule not in _MENDS or self._left <= 0:
            return None
        self._left -= len(lines) * _COSTS.get(mark.rule, 1)
        return mend_lines(mark, lines)


def split_lines(text: str) -> Lines:
    """Return the lines of a script as its reader counts them."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def mend_lines(mark: Mark, lines: Sequence[str]) -> Lines | None:
    """Return the lines with what a mark names mended; None when that takes a person."""
    mend = _MENDS.get(mark.rule)
    mended = None if mend is None or mark.line > len(lines) else mend(mark, list(lines))
    return None if mended == list(lines) else mended


def _mend_frontmatter(mark: Mark, lines: Lines) -> Lines | None:
    """Let the frontmatter begin on the first line and stand between `---` lines."""
    if "begin on the first line" not in mark.reason:
        return None
    opening = mark.line - 1
    rules = [at for at in range(opening + 1, len(lines)) if _RULE.fullmatch(lines[at])]
    heading = next((at for at, line in enumerate(lines) if is_heading(line)), len(lines))
    if not rules or rules[0] > heading:
        return None
    return ["---", *lines[opening + 1 : rules[0]], "---", *lines[rules[0] + 1 :]]


def _mend_key(mark: Mark, lines: Lines) -> Lines | None:
    """Write a key as it is spelt, unless that could say the opposite of what was meant."""
    given, wanted = _QUOTED.search(mark.reason), _QUOTED.search(mark.mend)
    values = read_values(lines, mark.line)
    if given is None or wanted is None or values is None or wanted[1] in values:
        return None
    if wanted[1] in RESTRICTIONS and (_OPPOSITE.match(given[1]) or not find_near(given[1], RESTRICTIONS)):
        return None
    renamed = {wanted[1] if key == given[1] else key: value for key, value in values.items()}
    tries = replace_each(lines, mark.line, re.compile(re.escape(given[1])), lambda _: wanted[1])
    return choose_as_wanted(mark.line, ((mended, renamed) for mended in tries))


def _mend_restriction(mark: Mark, lines: Lines) -> Lines | None:
    """Write members that stand in one text as a list."""
    key, values = _QUOTED.search(mark.reason), read_values(lines, mark.line)
    given = values.get(key[1]) if key is not None and values is not None else None
    # Blanks part no members: `not ux` would become a list that lets ux in.
    members = re.split(r"\s*[,，、;]\s*", given.strip()) if isinstance(given, str) else []
    if key is None or values is None or not members or not all(map(MEMBER_ID.fullmatch, members)):
        return None
    named = re.compile(rf"^([\"']?{key[1]}[\"']?\s*:).*")
    listed = f" [{', '.join(map(write_value, members))}]"
    tries = replace_each(lines, mark.line, named, lambda found: found[1] + listed)
    return choose_as_wanted(mark.line, ((mended, {**values, key[1]: members}) for mended in tries))


def _mend_fence(mark: Mark, lines: Lines) -> Lines | None:
    """Close a block before the next heading, or at the end."""
    opening = next((at for at in range(mark.line, len(lines)) if match_fence(lines[at])), None)
    if opening is None:
        return None
    end = next((at for at in range(opening + 1, len(lines)) if is_heading(lines[at])), len(lines))
    while end > opening + 1 and not lines[end - 1].strip(BLANKS):
        end -= 1
    return [*lines[:end], match_fence(lines[opening]), *lines[end:]]


def _mend_swallowed(mark: Mark, lines: Lines) -> Lines | None:
    """Close a block above the heading it takes for its text."""
    below = next(line for line in lines[mark.line :] if line.strip(BLANKS))
    end = mark.line - 1
    while end > 0 and not lines[end - 1].strip(BLANKS):
        end -= 1
    return [*lines[:end], match_fence(below), *lines[end:]]


def _mend_heading(mark: Mark, lines: Lines) -> Lines | None:
    """Write a heading as the reader knows it."""
    line = lines[mark.line - 1]
    words = re.findall(r"\w+", line.lower())
    kinds = [word for word in words if word in RULES] or [_OLD[word] for word in words if word in _OLD]
    kinds = kinds or difflib.get_close_matches(words[-1] if words else "", RULES, 1, 0.85)
    if not kinds:
        return None
    lines[mark.line - 1] = f"### record {kinds[0]}"
    return lines


def _mend_cut(mark: Mark, lines: Lines) -> Lines | None:
    """Fence a block with a longer run, when it is plain which line ends it."""
    heading = next((at for at in range(mark.line - 1, 0, -1) if is_heading(lines[at - 1])), 0)
    opening = next((at for at in range(heading + 1, mark.line) if lines[at - 1].strip(BLANKS)), 0)
    run = match_fence(lines[opening - 1]) if opening else ""
    end = next(
        (at for at in range(mark.line + 1, len(lines) + 1) if is_heading(lines[at - 1])), len(lines) + 1
    )
    opened, alone = count_fences(lines, Fence(run, opening, mark.line, end))
    # A fence with a word behind it is closed by one alone, others come in pairs; one more is the block's.
    if not run or (len(alone) != opened + 1 if opened else len(alone) % 2 == 0) or len(alone) < 2:
        return None
    body = "\n".join(lines[opening : alone[-1] - 1])
    longest = max((len(found) for found in _FENCES.findall(body)), default=0)
    fence = run[0] * max(6, longest + 1)
    lines[opening - 1] = fence + lines[opening - 1][len(run) :]
    lines[alone[-1] - 1] = fence
    return lines


def _mend_field(mark: Mark, lines: Lines) -> Lines | None:
    """Take the quotes off a number, or put them round a text that looks like one."""
    name, values = _QUOTED.search(mark.reason), read_values(lines, mark.line)
    if name is None or values is None or name[1] not in values:
        return None
    value = values[name[1]]
    pair = rf"((?:^|[{{,\s])[\"']?{re.escape(name[1])}[\"']?\s*:\s*)"
    if (
        "whole number" in mark.reason
        and isinstance(value, str)
        and re.fullmatch(r"\d{1,15}", value, re.ASCII)
    ):
        quoted = re.compile(rf"{pair}([\"']){value}\2")
        tries = replace_each(lines, mark.line, quoted, lambda found: f"{found[1]}{int(value)}")
        return choose_as_wanted(mark.line, ((mended, {**values, name[1]: int(value)}) for mended in tries))
    if "must be a text" not in mark.reason:
        return None
    return choose_as_wanted(mark.line, _quote_each(mark, lines, re.compile(rf"{pair}([\w.:+-]+)"), values))


def _quote_each(
    mark: Mark, lines: Lines, bare: re.Pattern[str], values: JsonObject
) -> Iterator[tuple[Lines, JsonObject]]:
    name = _QUOTED.findall(mark.reason)[0]
    texts: list[str] = []

    def quote(found: re.Match[str]) -> str:
        texts.append(found[2])
        return f'{found[1]}"{found[2]}"'

    for mended in replace_each(lines, mark.line, bare, quote):
        yield mended, {**values, name: texts[-1]}


def _mend_missing(mark: Mark, lines: Lines) -> Lines | None:
    """Number a record, or name a message."""
    found = _QUOTED.search(mark.reason)
    span, values = find_span(lines, mark.line), read_values(lines, mark.line)
    if found is None or found[1] not in ("genseq", "msgId") or span is None or span.is_json or values is None:
        return None
    key, value = _make(found[1], mark, lines)
    mended = [*lines[: span.start], f"{key}: {value}", *lines[span.start :]]
    return choose_as_wanted(mark.line, [(mended, {key: value, **values})])


def _mend_metadata(mark: Mark, lines: Lines) -> Lines | None:
    """Add to a block the metadata it needs, where that is no more than a number and a name."""
    kind = lines[mark.line - 1].split()[-1].lower()
    at = next((at for at in range(mark.line, len(lines)) if lines[at].strip(BLANKS)), None)
    needed = ["genseq", *RULES[kind].required] if kind in RULES else [""]
    if at is None or not set(needed) <= {"genseq", "msgId"} or is_heading(lines[at]):
        return None
    at += bool(match_fence(lines[at]))
    made = [f"{key}: {value}" for key, value in (_make(name, mark, lines) for name in needed)]
    return [*lines[:at], "---", *made, "---", *lines[at:]]


def _make(name: str, mark: Mark, lines: Lines) -> tuple[str, str | int]:
    if name == "msgId":
        return name, f"priming-{mark.record}"
    above = (re.fullmatch(r"\s*\"?genseq\"?: (\d{1,15}),?\s*", line) for line in reversed(lines[: mark.line]))
    return name, next((int(found[1]) for found in above if found), 1)


def _mend_shared_message(mark: Mark, lines: Lines) -> Lines | None:
    """Make the id of a message one that no other has."""
    values = read_values(lines, mark.line)
    given = values.get("msgId") if values is not None else None
    if values is None or not isinstance(given, str):
        return None
    renamed = f"{given}-{mark.record}"
    named = re.compile(r"^[\"']?msgId[\"']?\s*:.*")
    tries = replace_each(lines, mark.line, named, lambda _: f"msgId: {write_value(renamed)}")
    return choose_as_wanted(mark.line, ((mended, {**values, "msgId": renamed}) for mended in tries))


def _mend_shared_call(mark: Mark, lines: Lines) -> Lines | None:
    """Make the id of a call and its result one that no other has."""
    scan = scan_script("\n".join(lines))
    numbers, records = list(scan.records), list(scan.records.values())
    pairs = {numbers[call]: numbers[result] for result, call in pair_records(records).items()}
    record = scan.records.get(mark.record)
    result = scan.records.get(pairs.get(mark.record, 0))
    if record is None or scan.problems or (result and result.type != "func_result_record"):
        return None
    for number in (mark.record, *([pairs[mark.record]] if result else [])):
        mended = _rename_id(lines, scan.blocks[number - 1].heading, f"{record.fields['id']}-{mark.record}")
        if mended is None:
            return None
        lines = mended
    return lines


def _rename_id(lines: Lines, heading: int, name: str) -> Lines | None:
    """Change the id of the record below a heading."""
    values = read_values(lines, heading)
    if values is None:
        return None
    given = re.compile(
        rf"((?:^|[{{,\s])[\"']?id[\"']?\s*:\s*[\"']?){re.escape(str(values['id']))}(?=[\"',\s}}]|$)"
    )
    tries = replace_each(lines, heading, given, lambda found: f"{found[1]}{name}")
    return choose_as_wanted(heading, ((mended, {**values, "id": name}) for mended in tries))


_MENDS: dict[str, Callable[[Mark, Lines], Lines | None]] = {
    "frontmatter": _mend_frontmatter,
    "key": _mend_key,
    "restriction": _mend_restriction,
    "fence": _mend_fence,
    "swallowed": _mend_swallowed,
    "heading": _mend_heading,
    "cut": _mend_cut,
    "field": _mend_field,
    "missing": _mend_missing,
    "metadata": _mend_metadata,
    "shared-message": _mend_shared_message,
    "shared-call": _mend_shared_call,
}

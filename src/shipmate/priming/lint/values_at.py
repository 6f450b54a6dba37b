"""Read the values around a line, so that a mend changes the one it means and nothing beside it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from shipmate.priming.script.block import is_heading, match_fence, split_metadata
from shipmate.priming.script.record import BLANKS
from shipmate.values.message import JsonObject
from shipmate.workspace.json import read_json
from shipmate.workspace.yaml.scalar import YamlError
from shipmate.workspace.yaml.yaml import read_yaml

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

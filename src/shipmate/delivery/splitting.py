"""Split words into messages that a platform takes: between paragraphs, lines, sentences or words.

A code block that has to be split is closed at the end of one message and opened again in the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from shipmate.values.event import AdapterCapabilities

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
# Where a text may be parted, the best places first; what matches stays with the first part.
BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?\u2026]['\")\]]*\s+|[\u3002\uff01\uff1f\uff1b][\u201d\u2019\uff09\u300d\u300f]*"),
    re.compile(r"\s+|[\uff0c\u3001,]"),
)
# A part shorter than this share of what fits is no good place to end.
SHARE = 0.4
# The line that opens a code block anew takes less than this share of what fits.
HEAD_SHARE = 0.25


def measure(counts: str) -> Callable[[str], int]:
    """Return how a platform counts the length of a text."""
    match counts:
        case "utf16":
            return lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2
        case "bytes":
            return lambda text: len(text.encode("utf-8", "surrogatepass"))
        case _:
            return len


def split(text: str, capabilities: AdapterCapabilities, *, reserve: int = 0) -> list[str]:
    """Return the messages a text takes, each within the platform's limit less a reserve."""
    count = measure(capabilities.counts)
    limit = max(16, capabilities.max_message_chars - reserve)
    parts: list[str] = []
    rest = text.strip()
    while count(rest) > limit:
        part, rest = _cut(rest, limit, count)
        parts.append(part)
    return [*parts, rest] if rest else parts


def clip(text: str, capabilities: AdapterCapabilities) -> str:
    """Return the beginning of a text that fits into one message."""
    parts = split(text, capabilities, reserve=4)
    return parts[0] if len(parts) == 1 else f"{parts[0]} …"


def _cut(text: str, limit: int, count: Callable[[str], int]) -> tuple[str, str]:
    """Return a first part that fits, and the rest."""
    fitting = _fit(text, limit, count)
    end = _find_border(text[:fitting])
    fence = _open_fence(text[:end])
    if fence is None or count(fence[1]) >= limit * HEAD_SHARE:
        return text[:end].rstrip(), text[end:].lstrip()
    start, mark, label = fence
    # A block that begins late is moved whole.
    if start > SHARE * fitting:
        return text[:start].rstrip(), text[start:]
    room = limit - count(mark) - 1
    end = _find_border(text[: _fit(text, room, count)])
    if end <= start + len(mark) + len(label) + 1:
        end = _fit(text, room, count)
    # What stands behind the mark may be anything; opened again with all of it, a block might never end.
    again = f"{mark}{label}" if count(f"{mark}{label}") < limit * HEAD_SHARE else mark
    return f"{text[:end].rstrip()}\n{mark}", f"{again}\n{text[end:].lstrip(chr(10))}"


def _fit(text: str, limit: int, count: Callable[[str], int]) -> int:
    """Return how many characters of a text fit; at least one, so that there is an end."""
    low, high = 1, min(len(text), limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= limit else (low, middle - 1)
    return low


def _find_border(text: str) -> int:
    for border in BORDERS:
        ends = [found.end() for found in border.finditer(text)]
        if ends and ends[-1] >= SHARE * len(text):
            return ends[-1]
    return len(text)


def _open_fence(text: str) -> tuple[int, str, str] | None:
    """Return where a code block begins that has not ended, its mark and what stands behind it."""
    found: tuple[int, str, str] | None = None
    for fence in FENCE.finditer(text):
        mark, label = fence[1], fence[2]
        if found is None:
            found = (fence.start(), mark, label)
        elif mark.startswith(found[1]) and not label.strip():
            found = None
    return found

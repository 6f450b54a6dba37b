"""Show tool calls in one line each."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec

from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

LENGTH = 72
# The argument that tells most about a call, best first.
TELLING = ("command", "path", "file_path", "pattern", "url", "query", "name")
# Codes that would move the cursor, change colours or ring; text from tools may hold them.
CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
MARKS = {
    "input-streaming": "…",
    "input-available": "…",
    "approval-requested": "?",
    "approval-responded": "…",
    "output-available": "✓",
    "output-error": "✗",
    "output-denied": "⊘",
}


def clean(text: str) -> str:
    """Take out what would steer the terminal."""
    return CONTROL.sub("", text)


def shorten(text: str, length: int = LENGTH) -> str:
    """Put a text on one line of limited width, as wide as it looks on a screen."""
    line = " ".join(clean(text).split())
    width = 0
    for place, character in enumerate(line):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > length:
            return f"{line[: max(0, place - 1)]}…"
    return line


def describe_arguments(arguments: Any, length: int = LENGTH) -> str:
    """Say in a few words what a call is about."""
    if not isinstance(arguments, dict):
        return shorten(reveal(str(arguments or "")), length)
    given: JsonObject = arguments
    telling = next((name for name in TELLING if isinstance(given.get(name), str)), None)
    rest = [f"{name}={_compact(value)}" for name, value in given.items() if name != telling]
    return shorten(reveal(" ".join([str(given[telling]), *rest] if telling else rest)), length)


def describe_call(
    part: JsonObject, name: str, milliseconds: int | None = None, *, length: int = LENGTH
) -> str:
    """Write a tool part as one line: how it stands, its name, what it is about, how long it took."""
    state = str(part.get("state", ""))
    pieces = [MARKS.get(state, "…"), reveal(name), describe_arguments(part.get("input"), length)]
    if state == "output-error":
        pieces.append(f"— {shorten(reveal(clean(str(part.get('errorText', '')))), length)}")
    if state == "output-denied":
        reason = (part.get("approval") or {}).get("reason")
        pieces.append(f"— denied: {shorten(reveal(str(reason)), length)}" if reason else "— denied")
    if milliseconds is not None:
        pieces.append(f"({describe_time(milliseconds)})")
    return " ".join(piece for piece in pieces if piece)


def describe_time(milliseconds: int) -> str:
    """Write a duration the way people say it."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1_000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

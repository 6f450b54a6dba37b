"""Show tool calls in one line each."""

from __future__ import annotations

from typing import Any

import msgspec

from shipmate.cli.terminal.width import cut
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal, reveal_prose

LENGTH = 72
# The argument that tells most about a call, best first.
TELLING = ("command", "path", "file_path", "pattern", "url", "query", "name")
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
    """Return a text of others so that it cannot steer the terminal: what would do so is written out."""
    return reveal_prose(text)


def shorten(text: str, length: int = LENGTH) -> str:
    """Put a text on one line of limited width, as wide as it looks on a screen."""
    return cut(" ".join(clean(text).split()), length)


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

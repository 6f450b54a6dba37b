"""Say in a few words what became of tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shipmate.models.rehearsal.language import say
from shipmate.models.rehearsal.offline import step_calls
from shipmate.values.message import JsonObject, UIMessage, tool_name

SHOWN_LINES = 12
SHOWN_LENGTH = 1_200
OBJECT_LENGTH = 60
# The argument that names what a call was about, and the fields that hold what it gave, best first.
OBJECTS = ("command", "path", "file_path", "pattern", "url", "query", "name")
TEXTS = ("text", "content", "output", "stdout", "result", "message")


def last_calls(messages: Sequence[UIMessage]) -> list[JsonObject]:
    """Return the tool parts of the step that was just taken."""
    # A pin or a course may have been noted while a call waited for its answer.
    latest = next((message for message in reversed(messages) if message["role"] != "system"), None)
    steps = step_calls(latest) if latest else []
    return steps[-1] if steps else []


def is_all_done(calls: Sequence[JsonObject]) -> bool:
    """Return whether every call gave a result."""
    return all(call.get("state") == "output-available" for call in calls)


def describe_outcomes(calls: Sequence[JsonObject], words: dict[str, str]) -> str:
    """Say of each call whether it worked, and show the beginning of what it gave."""
    return "\n\n".join(_describe(call, words) for call in calls)


def _describe(call: JsonObject, words: dict[str, str]) -> str:
    about: dict[str, Any] = {"tool": tool_name(call), "object": _object(call)}
    match call.get("state"):
        case "output-available":
            return _describe_output(text_output(call.get("output")), about, words)
        case "output-denied":
            reason = (call.get("approval") or {}).get("reason") or words["no-reason"]
            return say(words["outcome-denied"], reason=reason, **about)
        case _:
            return say(words["outcome-error"], reason=call.get("errorText") or words["no-reason"], **about)


def _describe_output(text: str, about: dict[str, Any], words: dict[str, str]) -> str:
    lines = text.rstrip("\n").split("\n")
    if not text.strip():
        return say(words["outcome-empty"], **about)
    shown = "\n".join(lines[:SHOWN_LINES])[:SHOWN_LENGTH]
    fence = "```"
    while fence in shown:
        fence += "`"
    head = say(words["outcome-line" if len(lines) == 1 else "outcome-text"], lines=len(lines), **about)
    more = "\n\n" + say(words["more"], count=len(lines) - SHOWN_LINES) if len(lines) > SHOWN_LINES else ""
    return f"{head}\n\n{fence}\n{shown}\n{fence}{more}"


def _object(call: JsonObject) -> str:
    given = call.get("input")
    if not isinstance(given, dict):
        return ""
    value = next((str(given[name]) for name in OBJECTS if given.get(name)), "")
    short = value if len(value) <= OBJECT_LENGTH else f"{value[:OBJECT_LENGTH]}…"
    return f" `{short}`" if short else ""


def text_output(output: Any) -> str:
    """Return the words of a tool's output, whatever its shape."""
    if isinstance(output, str):
        return output
    if isinstance(output, dict):
        found = next((output[name] for name in TEXTS if isinstance(output.get(name), str)), None)
        if found is not None:
            return found
    return "" if output is None else msgspec.json.encode(output).decode()

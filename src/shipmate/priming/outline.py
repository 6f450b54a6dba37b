"""Write a conversation as plain lines, without ids and numbers, so that two can be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from shipmate.priming.convert import to_messages
from shipmate.priming.pinned import without_pins
from shipmate.priming.script.record import Script
from shipmate.values.message import JsonObject, UIMessage, is_tool, tool_name

# What a member keeps for itself, or where a step begins, is nothing anybody said.
_UNSAID = frozenset({"step-start", "data-priming", "data-reply", "data-replaced", "data-request"})

# Words that read as a line of ours would: a conversation that only tells of a call is not one with a call.
_LIKE_OURS = re.compile(r"\\*(?:\[\w+\]$|(?:thought|result|error|denied): |call \S+: |[\w-]+: [{\[])")


def outline_script(script: Script) -> list[str]:
    """Return the lines of a script: what it says of itself, then what was said."""
    head = [f"title: {script.title}"] if script.title else []
    head += [f"for: {member}" for member in script.applicable]
    head += [f"reminder: {line}" for each in script.reminders for line in _lines(each.get("content"))]
    return [*head, *outline_messages(to_messages(script.records))]


def outline_messages(messages: Sequence[UIMessage]) -> list[str]:
    """Return the lines of what was said and done, in order."""
    return [line for message in without_pins(messages) for line in _outline(message)]


def _outline(message: UIMessage) -> Iterator[str]:
    yield f"[{message['role']}]"
    for part in message["parts"]:
        yield from _outline_part(part)
    yield ""


def _outline_part(part: JsonObject) -> Iterator[str]:
    kind = part.get("type")
    if kind == "text":
        yield from map(_mark_words, _lines(part.get("text")))
    elif kind == "reasoning":
        yield from (f"thought: {line}" for line in _lines(part.get("text")))
    elif is_tool(part):
        yield f"call {tool_name(part)}: {_write(part.get('input'))}"
        if "output" in part:
            yield from (f"result: {line}" for line in _lines(part["output"]))
        elif "errorText" in part or part.get("state") == "output-denied":
            name = "denied" if part.get("state") == "output-denied" else "error"
            yield from (f"{name}: {line}" for line in _lines(part.get("errorText", "")))
    elif kind not in _UNSAID:
        yield f"{kind}: {_write({key: value for key, value in part.items() if key not in ('type', 'id')})}"


def _mark_words(line: str) -> str:
    return f"\\{line}" if _LIKE_OURS.match(line) else line


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else _write(value)
    return text.split("\n")


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)

"""Describe AI SDK `UIMessage` rows and their parts.

Messages are plain JSON objects with typed accessors rather than classes: whatever a newer writer adds (a part
type, a field) survives reading and writing untouched.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

import msgspec

JsonObject: TypeAlias = dict[str, Any]
Role = Literal["system", "user", "assistant"]
ToolState = Literal[
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
]

SETTLED_STATES: frozenset[str] = frozenset({"output-available", "output-error", "output-denied"})
# Compiled when first needed: a class of so many characters takes milliseconds.
CJK = r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
FIRST_CJK = "\u2e80"
CHARACTERS_PER_TOKEN = 3.6


class Metadata(TypedDict, total=False):
    """The metadata keys Shipmate writes; others are kept as they are."""

    timestamp: str
    platform: str
    userId: str
    messageId: str
    threadId: str
    course: int
    runId: str
    correlationId: str
    sourceTag: str
    # What a thread that begins with it is called.
    title: str
    # How a person is called in a group.
    speaker: str
    toolMs: dict[str, int]
    # Calls of tools that are the asking program's own, and why an answer ended early.
    clientCalls: dict[str, bool]
    ending: str


class UIMessage(TypedDict):
    """One AI SDK message: an id, a role, its parts and minimal metadata."""

    id: str
    role: Role
    parts: list[JsonObject]
    metadata: NotRequired[JsonObject]


def new_id(prefix: str) -> str:
    """Make an id that sorts by time and never repeats."""
    return f"{prefix}_{time.time_ns() // 1_000_000:011x}{secrets.token_hex(6)}"


def timestamp(moment: datetime | None = None) -> str:
    """Format a moment (now by default) as ISO 8601 in UTC with milliseconds."""
    at = datetime.now(UTC) if moment is None else moment.astimezone(UTC)
    return f"{at.isoformat(timespec='milliseconds')[:-6]}Z"


def text_part(text: str) -> JsonObject:
    """Make a finished text part."""
    return {"type": "text", "text": text, "state": "done"}


def data_part(name: str, data: Any, part_id: str | None = None) -> JsonObject:
    """Make a `data-<name>` part, which clients show and models never see."""
    part: JsonObject = {"type": f"data-{name}", "data": data}
    if part_id is not None:
        part["id"] = part_id
    return part


def user_message(message_id: str, text: str, metadata: JsonObject | None = None) -> UIMessage:
    """Make a user message with one text part."""
    return {
        "id": message_id,
        "role": "user",
        "metadata": metadata or {},
        "parts": [{"type": "text", "text": text}],
    }


def is_tool(part: JsonObject) -> bool:
    """Return whether a part is a tool call, static (`tool-<name>`) or dynamic."""
    kind = part.get("type")
    return (
        isinstance(kind, str)
        and (kind.startswith("tool-") or kind == "dynamic-tool")
        and "toolCallId" in part
    )


def tool_name(part: JsonObject) -> str:
    """Return the tool a tool part calls."""
    kind: str = part["type"]
    return str(part.get("toolName", "")) if kind == "dynamic-tool" else kind.removeprefix("tool-")


def is_settled(part: JsonObject) -> bool:
    """Return whether a tool part has its final result, error or denial."""
    return part.get("state") in SETTLED_STATES and part.get("preliminary") is not True


def tool_parts(message: UIMessage) -> Iterator[JsonObject]:
    """Go over the tool parts of a message in call order."""
    return (part for part in message["parts"] if is_tool(part))


def client_calls(message: UIMessage) -> list[JsonObject]:
    """List the calls that wait for the program whose tools they name."""
    theirs = metadata_of(message).get("clientCalls")
    if not isinstance(theirs, dict):
        return []
    return [part for part in tool_parts(message) if part["toolCallId"] in theirs and not is_settled(part)]


def text_of(message: UIMessage) -> str:
    """Join the text parts of a message."""
    return "\n\n".join(
        str(part["text"]) for part in message["parts"] if part.get("type") == "text" and part.get("text")
    )


def metadata_of(message: UIMessage) -> JsonObject:
    """Return a message's metadata, empty when it has none."""
    found = message.get("metadata")
    return found if isinstance(found, dict) else {}


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes; a text of any length takes at least one."""
    if not text:
        return 0
    is_narrow = text.isascii() or max(text) < FIRST_CJK
    wide = 0 if is_narrow else len(re.findall(CJK, text))
    return max(1, round(wide + (len(text) - wide) / CHARACTERS_PER_TOKEN))


def message_tokens(message: UIMessage) -> int:
    """Estimate the tokens of one message: its words, and what its calls took and gave."""
    return sum(estimate_tokens(_part_text(part)) for part in message["parts"])


def json_text(value: Any) -> str:
    """Return a text as it is, anything else as JSON, nothing as no text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _part_text(part: JsonObject) -> str:
    text = part.get("text")
    if isinstance(text, str):
        return text
    if "toolCallId" in part:
        return msgspec.json.encode([part.get("input"), part.get("output"), part.get("errorText")]).decode()
    return ""

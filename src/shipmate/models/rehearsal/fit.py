"""Turn an intent into arguments that a tool's own schema accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shipmate.models.port import ToolSpec
from shipmate.models.rehearsal.intent import Intent
from shipmate.values.message import JsonObject

# The names a tool of each kind goes by, the usual one first.
TOOLS: dict[str, tuple[str, ...]] = {
    "read": ("read", "read_file"),
    "glob": ("glob", "list_files"),
    "grep": ("grep", "search_files"),
    "exec": ("exec", "exec_shell"),
    "write": ("write", "write_file"),
    "edit": ("edit", "edit_file"),
    "web_fetch": ("web_fetch",),
    "memory_upsert": ("memory_upsert",),
    "recall": ("memory_search", "memory_recall", "memory_read"),
    "show_image": ("show_image",),
    "send_file": ("send_file",),
    "jobs": ("job",),
}
# The names an argument of each role goes by.
NAMES: dict[str, tuple[str, ...]] = {
    "path": ("path", "file_path", "filePath", "file", "filename"),
    "pattern": ("pattern", "glob", "query", "regex"),
    "command": ("command", "cmd"),
    "content": ("content", "text", "fact", "body", "value"),
    "old": ("old", "old_text", "old_string", "oldText"),
    "new": ("new", "new_text", "new_string", "newText"),
    "url": ("url", "address"),
    "query": ("query", "pattern", "text", "topic"),
    "background": ("background",),
    "action": ("action",),
}
DEFAULTS: dict[str, dict[str, str]] = {"glob": {"pattern": "*"}, "jobs": {"action": "list"}}
BLANKS: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
SUBJECT_LENGTH = 40


class Fitted(msgspec.Struct, frozen=True):
    """A call ready to make."""

    intent: Intent
    tool: str
    arguments: str


def fit(intent: Intent, tools: Sequence[ToolSpec]) -> Fitted | None:
    """Make the call an intent asks for; None when no such tool is on offer."""
    if intent.kind == "call":
        named = _find((intent.slots["tool"],), tools)
        return Fitted(intent, named.name, intent.slots.get("arguments", "{}")) if named else None
    tool = _find(TOOLS[intent.kind], tools)
    if tool is None:
        return None
    arguments = _arguments({**DEFAULTS.get(intent.kind, {}), **intent.slots}, tool.schema)
    return Fitted(intent, tool.name, msgspec.json.encode(arguments).decode())


def tool_named(intent: Intent) -> str:
    """Return the usual name of the tool an intent needs."""
    return intent.slots["tool"] if intent.kind == "call" else TOOLS[intent.kind][0]


def _find(names: Sequence[str], tools: Sequence[ToolSpec]) -> ToolSpec | None:
    return next((tool for name in names for tool in tools if tool.name == name), None)


def _arguments(slots: dict[str, str], schema: JsonObject) -> JsonObject:
    properties: JsonObject = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    given: JsonObject = {}
    for role, value in slots.items():
        free = next((name for name in required if name not in given and _is_text(properties[name])), None)
        name = next((name for name in NAMES.get(role, ()) if name in properties and name not in given), free)
        if name is not None:
            given[name] = value if _is_text(properties[name]) or "enum" in properties[name] else True
    subject = next(iter(slots.values()), "")[:SUBJECT_LENGTH]
    return given | {name: _blank(properties[name], subject) for name in required if name not in given}


def _is_text(schema: JsonObject) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


def _blank(schema: JsonObject, subject: str) -> Any:
    """Make up a value for an argument the person did not mention."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    return BLANKS.get(str(schema.get("type")), subject)

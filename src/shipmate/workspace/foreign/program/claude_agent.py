"""Read an agent of Claude Code, a file with front matter, as the settings of a member."""

from __future__ import annotations

from typing import Any

from shipmate.values.message import JsonObject

# What its tools are called here; a tool that is not among them is not offered.
TOOLS = {
    "Read": "read",
    "Grep": "grep",
    "Glob": "glob",
    "LS": "glob",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "write",
    "Bash": "exec",
    "WebFetch": "web_fetch",
}


def take_settings(front: JsonObject) -> JsonObject:
    """Return the settings of a member that an agent's front matter states; its model is not taken over."""
    found = {key: front[key] for key in ("name", "description") if isinstance(front.get(key), str)}
    if isinstance(front.get("color"), str):
        found["colour"] = front["color"]
    if front.get("tools") is not None and front["tools"] != "*":
        found["tools"] = _convert(front["tools"])
    if denied := _convert(front.get("disallowedTools")):
        found["permissions"] = {"deny": denied}
    return found


def _convert(names: Any) -> list[str]:
    """Return our names of its tools, of a list or of words between commas; `Bash(git *)` is a tool too."""
    words = names.split(",") if isinstance(names, str) else names if isinstance(names, list) else []
    given = [str(word).partition("(")[0].strip() for word in words]
    found = [TOOLS.get(name, name if name.startswith("mcp__") else "") for name in given]
    return list(dict.fromkeys(name for name in found if name))

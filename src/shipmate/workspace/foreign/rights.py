"""Say how the rights that Claude Code was given are written in ship.json; none is taken over unasked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import dig
from shipmate.workspace.foreign.recognised import Unused

RULE = re.compile(r"(Bash|Read|Edit|Write|WebFetch)(?:\((.+)\))?")
TOOLS = {"Bash": "exec", "Read": "read", "Edit": "edit", "Write": "write", "WebFetch": "web_fetch"}
WHY = "rights are given in ship.json; until then whatever acts asks"


def find_rights(file: str, settings: JsonObject) -> Iterator[Unused]:
    """Go over the lists of rights in settings, each with the lines that say the same."""
    for key in ("allow", "ask", "deny"):
        rules = dig(settings, "permissions", key)
        if isinstance(rules, list) and rules:
            same = [ours for rule in rules if isinstance(rule, str) and (ours := _convert(rule))]
            lines: JsonObject = {"permissions": {key: same}} if same else {}
            yield Unused(what=f"{file}: permissions.{key} ({len(rules)})", why=WHY, lines=lines)


def _convert(rule: str) -> str:
    """Return the rule that says the same here; empty where there is none."""
    match = RULE.fullmatch(rule.strip())
    if match is None:
        return ""
    tool, inner = TOOLS[match[1]], match[2]
    if inner is None:
        return tool
    if tool == "exec":
        # `npm run:*` there is `npm run *` here.
        command = f"{inner[:-2]} *" if inner.endswith(":*") else inner
        return f"exec({command})"
    inner = inner.removeprefix("domain:").removeprefix("./")
    return "" if inner.startswith(("/", "~", "..")) else f"{tool}({inner})"

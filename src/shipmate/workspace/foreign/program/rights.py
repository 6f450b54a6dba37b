"""Read the rights that Claude Code was given: what it may not do binds here too, what it may do is named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import dig
from shipmate.workspace.foreign.recognised import Unused

# Of a command only plain words; of a path no way out of the workspace.
RULE = re.compile(r"(Bash|Read|Edit|Write|WebFetch)(?:\(([\w ./*@:+=,-]+)\))?")
TOOLS = {"Bash": "exec", "Read": "read", "Edit": "edit", "Write": "write", "WebFetch": "web_fetch"}


def find_denied(settings: JsonObject) -> list[str]:
    """Return the rules of what may not be done, as far as they can be said here."""
    return [ours for rule in _rules(settings, "deny") if (ours := _convert(rule))]


def find_rights(file: str, settings: JsonObject) -> Iterator[Unused]:
    """Go over the rights that are not taken over, with the lines that say the same."""
    for key in ("allow", "ask"):
        if rules := _rules(settings, key):
            same = [ours for rule in rules if (ours := _convert(rule))]
            lines: JsonObject = {"permissions": {key: same}} if same else {}
            why = "rights are given in ship.json; until then whatever acts asks"
            yield Unused(what=f"{file}: permissions.{key} ({len(rules)})", why=why, lines=lines)
    for rule in _rules(settings, "deny"):
        if not _convert(rule):
            why = "no rule here says the same; write the nearest one into ship.json"
            yield Unused(what=f"{file}: permissions.deny {rule}", why=why)


def _rules(settings: JsonObject, key: str) -> list[str]:
    found = dig(settings, "permissions", key)
    return [rule.strip() for rule in found if isinstance(rule, str)] if isinstance(found, list) else []


def _convert(rule: str) -> str:
    """Return the rule that says the same here; empty where there is none."""
    match = RULE.fullmatch(rule)
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
    return "" if inner.startswith(("/", "~")) or ".." in inner.split("/") else f"{tool}({inner})"

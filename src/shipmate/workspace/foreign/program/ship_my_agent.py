"""Read a ship.json of ShipMyAgent: what fits is taken over, rights only where they tighten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.foreign_file import read_head, read_settings, text_at
from shipmate.workspace.foreign.recognised import Recognised, Unused

PROGRAM = "ShipMyAgent"
# Its files are called as ours are.
AGENT = "Agent.md"
SHIP = "ship.json"
RIGHTS = ("read_repo", "write_repo", "exec_shell", "open_pr", "merge")
# Which of our tools each right is about.
TOOLS = {"read_repo": ("read", "grep", "glob"), "write_repo": ("write", "edit"), "exec_shell": ("exec",)}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PROVIDERS = {"custom": "openai-compatible", "deepseek": "openai-compatible", "moonshot": "openai-compatible"}
# What stands in every ship.json of theirs for these providers, and is where our client goes anyway.
USUAL = {"anthropic": "https://api.anthropic.com/v1", "openai": "https://api.openai.com/v1"}


def recognise_ship(root: Path) -> Recognised | None:
    """Return a folder with an Agent.md whose ship.json is ShipMyAgent's; None for one of ours."""
    raw = read_settings(root / SHIP)
    if not is_theirs(raw):
        return None
    # Nearly every folder is ours, and need not wait for these.
    from shipmate.workspace.foreign.given_name import name_in_heading
    from shipmate.workspace.foreign.program.coding_agent import survey_project

    _, unused = take_over(raw)
    idle, keys = survey_project(root)
    return Recognised(
        program=PROGRAM,
        root=root,
        kind="agent",
        signs=(AGENT, SHIP),
        name=text_at(raw, "name") or name_in_heading(read_head(root / AGENT)) or root.name,
        unused=(*unused, *idle),
        secrets=tuple(keys),
    )


def is_theirs(raw: JsonObject) -> bool:
    """Return whether a ship.json has a key that only ShipMyAgent writes."""
    permissions = raw.get("permissions")
    has_rights = isinstance(permissions, dict) and any(key in permissions for key in RIGHTS)
    return "integrations" in raw or "start" in raw or has_rights


def take_over(raw: JsonObject) -> tuple[JsonObject, list[Unused]]:
    """Return a ship.json of theirs as one of ours, and what has no effect; one of ours stays as it is."""
    if not is_theirs(raw):
        return raw, []
    unused: list[Unused] = []
    found = {key: value for key, value in raw.items() if key not in ("integrations", "start")}
    if isinstance(raw.get("integrations"), dict):
        found.setdefault("adapters", raw["integrations"])
    if isinstance(raw.get("start"), dict):
        found.setdefault("server", _take_server(raw["start"], unused))
    if isinstance(raw.get("llm"), dict):
        found["llm"] = _take_model(raw["llm"])
    if isinstance(raw.get("permissions"), dict):
        found["permissions"] = _take_rights(raw["permissions"], unused)
    for key in ("oss", "cloudFiles"):
        if found.pop(key, None) is not None:
            unused.append(Unused(what=f"ship.json: {key}", why="files are not kept with a provider here"))
    return found, unused


def _take_server(start: JsonObject, unused: list[Unused]) -> JsonObject:
    host = start.get("host")
    if isinstance(host, str) and host not in LOOPBACK:
        why = "the page is not opened to other machines unasked"
        unused.append(Unused(what=f"ship.json: start.host {host}", why=why, lines={"server": {"host": host}}))
        host = None
    if start.get("interactiveWeb"):
        unused.append(Unused(what="ship.json: start.interactiveWeb", why="the page is always there"))
    port = start.get("port")
    return {key: value for key, value in (("port", port), ("host", host)) if value is not None}


def _take_model(llm: JsonObject) -> JsonObject:
    found = {key: value for key, value in llm.items() if key not in IDLE_MODEL}
    provider = found.get("provider")
    if isinstance(provider, str):
        found["provider"] = PROVIDERS.get(provider, provider)
        if found.get("baseUrl") == USUAL.get(provider):
            found.pop("baseUrl", None)
    return found


IDLE_MODEL = ("logMessages", "frequencyPenalty", "presencePenalty", "anthropicVersion")


def _take_rights(rights: JsonObject, unused: list[Unused]) -> JsonObject:
    """Return their rights as ours: what they forbid is forbidden, what they allow asks as everything does."""
    found: JsonObject = {key: value for key, value in rights.items() if key not in RIGHTS}
    denied = list(found.get("deny", ()))
    for right, tools in TOOLS.items():
        given = rights.get(right)
        if given is False:
            denied += tools
        elif isinstance(given, dict):
            denied += _take_denials(given, unused)
            _note_paths(right, given, unused)
        if given is True and right != "read_repo":
            unused.append(_loosened(right))
    for right in ("open_pr", "merge"):
        if right in rights:
            why = "there is no tool for it; a command that does it asks like any other"
            unused.append(Unused(what=f"ship.json: permissions.{right}", why=why))
    return {**found, "deny": denied} if denied else found


def _take_denials(given: JsonObject, unused: list[Unused]) -> list[str]:
    if given.get("requiresApproval") is False:
        unused.append(_loosened("exec_shell"))
    names = _words(given.get("deny"))
    allowed = _words(given.get("allow"))
    if allowed:
        why = "a command is allowed here by a rule that names it whole"
        unused.append(Unused(what="ship.json: permissions.exec_shell.allow", why=why, lines=_allow(allowed)))
    return [rule for name in names for rule in (f"exec({name})", f"exec({name} *)")]


def _allow(names: list[str]) -> JsonObject:
    return {"permissions": {"allow": [f"exec({name})" for name in names]}}


def _note_paths(right: str, given: JsonObject, unused: list[Unused]) -> None:
    paths = _words(given.get("paths"))
    if paths and right == "write_repo":
        why = "every write asks; add these lines to have writes in these places run unasked"
        rules = [f"{tool}({path})" for path in paths for tool in ("write", "edit")]
        unused.append(
            Unused(
                what="ship.json: permissions.write_repo.paths",
                why=why,
                lines={"permissions": {"allow": rules}},
            )
        )
    elif paths:
        why = "whatever lies in the workspace can be read, but for files that hold secrets"
        unused.append(Unused(what=f"ship.json: permissions.{right}.paths", why=why))


def _loosened(right: str) -> Unused:
    return Unused(
        what=f"ship.json: permissions.{right}",
        why="whatever acts asks; allow what you want by rules of its own",
    )


def _words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str) and word] if isinstance(value, list) else []

"""Recognise what OpenClaw leaves on disk: its home folder with openclaw.json, and the workspace inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.agent_file import find_idle, find_name, has
from shipmate.workspace.foreign.clear_key import find_keys
from shipmate.workspace.foreign.foreign_file import dig, is_folder, object_at, read_settings, text_at
from shipmate.workspace.foreign.mcp_entry import find_servers
from shipmate.workspace.foreign.model_entry import describe_model
from shipmate.workspace.foreign.recognised import Recognised, Unused

PROGRAM = "OpenClaw"
# It was called otherwise before; the folders stayed.
CONFIGS = ("openclaw.json", "moltbot.json", "clawdbot.json")
INNER = "workspace"
OWN = ("BOOTSTRAP.md", "IDENTITY.md", "TOOLS.md")
SHARED = ("AGENTS.md", "SOUL.md", "USER.md", "HEARTBEAT.md", "MEMORY.md")


def recognise_openclaw(root: Path) -> Recognised | None:
    """Return OpenClaw's home folder or workspace as what it is; None for any other folder."""
    if (names := has(root, *CONFIGS)) and is_folder(root / INNER):
        return _describe(root / INNER, root / names[0], (names[0], f"{INNER}/"))
    signs = has(root, *OWN, *SHARED)
    # An agent beside the first has its workspace in `workspace-<id>`.
    if root.name.startswith(INNER) and (names := has(root.parent, *CONFIGS)):
        return _describe(root, root.parent / names[0], (f"../{names[0]}", *signs))
    is_own = any(name in signs for name in OWN) and any(name in signs for name in SHARED)
    # Early versions of nanobot had the same files, and kept what they remembered elsewhere.
    is_own = is_own and not has(root, "memory/MEMORY.md", "memory/history.jsonl")
    return _describe(root, None, tuple(signs)) if is_own and "AGENTS.md" in signs else None


def _describe(root: Path, config: Path | None, signs: tuple[str, ...]) -> Recognised:
    settings = read_settings(config) if config else {}
    place = f"../{config.name}" if config else ""
    return Recognised(
        program=PROGRAM,
        root=root,
        kind="agent",
        signs=signs,
        profile="nanobot",
        name=find_name(root) or _configured_name(settings) or PROGRAM,
        unused=(*_find_unused(place, root, settings), *find_idle(root)),
        secrets=tuple(find_keys(settings)),
    )


def _configured_name(settings: JsonObject) -> str:
    for agent in _agents(settings):
        name = text_at(agent, "identity", "name")
        # `main` is the id of the first agent, not a name that somebody gave.
        if name and name != "main":
            return name
    return ""


def _agents(settings: JsonObject) -> list[JsonObject]:
    listed = dig(settings, "agents", "list")
    entries = object_at(settings, "agents", "entries").values()
    return [
        each for each in (*(listed if isinstance(listed, list) else ()), *entries) if isinstance(each, dict)
    ]


def _find_unused(place: str, root: Path, settings: JsonObject) -> Iterator[Unused]:
    model = dig(settings, "agents", "defaults", "model")
    if name := model.strip() if isinstance(model, str) else text_at(model, "primary"):
        yield describe_model(place, "", name)
    for name, channel in object_at(settings, "channels").items():
        if isinstance(channel, dict) and channel.get("enabled") is not False:
            yield Unused(what=f"{place}: channel {name}", why="chat platforms are not there yet")
    yield from find_servers(place, settings, "mcp", "servers")
    for agent in _agents(settings):
        home = text_at(agent, "workspace")
        if home and Path(home).name != root.name:
            yield Unused(
                what=f"{place}: agent {text_at(agent, 'name') or text_at(agent, 'id')}",
                why=f"it has a folder of its own; open it there: {Path(home).name}",
            )

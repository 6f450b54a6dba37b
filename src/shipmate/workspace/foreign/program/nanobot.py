"""Recognise what nanobot leaves on disk: its home folder with config.json, and the workspace inside."""

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

PROGRAM = "nanobot"
CONFIG = "config.json"
INNER = "workspace"
# Of the files of its workspace, those no other program places so.
OWN = ("memory/MEMORY.md", "memory/history.jsonl", "prompts/README.md")
SHARED = ("AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md")


def recognise_nanobot(root: Path) -> Recognised | None:
    """Return nanobot's home folder or workspace as what it is; None for any other folder."""
    settings = read_settings(root / CONFIG)
    if _is_config(settings) and is_folder(root / INNER):
        return _describe(root / INNER, settings, (CONFIG, f"{INNER}/"))
    signs = has(root, *OWN, *SHARED)
    above = read_settings(root.parent / CONFIG) if root.name == INNER else {}
    if _is_config(above):
        return _describe(root, above, (f"../{CONFIG}", *signs))
    is_own = any(name in signs for name in OWN) and any(name in signs for name in SHARED)
    is_plain = "SOUL.md" in signs and ("AGENTS.md" in signs or "USER.md" in signs or "HEARTBEAT.md" in signs)
    return _describe(root, {}, tuple(signs)) if is_own or is_plain or signs == ["SOUL.md"] else None


def _is_config(settings: JsonObject) -> bool:
    return bool(object_at(settings, "agents", "defaults"))


def _describe(root: Path, settings: JsonObject, signs: tuple[str, ...]) -> Recognised:
    return Recognised(
        program=PROGRAM,
        root=root,
        kind="agent",
        signs=signs,
        profile="nanobot",
        name=find_name(root) or text_at(settings, "agents", "defaults", "botName") or PROGRAM,
        unused=(*_find_unused(settings), *find_idle(root)),
        secrets=tuple(find_keys(settings)),
    )


def _find_unused(settings: JsonObject) -> Iterator[Unused]:
    place = f"../{CONFIG}"
    defaults = object_at(settings, "agents", "defaults")
    if model := text_at(defaults, "model"):
        yield describe_model(place, text_at(defaults, "provider"), model)
    channels = object_at(settings, "channels")
    for name in channels:
        if dig(channels, name, "enabled") is True:
            yield Unused(what=f"{place}: channel {name}", why="chat platforms are not there yet")
    yield from find_servers(place, settings, "tools", "mcpServers")
    if names := [name for name in dig(defaults, "disabledSkills") or [] if isinstance(name, str)]:
        yield Unused(
            what=f"{place}: disabledSkills",
            why="skills are chosen in ship.json",
            lines={"skills": {"disabled": names}},
        )
    if zone := text_at(defaults, "timezone") if text_at(defaults, "timezoneMode") == "fixed" else "":
        yield Unused(
            what=f"{place}: timezone", why="the zone is chosen in ship.json", lines={"timezone": zone}
        )

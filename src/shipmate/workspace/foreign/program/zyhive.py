"""Recognise what ZyHive leaves on disk: its data folder, an agent's folder, and the workspace inside."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from shipmate.values.message import JsonObject
from shipmate.workspace.foreign.agent_file import find_idle, find_name, has
from shipmate.workspace.foreign.clear_key import find_keys
from shipmate.workspace.foreign.foreign_file import dig, is_folder, list_names, read_settings, text_at
from shipmate.workspace.foreign.model_entry import describe_model
from shipmate.workspace.foreign.recognised import Recognised, Unused
from shipmate.workspace.layout import CAPTAIN, MEMBER_ID

PROGRAM = "ZyHive"
CONFIG = "config.json"
PANEL = "aipanel.json"
AGENTS = "agents"
INNER = "workspace"
SHARED = ("IDENTITY.md", "SOUL.md")
INDEX = "memory/INDEX.md"
# Settings of an agent that have no effect here.
IDLE_SETTINGS = {
    "env": "private variables are set in ship.json, where their values come from the environment",
    "toolPolicy": "rights are set in ship.json; until then whatever acts asks",
    "heartbeat": "nothing runs by the clock here",
    "toolIds": "tools are chosen in ship.json",
}


def recognise_zyhive(root: Path) -> Recognised | None:
    """Return ZyHive's data folder, an agent's folder or workspace as what it is; None for any other."""
    if agents := _find_agents(root):
        return _describe_data(root, agents)
    settings = read_settings(root / CONFIG)
    if _is_agent(settings) and is_folder(root / INNER):
        return _describe_agent(root / INNER, settings, (CONFIG, f"{INNER}/"))
    signs = has(root, INDEX, *SHARED)
    above = read_settings(root.parent / CONFIG) if root.name == INNER else {}
    if _is_agent(above):
        return _describe_agent(root, above, (f"../{CONFIG}", *signs))
    is_own = INDEX in signs and len(signs) > 1
    # What it writes for a new agent; nobody else leaves it at these two.
    is_new = len(signs) == len(SHARED) and not has(
        root, "AGENTS.md", "USER.md", "TOOLS.md", "memory/MEMORY.md"
    )
    return _describe_agent(root, {}, tuple(signs)) if is_own or is_new else None


def _is_agent(settings: JsonObject) -> bool:
    return bool(text_at(settings, "id") and text_at(settings, "name"))


def _find_agents(root: Path) -> dict[str, JsonObject]:
    """Return the settings of the agents of a data folder, those of ZyHive's own left out."""
    found: dict[str, JsonObject] = {}
    for name in list_names(root / AGENTS):
        folder = root / AGENTS / name
        if MEMBER_ID.fullmatch(name) and is_folder(folder / INNER):
            settings = read_settings(folder / CONFIG)
            if text_at(settings, "id") == name and settings.get("system") is not True:
                found[name] = settings
    return found


def _describe_data(root: Path, agents: dict[str, JsonObject]) -> Recognised:
    # An agent of that id is the captain, so that no list of its program means another by it.
    first = CAPTAIN if CAPTAIN in agents else next(iter(agents))
    panel = read_settings(root / PANEL)
    unused = list(_find_models(panel))
    listed = dig(panel, "models")
    models = {text_at(each, "id") for each in listed} if isinstance(listed, list) else None
    for name, settings in agents.items():
        folder = f"{AGENTS}/{name}"
        unused += [
            *_find_unused(f"{folder}/{CONFIG}", settings, models),
            *find_idle(root / folder / INNER, f"{folder}/{INNER}/"),
        ]
    return Recognised(
        program=PROGRAM,
        root=root,
        kind="agent",
        signs=(*has(root, PANEL), *(f"{AGENTS}/{name}/" for name in agents)),
        profile="zyhive",
        name=text_at(agents[first], "name") or first,
        description=text_at(agents[first], "description"),
        members={name: f"{AGENTS}/{name}/{INNER}" for name in agents},
        captain=f"{AGENTS}/{first}/{INNER}",
        unused=tuple(unused),
        secrets=(*find_keys(panel), *(key for settings in agents.values() for key in find_keys(settings))),
    )


def _describe_agent(root: Path, settings: JsonObject, signs: tuple[str, ...]) -> Recognised:
    return Recognised(
        program=PROGRAM,
        root=root,
        kind="agent",
        signs=signs,
        profile="zyhive",
        name=text_at(settings, "name") or find_name(root) or PROGRAM,
        description=text_at(settings, "description"),
        unused=(*_find_unused(f"../{CONFIG}", settings), *find_idle(root)),
        secrets=tuple(find_keys(settings)),
    )


def _find_models(panel: JsonObject) -> Iterator[Unused]:
    models = dig(panel, "models")
    for model in models if isinstance(models, list) else ():
        if text_at(model, "model") and dig(model, "isDefault") is True:
            yield describe_model(PANEL, text_at(model, "provider"), text_at(model, "model"))


def _find_unused(place: str, settings: JsonObject, models: Collection[str] | None = None) -> Iterator[Unused]:
    model = text_at(settings, "modelId") or text_at(settings, "model")
    if model and models is not None and model not in models:
        yield Unused(
            what=f"{place}: model {model}", why=f"{PANEL} has no such model; choose one in ship.json"
        )
    elif model:
        yield Unused(
            what=f"{place}: model {model}",
            why="it stands for an entry of ZyHive's own; choose one in ship.json",
        )
    channels = dig(settings, "channels")
    for channel in channels if isinstance(channels, list) else ():
        yield Unused(
            what=f"{place}: channel {text_at(channel, 'type') or '?'}", why="chat platforms are not there yet"
        )
    for key, why in IDLE_SETTINGS.items():
        if settings.get(key):
            names = sorted(settings[key]) if key == "env" and isinstance(settings[key], dict) else []
            lines: JsonObject = {"env": {name: "${" + name + "}" for name in names}} if names else {}
            yield Unused(what=f"{place}: {key}", why=why, lines=lines)

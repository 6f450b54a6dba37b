"""Say how the MCP servers of other programs are written in ship.json; none is started unasked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from shipmate.values.message import JsonObject
from shipmate.workspace.config import McpServer
from shipmate.workspace.foreign.foreign_file import object_at
from shipmate.workspace.foreign.recognised import Unused
from shipmate.workspace.secret.setting import VARIABLE, find_secrets

WHY = "no server of tools is started unasked: add these lines to ship.json when you trust it"
# What other programs call the same settings.
NAMES = {
    "command": "command",
    "args": "args",
    "env": "env",
    "url": "url",
    "httpUrl": "url",
    "serverUrl": "url",
}
HEADERS = ("headers", "http_headers")


def find_servers(file: str, settings: JsonObject, *keys: str) -> Iterator[Unused]:
    """Go over the servers that stand in the settings of another program, each with the lines to add."""
    for name, entry in object_at(settings, *keys).items():
        what = f"{file}: MCP server {name}"
        if not isinstance(entry, dict) or not (server := _convert(entry)):
            yield Unused(
                what=what, why="neither a command nor an address can be made out; mend the entry first"
            )
        else:
            yield Unused(what=what, why=WHY, lines={"mcp": {"servers": {name: _hide(name, server)}}})


def take_server(name: str, entry: Any, keep: Callable[[str, str], str] | None = None) -> JsonObject | None:
    """Return a server as ship.json states it, or None for none; `keep` names the variable of each key."""
    server = _convert(entry) if isinstance(entry, dict) else {}
    return _hide(name, server, keep) if server else None


def _convert(entry: JsonObject) -> JsonObject:
    found = {ours: entry[theirs] for theirs, ours in NAMES.items() if entry.get(theirs)}
    if headers := next((entry[key] for key in HEADERS if entry.get(key)), None):
        found["headers"] = headers
    try:
        made = msgspec.convert(found, McpServer)
    except msgspec.ValidationError:
        return {}
    # Lists in place of tuples, for the variables that take the place of keys.
    return msgspec.json.decode(msgspec.json.encode(made)) if made.command or made.url else {}


def _hide(name: str, server: JsonObject, keep: Callable[[str, str], str] | None = None) -> JsonObject:
    """Return a server with a variable in the place of whatever may be a key."""
    # Of one value several pieces may be found.
    for place in dict.fromkeys(place for place, _ in find_secrets({"mcp": {"servers": {name: server}}})):
        *way, last = place[3:]
        inner: Any = server
        for key in way:
            inner = _step(inner, key)
        value = _step(inner, last)
        if isinstance(value, str) and not VARIABLE.fullmatch(value):
            variable = _name_variable(name, way, last)
            inner[int(last) if isinstance(inner, list) else last] = (
                keep(variable, value) if keep else "${" + variable + "}"
            )
    return server


def _step(inner: Any, key: str) -> Any:
    return inner[int(key) if isinstance(inner, list) else key]


def _name_variable(server: str, way: list[str], last: str) -> str:
    words = [last] if way[:1] == ["env"] else [server, *way, last]
    name = re.sub(r"\W+", "_", "_".join(words), flags=re.ASCII).upper()
    return name if name[:1].isalpha() else f"MCP_{name}"

"""Know what a server offers, and remember it from one start to the next."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from shipmate.values.message import JsonObject
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import write_private

# Tools of one server that are offered.
TOOL_LIMIT = 128
# A schema goes into every request; a tool with a longer one is not offered.
SCHEMA_LIMIT = 16_000
NAME_LIMIT = 200
# Of a description's beginning, which is shortened further where it is shown.
WORDS_LIMIT = 4_000
# What was remembered longer ago is looked at again in the background.
REMEMBER_SECONDS = 86_400
FILE_LIMIT = 8_000_000
# Addresses of resources that are remembered, and the length of one.
RESOURCE_LIMIT = 1_000
URI_LIMIT = 2_000


class ForeignTool(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool as its server describes it."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: JsonObject = {}
    annotations: JsonObject | None = None

    @property
    def meaning(self) -> str:
        """Return a hash of all that a person or a model was told about it."""
        told = [self.title, self.description, self.input_schema, self.annotations]
        return hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()


class Offer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a server offers: its tools, and whether it has resources and prompts."""

    tools: tuple[ForeignTool, ...] = ()
    # Addresses of resources the server itself listed.
    resources: tuple[str, ...] = ()
    has_resources: bool = False
    has_prompts: bool = False
    # How many of its tools are not offered.
    left_out: int = 0

    def find(self, name: str) -> ForeignTool | None:
        """Return a tool by the name its server gives it."""
        return next((tool for tool in self.tools if tool.name == name), None)


def choose_addresses(entries: Iterable[JsonObject]) -> tuple[str, ...]:
    """Return the addresses of a list of resources, as many as are remembered."""
    found = (each.get("uri") for each in entries)
    fitting = (uri for uri in found if isinstance(uri, str) and 0 < len(uri) <= URI_LIMIT)
    return tuple(islice(dict.fromkeys(fitting), RESOURCE_LIMIT))


class _Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in a server's file."""

    server: str
    at: float
    offer: Offer


def choose_tools(
    entries: Iterable[JsonObject], wanted: tuple[str, ...] | None
) -> tuple[tuple[ForeignTool, ...], int]:
    """Return the tools that are offered of a list, and how many are not."""
    found: dict[str, ForeignTool] = {}
    left_out = 0
    for entry in entries:
        tool = _read(entry)
        if tool is not None and wanted is not None and tool.name not in wanted:
            continue
        if tool is None or tool.name in found or len(found) >= TOOL_LIMIT or not _fits(tool):
            left_out += 1
        else:
            found[tool.name] = tool
    return tuple(found.values()), left_out


def _read(entry: JsonObject) -> ForeignTool | None:
    try:
        tool = msgspec.convert(entry, ForeignTool)
    except msgspec.ValidationError:
        return None
    return tool if 0 < len(tool.name) <= NAME_LIMIT else None


def _fits(tool: ForeignTool) -> bool:
    return (
        len(msgspec.json.encode(tool.input_schema)) <= SCHEMA_LIMIT
        and len(msgspec.json.encode(tool.annotations)) <= SCHEMA_LIMIT
        and _is_schema(tool.input_schema)
    )


def _is_schema(schema: JsonObject) -> bool:
    """Return whether a provider can take a schema: one that it cannot take fails every request it is in."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        schema.get("type", "object") == "object"
        and isinstance(properties, dict)
        and all(isinstance(each, dict | bool) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(each, str) for each in required)
    )


class OfferFile:
    """The file in which is remembered what a server offered when it was last asked."""

    def __init__(self, path: Path, server: McpServer) -> None:
        self._path = path
        # Whatever makes it another server, or another choice of its tools.
        told: list[Any] = [server.command, server.args, server.env, server.url, server.headers, server.tools]
        self._server = hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()

    def read(self) -> tuple[Offer, bool] | None:
        """Return what was offered and whether that is of late; None when it is not known."""
        try:
            if self._path.stat().st_size > FILE_LIMIT:
                return None
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Remembered)
        except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
            # A memory that cannot be read is none; the server is asked.
            return None
        is_of_late = 0 <= time.time() - kept.at < REMEMBER_SECONDS
        return (kept.offer, is_of_late) if kept.server == self._server else None

    def write(self, offer: Offer) -> None:
        """Remember an offer."""
        kept = _Remembered(server=self._server, at=time.time(), offer=offer)
        write_private(self._path, msgspec.json.encode(kept))

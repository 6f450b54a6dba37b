"""Offer the tools of MCP servers under the same policy as our own."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.models.port import ToolSpec
from shipmate.tools.file.attachment import attach
from shipmate.tools.file.target import check_target
from shipmate.tools.mcp.link import McpLink
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.config import McpServer
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

if TYPE_CHECKING:
    from mcp.types import ContentBlock
    from mcp.types import Tool as ForeignTool

# What providers take as the name of a tool.
NAME_LIMIT = 64
ODD = re.compile(r"[^A-Za-z0-9_-]")
DESCRIPTION_LIMIT = 600


class McpArguments(msgspec.Struct, frozen=True):
    values: JsonObject


class McpTool(Tool[McpArguments]):
    """Be one tool of an MCP server."""

    arguments = McpArguments

    def __init__(self, link: McpLink, foreign: ForeignTool) -> None:
        self.name = name_tool(link.name, foreign.name)
        self.labels = Labels(
            reads_untrusted=True, reads_private=True, acts=foreign.name not in link.server.read_only
        )
        self._link = link
        self._foreign = foreign.name
        self._take(foreign)

    def _take(self, foreign: ForeignTool) -> None:
        # Written by the server: kept short and free of control characters.
        self.description = clean(foreign.description or foreign.name)[:DESCRIPTION_LIMIT]
        self._schema = foreign.input_schema

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self._schema)

    def parse(self, arguments: JsonObject) -> McpArguments:
        missing = [name for name in self._schema.get("required", ()) if name not in arguments]
        if missing:
            raise ToolInputError(f"{self.name}: Object missing required field `{missing[0]}`. Nothing ran.")
        return McpArguments(arguments)

    async def picture(self, arguments: McpArguments, context: ToolContext) -> Picture:
        text = msgspec.json.format(msgspec.json.encode(arguments.values), indent=2).decode()
        return Picture(reveal(text), await self._target())

    async def _target(self) -> JsonObject:
        """Ask the server what the tool is by now: it may have given the name another meaning."""
        offered = {each.name: each for each in await self._link.list_tools()}
        if (foreign := offered.get(self._foreign)) is None:
            why = self._link.failure or "it does not offer this tool any more"
            raise ToolError(f"{self.name}: MCP server {self._link.name}: {why}. Nothing ran.")
        self._take(foreign)
        return {"server": self._link.name, "tool": self._foreign, "sha256": _digest(foreign)}

    async def run(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        if context.expected is not None:
            check_target(context, await self._target())
        result = await self._link.call(self._foreign, arguments.values)
        files: list[JsonObject] = []
        texts = [_text_of(block, files, context) for block in result.content]
        if not any(texts) and result.structured_content is not None:
            texts = [msgspec.json.encode(result.structured_content).decode()]
        text = keep("\n".join(texts), context, self.budget)
        if result.is_error:
            raise ToolError(text or f"{self.name} failed and said nothing.")
        return ToolResult(output=text or "[no output]", files=tuple(files))


def name_tool(server: str, tool: str) -> str:
    """Name a tool so that every provider takes it and no two share a name."""
    name = f"mcp__{server}__{tool}"
    plain = ODD.sub("_", name)
    if plain == name and len(name) <= NAME_LIMIT:
        return name
    return f"{plain[: NAME_LIMIT - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _digest(foreign: ForeignTool) -> str:
    meaning = [foreign.description, foreign.input_schema]
    return hashlib.sha256(msgspec.json.encode(meaning, order="deterministic")).hexdigest()


def _text_of(block: ContentBlock, files: list[JsonObject], context: ToolContext) -> str:
    """Give a block's words; an image is attached, and named in the text."""
    if block.type == "text":
        return block.text
    if block.type == "image":
        try:
            data = base64.b64decode(block.data, validate=True)
        except binascii.Error:
            return "[an image that cannot be decoded]"
        files.append(attach(context.layout, data, "image"))
        return f"[image of {len(data):,} bytes]"
    if block.type == "resource" and (text := getattr(block.resource, "text", None)):
        return str(text)
    return f"[{block.type}]"


class McpServers:
    """Find the tools of all configured servers, once."""

    def __init__(self, servers: Mapping[str, McpServer], layout: Layout) -> None:
        self._links = [McpLink(name, server, layout) for name, server in servers.items()]
        self._tools: dict[str, list[McpTool]] = {}
        self._loading = asyncio.Lock()

    async def load(self) -> list[Tool[Any]]:
        """Give the tools of every server that answers; asks again those that have not answered yet."""
        async with self._loading:
            asked = [link for link in self._links if link.name not in self._tools]
            for link, tools in zip(
                asked, await asyncio.gather(*(each.list_tools() for each in asked)), strict=True
            ):
                if not link.failure:
                    self._tools[link.name] = [McpTool(link, tool) for tool in tools]
        return [tool for link in self._links for tool in self._tools.get(link.name, [])]

    def findings(self) -> list[Finding]:
        """Tell how each server stands."""
        return [self._finding(link) for link in self._links]

    def _finding(self, link: McpLink) -> Finding:
        subject = f"mcp.{link.name}"
        if link.failure:
            fix = f"See {link.log}." if link.server.command else "Check the address and the network."
            return Finding("warn", subject, f"not available: {link.failure}", fix)
        tools = self._tools.get(link.name)
        return Finding("ok", subject, "not asked yet" if tools is None else f"{len(tools)} tools")

    async def close(self) -> None:
        """End all connections."""
        for link in self._links:
            await link.close()

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
from shipmate.tools.file.target import check_target
from shipmate.tools.mcp.link import TOOL_LIMIT, McpLink
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal
from shipmate.workspace.config import McpServer
from shipmate.workspace.dimension import PIXEL_LIMIT, has_too_many_pixels
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import attach, media_type_of

if TYPE_CHECKING:
    from mcp.types import ContentBlock
    from mcp.types import Tool as ForeignTool

# What providers take as the name of a tool.
NAME_LIMIT = 64
ODD = re.compile(r"[^A-Za-z0-9_-]")
DESCRIPTION_LIMIT = 600
# A schema goes into every request; a tool with a longer one is not offered.
SCHEMA_LIMIT = 16_000
# Blocks and pictures of one result that are read; the rest is counted.
BLOCK_LIMIT = 1_000
PICTURE_LIMIT = 20


class McpArguments(msgspec.Struct, frozen=True):
    values: JsonObject


class McpTool(Tool[McpArguments]):
    """One tool of an MCP server."""

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
        words = (foreign.description or foreign.name)[: 4 * DESCRIPTION_LIMIT]
        self.description = clean(words)[:DESCRIPTION_LIMIT]
        self._schema = foreign.input_schema

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self._schema)

    def parse(self, arguments: JsonObject) -> McpArguments:
        required = self._schema.get("required")
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str) and name not in arguments:
                raise ToolInputError(f"{self.name}: Object missing required field `{name}`. Nothing ran.")
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
        return {"server": self._link.name, "tool": self._foreign, "meaning": _digest(foreign)}

    async def meaning(self) -> str:
        return (await self._target())["meaning"]

    async def run(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        if context.expected is not None:
            check_target(context, await self._target())
        result = await self._link.call(self._foreign, arguments.values)
        files: list[JsonObject] = []
        texts = [_text_of(block, files, context) for block in result.content[:BLOCK_LIMIT]]
        if (more := len(result.content) - BLOCK_LIMIT) > 0:
            texts.append(f"[{more:,} more blocks; {BLOCK_LIMIT:,} are read]")
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
    hints = foreign.annotations.model_dump(mode="json") if foreign.annotations else None
    meaning = [foreign.title, foreign.description, foreign.input_schema, hints]
    return hashlib.sha256(msgspec.json.encode(meaning, order="deterministic")).hexdigest()


def _text_of(block: ContentBlock, files: list[JsonObject], context: ToolContext) -> str:
    """Return a block's words; an image is attached, and named in the text."""
    if block.type == "text":
        return block.text
    if block.type == "image":
        return _take_picture(block.data, files, context)
    if block.type == "resource" and (text := getattr(block.resource, "text", None)):
        return str(text)
    return f"[{block.type}]"


def _take_picture(text: str, files: list[JsonObject], context: ToolContext) -> str:
    """Attach a picture and name it; nothing is decoded here, only its size is read."""
    if len(files) >= PICTURE_LIMIT:
        return f"[an image left out: {PICTURE_LIMIT} are shown of one result]"
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "[an image that cannot be decoded]"
    if not media_type_of(data).startswith("image/"):
        return f"[an image of {len(data):,} bytes that is no PNG, JPEG, GIF or WebP: left out]"
    if has_too_many_pixels(data):
        return f"[an image of more than {PIXEL_LIMIT // 1_000_000} million pixels: left out]"
    files.append(attach(context.layout, data, "image"))
    return f"[image of {len(data):,} bytes]"


def _fits(tool: ForeignTool) -> bool:
    return len(msgspec.json.encode(tool.input_schema)) <= SCHEMA_LIMIT


class McpServers:
    """The configured servers, whose tools are found once."""

    def __init__(self, servers: Mapping[str, McpServer], layout: Layout) -> None:
        self._links = [McpLink(name, server, layout) for name, server in servers.items()]
        self._tools: dict[str, list[McpTool]] = {}
        self._loading = asyncio.Lock()

    async def load(self) -> list[Tool[Any]]:
        """Return the tools of every server that answers; asks again those that have not answered yet."""
        async with self._loading:
            asked = [link for link in self._links if link.name not in self._tools]
            for link, tools in zip(
                asked, await asyncio.gather(*(each.list_tools() for each in asked)), strict=True
            ):
                if not link.failure:
                    fitting = [tool for tool in tools if _fits(tool)]
                    link.left_out += len(tools) - len(fitting)
                    self._tools[link.name] = [McpTool(link, tool) for tool in fitting]
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
        if tools is not None and link.left_out:
            return Finding(
                "warn",
                subject,
                f"{len(tools)} tools; {link.left_out:,} are left out: {TOOL_LIMIT} tools with schemas of "
                f"at most {SCHEMA_LIMIT // 1000} KB are offered of one server",
                f"Name the tools you want in mcp.servers.{link.name}.tools.",
            )
        return Finding("ok", subject, "not asked yet" if tools is None else f"{len(tools)} tools")

    async def close(self) -> None:
        """End all connections."""
        for link in self._links:
            await link.close()

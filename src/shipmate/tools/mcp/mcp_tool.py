"""Offer the tools of MCP servers under the same policy as our own."""

from __future__ import annotations

import hashlib
import re
from functools import partial

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.models.port import ToolSpec
from shipmate.tools.file.target import check_target
from shipmate.tools.mcp.link import McpLink
from shipmate.tools.mcp.mcp_content import Content, as_json
from shipmate.tools.mcp.offer import ForeignTool
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

# What providers take as the name of a tool.
NAME_LIMIT = 64
ODD = re.compile(r"[^A-Za-z0-9_-]")
HASHED = re.compile(r"_[0-9a-f]{8}$")
DESCRIPTION_LIMIT = 600


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
        self._foreign = foreign
        # Written by the server: kept short and free of control characters.
        words = (foreign.description or foreign.title or foreign.name)[: 4 * DESCRIPTION_LIMIT]
        self.description = clean(words)[:DESCRIPTION_LIMIT]

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, {"type": "object", **self._foreign.input_schema})

    def parse(self, arguments: JsonObject) -> McpArguments:
        required = self._foreign.input_schema.get("required")
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str) and name not in arguments:
                raise ToolInputError(f"{self.name}: Object missing required field `{name}`. Nothing ran.")
        return McpArguments(arguments)

    async def picture(self, arguments: McpArguments, context: ToolContext) -> Picture:
        text = msgspec.json.format(msgspec.json.encode(arguments.values), indent=2).decode()
        return Picture(reveal(text), await self._target())

    async def _target(self) -> JsonObject:
        """Ask the server what the tool is by now: it may have given the name another meaning."""
        return self._describe(await self._link.find(self._foreign.name, anew=True))

    def _describe(self, foreign: ForeignTool) -> JsonObject:
        return {"server": self._link.name, "tool": foreign.name, "meaning": foreign.meaning}

    async def meaning(self) -> str:
        return (await self._target())["meaning"]

    async def run(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        check = None
        if context.expected is not None:
            check_target(context, await self._target())
            check = partial(self._check_approved, context)
        elif self.labels.acts:
            await self._link.find(self._foreign.name)
            check = self._check_told
        result = await self._link.call(self._foreign.name, arguments.values, check)
        content = Content(context, self._link.cover)
        content.take(result.get("content", []))
        structured = result.get("structuredContent")
        if not content.text.strip() and structured is not None:
            content.say(as_json(structured))
        text = keep(content.text, context, self.budget)
        if result.get("isError") is True:
            raise ToolError(text or f"{self.name} failed and said nothing.")
        return ToolResult(output=text or "[no output]", files=tuple(content.files))

    def _check_approved(self, context: ToolContext, by_now: ForeignTool) -> None:
        """Raise where the tool is no longer what a person was shown."""
        check_target(context, self._describe(by_now))

    def _check_told(self, by_now: ForeignTool) -> None:
        """Raise where the tool is no longer what the model was told: it called something else."""
        if by_now.meaning != self._foreign.meaning:
            raise ToolError(
                f"{self.name} is described otherwise by its server now. Read its description again before "
                "you call it. Nothing ran."
            )


def is_of(server: str, name: str) -> bool:
    """Return whether a tool of this name can be one of a server."""
    beginning = ODD.sub("_", f"mcp__{server}__")
    return name.startswith(beginning[: NAME_LIMIT - 9])


def name_tool(server: str, tool: str) -> str:
    """Name a tool so that every provider takes it and no two share a name."""
    name = f"mcp__{server}__{tool}"
    plain = ODD.sub("_", name)
    # Where a server's name ends must be told from the name alone, and whether it ends with a hash.
    is_clear = "__" not in server and not server.endswith("_") and not HASHED.search(name)
    if plain == name and len(name) <= NAME_LIMIT and is_clear:
        return name
    both = f"{len(server)} {name}"
    return f"{plain[: NAME_LIMIT - 9]}_{hashlib.sha256(both.encode()).hexdigest()[:8]}"

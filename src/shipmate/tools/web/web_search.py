"""Search the web through the engine that ship.json names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from shipmate.errors import ToolError
from shipmate.tools.file.target import check_target
from shipmate.tools.output import keep
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.workspace.config import WebSearchSettings

if TYPE_CHECKING:
    from shipmate.tools.mcp.servers import McpServers
    from shipmate.tools.web.search_engine import FoundPage

# What the tools of other servers call the words to look for, most usual first.
QUERY_NAMES = ("query", "q", "search_query", "text", "input")


class WebSearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=1, max_length=400)]
    count: Annotated[int, Meta(ge=1, le=20)] = 8


class WebSearch(Tool[WebSearchArguments]):
    """The tool that finds pages of the public web."""

    name = "web_search"
    description = "Search the web; read a page that was found with web_fetch."
    arguments = WebSearchArguments
    # Strangers wrote what is found; and the words that are looked for leave for the engine, so the call asks.
    labels = Labels(reads_untrusted=True, acts=True)

    def __init__(self, settings: WebSearchSettings, servers: McpServers | None = None) -> None:
        self._settings = settings
        self._servers = servers

    async def picture(self, arguments: WebSearchArguments, context: ToolContext) -> Picture:
        """Show the words, and to whom they go."""
        shown = await super().picture(arguments, context)
        return Picture(f"{self._whom}\n{shown.text}", {"engine": self._whom})

    @property
    def _whom(self) -> str:
        settings = self._settings
        if settings.engine == "mcp":
            return f"mcp: {settings.server}, {settings.tool}"
        from shipmate.tools.web.search_engine import ADDRESSES

        address = settings.base_url or ADDRESSES.get(settings.engine or "", "")
        return f"{settings.engine}: {urlsplit(address).hostname or '?'}"

    async def run(self, arguments: WebSearchArguments, context: ToolContext) -> ToolResult:
        check_target(context, {"engine": self._whom})
        if self._settings.engine == "mcp":
            return await self._ask_server(arguments.query, context)
        # Most turns search nothing.
        from shipmate.tools.web.search_engine import SearchEngine

        found, left_out = await SearchEngine(self._settings).search(arguments.query, arguments.count)
        lines = [_describe(number, hit) for number, hit in enumerate(found, 1)]
        if left_out:
            lines.append(f"[{left_out} left out: not on the public web]")
        return ToolResult(output=keep("\n".join(lines) or "Nothing was found.", context, self.budget))

    async def _ask_server(self, query: str, context: ToolContext) -> ToolResult:
        """Let a tool of an MCP server search; what it says is passed on."""
        from shipmate.tools.mcp.mcp_tool import McpTool

        settings = self._settings
        links = self._servers.links if self._servers is not None else []
        link = next((each for each in links if each.name == settings.server), None)
        if link is None or not settings.tool:
            raise ToolError(
                "The search is not set up: webSearch.server must name one of mcp.servers in ship.json, "
                "and webSearch.tool one of its tools."
            )
        foreign = await link.find(settings.tool)
        known = foreign.input_schema.get("properties")
        names = [name for name in QUERY_NAMES if isinstance(known, dict) and name in known]
        if not names:
            raise ToolError(
                f"{settings.tool} of {link.name} takes no `query`. Name another in webSearch.tool."
            )
        tool = McpTool(link, foreign)
        # The person was shown this tool's own call, and named the server's tool in ship.json.
        return await tool.run(tool.parse({names[0]: query}), msgspec.structs.replace(context, expected=None))


def _describe(number: int, hit: FoundPage) -> str:
    return "\n   ".join(filter(None, (f"{number}. {hit.title or hit.url}", hit.url, hit.snippet)))

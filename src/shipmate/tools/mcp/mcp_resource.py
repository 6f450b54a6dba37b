"""List and read the resources of all MCP servers, with one pair of tools."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.mcp.link import McpLink
from shipmate.tools.mcp.mcp_content import Content, describe_link
from shipmate.tools.mcp.offer import URI_LIMIT
from shipmate.tools.output import keep
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject

# What servers say is theirs, and may be private.
READS = Labels(reads_untrusted=True, reads_private=True)
ACTS = Labels(reads_untrusted=True, reads_private=True, acts=True)


class ResourceListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    server: str = ""


class ResourceArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    server: str
    uri: str


class McpResourceList(Tool[ResourceListArguments]):
    """Lists resources, and the patterns of addresses that make more of them."""

    name = "mcp_resources"
    description = "List what MCP servers have to read: addresses for mcp_read, and patterns of them."
    arguments = ResourceListArguments
    labels = READS

    def __init__(self, links: Mapping[str, McpLink]) -> None:
        self._links = links

    async def run(self, arguments: ResourceListArguments, context: ToolContext) -> ToolResult:
        wanted = [pick(self._links, arguments.server)] if arguments.server else list(self._links.values())
        lines = [line for link in wanted for line in await _list(link, is_only=bool(arguments.server))]
        return ToolResult(output=keep("\n".join(lines) or "There are none.", context, self.budget))


class McpRead(Tool[ResourceArguments]):
    """Reads one resource."""

    name = "mcp_read"
    description = "Read a resource of an MCP server."
    arguments = ResourceArguments
    labels = READS

    def __init__(self, links: Mapping[str, McpLink]) -> None:
        self._links = links

    def labels_for(self, arguments: ResourceArguments) -> Labels:
        # An address the server did not give can carry data out, as one of the web can.
        link = self._links.get(arguments.server)
        known = link.offer.resources if link is not None and link.offer is not None else ()
        return READS if arguments.uri in known else ACTS

    async def run(self, arguments: ResourceArguments, context: ToolContext) -> ToolResult:
        link = pick(self._links, arguments.server)
        if not 0 < len(arguments.uri) <= URI_LIMIT:
            raise ToolInputError(f"{self.name}: an address has 1 to {URI_LIMIT:,} characters. Nothing ran.")
        result = await link.request("resources/read", {"uri": arguments.uri}, repeatable=True)
        content = Content(context, link.cover)
        found = result.get("contents")
        for each in found if isinstance(found, list) else ():
            content.take({"type": "resource", "resource": each})
        text = keep(content.text, context, self.budget)
        return ToolResult(output=text or "[no output]", files=tuple(content.files))


def pick(links: Mapping[str, McpLink], name: str) -> McpLink:
    """Return the link to a server by its name."""
    if name not in links:
        raise ToolInputError(f"there is no MCP server {name!r}. There are: {', '.join(links)}. Nothing ran.")
    return links[name]


async def _list(link: McpLink, *, is_only: bool) -> list[str]:
    """Return a line for each resource and pattern; a server that cannot be asked is named with the reason."""
    try:
        resources = await link.list_all("resources/list", "resources")
        patterns = await _patterns(link)
    except ToolError as error:
        if is_only:
            raise
        return [str(error)]
    lines = [describe_link(each) for each in (*resources, *patterns)]
    return [f"{link.name}: {link.cover(line)}" for line in lines]


async def _patterns(link: McpLink) -> list[JsonObject]:
    try:
        found = await link.list_all("resources/templates/list", "resourceTemplates")
    except ToolError:
        # Not every server that has resources knows patterns.
        return []
    return [{**each, "uri": each.get("uriTemplate")} for each in found]

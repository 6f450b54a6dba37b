"""List and fetch the resources and prompts of all MCP servers, with the same few tools for all."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.mcp.link import McpLink
from shipmate.tools.mcp.mcp_content import Content, describe_link
from shipmate.tools.mcp.offer import URI_LIMIT
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject

# What servers say is theirs, and may be private.
READS = Labels(reads_untrusted=True, reads_private=True)
ACTS = Labels(reads_untrusted=True, reads_private=True, acts=True)

LINE_LIMIT = 400


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


class PromptArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    server: str = ""
    prompt: str = ""
    arguments: dict[str, str] = {}


class McpPrompt(Tool[PromptArguments]):
    """Fetches a prompt; without a name it lists what there is."""

    name = "mcp_prompt"
    # The command is the same wherever people write: no surface needs to know it.
    description = (
        "Fetch a prompt of an MCP server and do what it asks, as when a person writes "
        "`/prompt server:name key=value`; without `prompt`, list them."
    )
    arguments = PromptArguments
    labels = READS

    def __init__(self, links: Mapping[str, McpLink]) -> None:
        self._links = links

    def labels_for(self, arguments: PromptArguments) -> Labels:
        # What is put into a prompt is sent to its server.
        return ACTS if arguments.arguments else READS

    async def run(self, arguments: PromptArguments, context: ToolContext) -> ToolResult:
        if arguments.prompt:
            return await self._fetch(pick(self._links, arguments.server), arguments, context)
        wanted = [pick(self._links, arguments.server)] if arguments.server else list(self._links.values())
        lines = [line for link in wanted for line in await _list_prompts(link)]
        return ToolResult(output=keep("\n".join(lines) or "There are none.", context, self.budget))

    async def _fetch(self, link: McpLink, arguments: PromptArguments, context: ToolContext) -> ToolResult:
        wanted = {"name": arguments.prompt, "arguments": arguments.arguments}
        result = await link.request("prompts/get", wanted, repeatable=True)
        content = Content(context, link.cover)
        messages = result.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                content.say(f"[{'assistant' if message.get('role') == 'assistant' else 'user'}]")
                content.take(message.get("content"))
        text = keep(content.text, context, self.budget)
        return ToolResult(output=text or "[an empty prompt]", files=tuple(content.files))


async def _list_prompts(link: McpLink) -> list[str]:
    try:
        found = await link.list_all("prompts/list", "prompts")
    except ToolError as error:
        return [str(error)]
    return [link.cover(clean(f"{link.name}: {_describe_prompt(each)}"))[:LINE_LIMIT] for each in found]


def _describe_prompt(prompt: JsonObject) -> str:
    named = prompt.get("arguments")
    entries = [each for each in named if isinstance(each, dict)] if isinstance(named, list) else []
    names = ", ".join(f"{each.get('name')}{'' if each.get('required') else '?'}" for each in entries)
    words = " ".join(str(prompt.get("description") or prompt.get("title") or "").split())
    return f"{prompt.get('name')}({names}){f' {words}' if words else ''}"

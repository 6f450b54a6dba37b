"""Look after the MCP servers of a workspace, and gather what they offer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.mcp.link import McpLink
from shipmate.tools.mcp.mcp_content import Content, describe_link
from shipmate.tools.mcp.mcp_tool import McpTool, is_of
from shipmate.tools.mcp.offer import SCHEMA_LIMIT, TOOL_LIMIT, URI_LIMIT, Offer
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.saying import fill, load_sayings
from shipmate.workspace.config import McpServer
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout

WAIT_SECONDS = 2.0
WORDS = Path(__file__).with_name("words")

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


class McpServers:
    """The configured servers and their tools; what a server offered before is offered at once."""

    def __init__(
        self, servers: Mapping[str, McpServer], layout: Layout, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._links = {name: McpLink(name, server, layout) for name, server in servers.items()}
        self._wait_seconds = wait_seconds
        self._tools: dict[str, tuple[Offer, list[McpTool]]] = {}
        self._all: list[Tool[Any]] = []
        self._made_from: list[Offer | None] | None = None

    @property
    def links(self) -> list[McpLink]:
        return list(self._links.values())

    @property
    def starting(self) -> list[str]:
        """Return the names of the servers whose tools are not known yet."""
        return [link.name for link in self.links if link.is_starting]

    def describe_starting(self, language: str) -> str:
        """Return what to tell people about servers whose tools are not known yet; nothing when all are."""
        if not (names := self.starting):
            return ""
        return fill(load_sayings(WORDS, language)["starting"], {"names": ", ".join(names)})

    async def load(self, *, called: Iterable[str] = (), is_patient: bool = False) -> list[Tool[Any]]:
        """Return all tools that are known; the same list for as long as nothing changes.

        A server that is not known, or has changed, is waited for a little, once; longer where a tool is
        `called` that may be its own. A patient caller asks all and waits until each has answered or failed.
        """
        asked = [link.refresh() for link in self.links if is_patient or link.wants_refresh]
        waited = [link for link in self.links if link.is_starting or link.has_changed]
        names = list(called)
        needed = [link for link in waited if any(is_of(link.name, name) for name in names)]
        # Waited for, not gathered: others wait for the same, so that one who is called off ends nothing.
        if asked and is_patient:
            await asyncio.wait(asked)
        elif needed:
            await asyncio.wait([link.refresh() for link in needed])
        elif (seconds := self._patience(waited)) > 0:
            await asyncio.wait([link.refresh() for link in waited], timeout=seconds)
        return self._gather()

    def findings(self) -> list[Finding]:
        """Tell how each server stands."""
        return [_finding(link) for link in self.links]

    async def close(self) -> None:
        """End all connections."""
        await asyncio.gather(*(link.close() for link in self.links))

    def _patience(self, links: list[McpLink]) -> float:
        """Return how long to wait for servers that were asked some time ago already."""
        now = asyncio.get_running_loop().time()
        return max((link.asked_at + self._wait_seconds - now for link in links), default=0.0)

    def _gather(self) -> list[Tool[Any]]:
        offers = [link.offer for link in self.links]
        if self._made_from is None or any(a is not b for a, b in zip(offers, self._made_from, strict=True)):
            self._made_from = offers
            self._all = [tool for link in self.links for tool in self._tools_of(link)] + self._shared()
        return self._all

    def _tools_of(self, link: McpLink) -> list[McpTool]:
        if link.offer is None:
            return []
        known = self._tools.get(link.name)
        if known is None or known[0] is not link.offer:
            known = self._tools[link.name] = link.offer, [McpTool(link, tool) for tool in link.offer.tools]
        return known[1]

    def _shared(self) -> list[Tool[Any]]:
        """Return the tools for what all servers have to read, where any of them has."""
        offers = [(link, link.offer) for link in self.links if link.offer is not None]
        readable = {link.name: link for link, offer in offers if offer.has_resources}
        prompting = {link.name: link for link, offer in offers if offer.has_prompts}
        tools: list[Tool[Any]] = [McpResourceList(readable), McpRead(readable)] if readable else []
        return [*tools, McpPrompt(prompting)] if prompting else tools


def _finding(link: McpLink) -> Finding:
    subject, offer = f"mcp.{link.name}", link.offer
    if link.failure:
        return Finding("warn", subject, f"not available: {link.failure}", _fix(link))
    if link.is_starting:
        return Finding("ok", subject, "still starting")
    if offer is None:
        return Finding("ok", subject, "not asked yet")
    if offer.left_out:
        return Finding(
            "warn",
            subject,
            f"{len(offer.tools)} tools; {offer.left_out:,} are left out: {TOOL_LIMIT} tools with schemas of "
            f"at most {SCHEMA_LIMIT // 1000} KB are offered of one server",
            f"Name the tools you want in mcp.servers.{link.name}.tools.",
        )
    when = "" if link.is_live else " when it was last asked"
    count = len(offer.tools)
    return Finding("ok", subject, f"{count} {'tool' if count == 1 else 'tools'}{when}")


def _fix(link: McpLink) -> str:
    if link.needs_login:
        command = f"shipmate mcp login {link.name}"
        return f"Run `{command}`." if command in link.failure else "Set the key that it takes."
    if link.server.command is None:
        return "Check the address and the network."
    return f"See {link.log}." if link.has_log else f"Mend `command` of mcp.servers.{link.name} in ship.json."

"""Find and fetch the prompts of all MCP servers, with one tool."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.mcp.link import McpLink
from shipmate.tools.mcp.mcp_content import Content
from shipmate.tools.mcp.mcp_resource import ACTS, READS, pick
from shipmate.tools.output import keep
from shipmate.tools.text import clean
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject

LINE_LIMIT = 400


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
        lines = [line for link in wanted for line in await _list(link)]
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


async def _list(link: McpLink) -> list[str]:
    try:
        found = await link.list_all("prompts/list", "prompts")
    except ToolError as error:
        return [str(error)]
    return [link.cover(clean(f"{link.name}: {_describe(each)}"))[:LINE_LIMIT] for each in found]


def _describe(prompt: JsonObject) -> str:
    named = prompt.get("arguments")
    entries = [each for each in named if isinstance(each, dict)] if isinstance(named, list) else []
    names = ", ".join(f"{each.get('name')}{'' if each.get('required') else '?'}" for each in entries)
    words = " ".join(str(prompt.get("description") or prompt.get("title") or "").split())
    return f"{prompt.get('name')}({names}){f' {words}' if words else ''}"

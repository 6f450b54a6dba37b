"""Prompts of all servers through one tool (W6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from shipmate.errors import ToolError
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import Tool, ToolContext
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import host


@pytest.fixture
async def prompt(root: Path) -> AsyncIterator[Tool[Any]]:
    server = MCPServer("harbour")

    @server.prompt()
    def greet(name: str, mood: str = "calm") -> str:  # pyright: ignore[reportUnusedFunction]
        """Greet somebody."""
        return f"Greet {name}, be {mood}."

    @server.prompt()
    def farewell() -> str:  # pyright: ignore[reportUnusedFunction]
        """Say farewell."""
        return "Say farewell."

    async with host(server.streamable_http_app()) as port:
        servers = McpServers({"h": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        (found,) = await servers.load(is_patient=True)
        yield found
        await servers.close()


async def run(tool: Tool[Any], context: ToolContext, **arguments: Any) -> str:
    return (await tool.run(tool.parse(arguments), context)).output


async def test_w6_prompts_are_listed_with_their_arguments(prompt: Tool[Any], context: ToolContext) -> None:
    assert (await run(prompt, context)).splitlines() == [
        "h: greet(name, mood?) Greet somebody.",
        "h: farewell() Say farewell.",
    ]


async def test_w6_prompts_are_fetched_as_what_strangers_wrote(
    prompt: Tool[Any], context: ToolContext
) -> None:
    output = await run(prompt, context, server="h", prompt="greet", arguments={"name": "Ann"})
    assert output == "[user]\nGreet Ann, be calm."
    assert await run(prompt, context, server="h", prompt="farewell") == "[user]\nSay farewell."
    assert prompt.labels.reads_untrusted
    with_words = prompt.parse({"server": "h", "prompt": "greet", "arguments": {"name": "Ann"}})
    assert prompt.labels_for(with_words).acts, "what is put into a prompt goes to its server"
    assert prompt.labels_for(prompt.parse({"server": "h", "prompt": "farewell"})).is_read_only
    with pytest.raises(ToolError, match="MCP server h"):
        await run(prompt, context, server="h", prompt="nowhere")

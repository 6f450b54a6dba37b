"""Resources and prompts of all servers through the same few tools (W6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import Tool, ToolContext, ToolResult
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import Asked, Reply, greeting, host, result, script


def harbour() -> Any:
    server = MCPServer("harbour")

    @server.resource("note://today", description="What was written today.", mime_type="text/plain")
    def today() -> str:  # pyright: ignore[reportUnusedFunction]
        return "fair winds"

    @server.resource("chart://sea", mime_type="application/octet-stream")
    def chart() -> bytes:  # pyright: ignore[reportUnusedFunction]
        return b"\0\1\2"

    @server.resource("note://day/{day}")
    def day(day: str) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"day {day}"

    return server.streamable_http_app()


@pytest.fixture
async def tools(root: Path) -> AsyncIterator[dict[str, Tool[Any]]]:
    async with host(harbour()) as port:
        servers = McpServers(
            {
                "h": McpServer(url=f"http://127.0.0.1:{port}/mcp"),
                "gone": McpServer(url="http://127.0.0.1:1/mcp"),
            },
            Layout(root),
        )
        yield {each.name: each for each in await servers.load(is_patient=True)}
        await servers.close()


async def run(tool: Tool[Any], context: ToolContext, **arguments: str) -> ToolResult:
    return await tool.run(tool.parse(arguments), context)


async def test_w6_resources_and_patterns_are_listed_in_a_line_each(
    tools: dict[str, Tool[Any]], context: ToolContext
) -> None:
    assert sorted(tools) == ["mcp_read", "mcp_resources"]
    lines = (await run(tools["mcp_resources"], context)).output.splitlines()
    assert lines[0] == "h: [resource note://today (text/plain) today: What was written today.]"
    assert lines[2].startswith("h: [resource note://day/{day}")
    assert (await run(tools["mcp_resources"], context, server="h")).output.splitlines() == lines
    with pytest.raises(ToolInputError, match="There are: h"):
        await run(tools["mcp_resources"], context, server="nowhere")


async def test_w6_resources_are_read_as_words_or_files(
    tools: dict[str, Tool[Any]], context: ToolContext
) -> None:
    read = tools["mcp_read"]
    assert (await run(read, context, server="h", uri="note://today")).output == "fair winds"
    assert (await run(read, context, server="h", uri="note://day/7")).output == "day 7"
    result = await run(read, context, server="h", uri="chart://sea")
    assert len(result.files) == 1
    assert "application/octet-stream, 3 bytes" in result.output
    with pytest.raises(ToolError, match="MCP server h"):
        await run(read, context, server="h", uri="note://nowhere/at/all")


async def test_w6_what_is_read_is_untrusted_and_an_address_of_ones_own_asks(
    tools: dict[str, Tool[Any]],
) -> None:
    read = tools["mcp_read"]
    listed = read.labels_for(read.parse({"server": "h", "uri": "note://today"}))
    made = read.labels_for(read.parse({"server": "h", "uri": "note://day/the-secret-is-42"}))
    assert (listed.reads_untrusted, listed.is_read_only) == (True, True)
    assert (made.reads_untrusted, made.is_read_only) == (True, False)
    assert tools["mcp_resources"].labels.reads_untrusted
    assert tools["mcp_resources"].labels.is_read_only


async def test_w6_the_pair_costs_few_bytes(tools: dict[str, Tool[Any]]) -> None:
    specs = [tools[name].spec() for name in ("mcp_resources", "mcp_read")]
    assert sum(len(spec.description) + len(str(spec.schema)) for spec in specs) < 450


async def test_w6_a_server_that_only_says_it_has_resources_offers_no_tools_for_them(root: Path) -> None:
    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "initialize":
            reply.send(200, greeting(asked, resources={}, prompts={}))
        elif asked.rpc in ("resources/list", "prompts/list"):
            reply.send(200, result(asked, {asked.rpc.partition("/")[0]: []}))
        elif "id" in asked.message:
            error = {"code": -32601, "message": "no"}
            reply.send(200, {"jsonrpc": "2.0", "id": asked.message["id"], "error": error})
        else:
            reply.send(202 if asked.method == "POST" else 405)

    async with script(serve) as port:
        servers = McpServers({"h": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        assert await servers.load(is_patient=True) == []
        assert servers.findings()[0].message == "0 tools"
        await servers.close()


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


async def prompt_with(tool: Tool[Any], context: ToolContext, **arguments: Any) -> str:
    return (await tool.run(tool.parse(arguments), context)).output


async def test_w6_prompts_are_listed_with_their_arguments(prompt: Tool[Any], context: ToolContext) -> None:
    assert (await prompt_with(prompt, context)).splitlines() == [
        "h: greet(name, mood?) Greet somebody.",
        "h: farewell() Say farewell.",
    ]


async def test_w6_prompts_are_fetched_as_what_strangers_wrote(
    prompt: Tool[Any], context: ToolContext
) -> None:
    output = await prompt_with(prompt, context, server="h", prompt="greet", arguments={"name": "Ann"})
    assert output == "[user]\nGreet Ann, be calm."
    assert await prompt_with(prompt, context, server="h", prompt="farewell") == "[user]\nSay farewell."
    assert prompt.labels.reads_untrusted
    with_words = prompt.parse({"server": "h", "prompt": "greet", "arguments": {"name": "Ann"}})
    assert prompt.labels_for(with_words).acts, "what is put into a prompt goes to its server"
    assert prompt.labels_for(prompt.parse({"server": "h", "prompt": "farewell"})).is_read_only
    with pytest.raises(ToolError, match="MCP server h"):
        await prompt_with(prompt, context, server="h", prompt="nowhere")

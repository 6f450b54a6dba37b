"""Servers of every version are spoken to; those without sessions too (W6)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer

from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import Tool, ToolContext
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import host, wait_for_tools

UNSUPPORTED = {"code": -32022, "message": "no such version", "data": {"supported": ["2026-07-28"]}}


def without_greeting(app: Any, methods: list[str]) -> Any:
    """Refuse the greeting of earlier versions, as a server does that speaks the newest alone."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        body = await receive()
        asked = json.loads(body["body"])
        methods.append(asked["method"])

        async def again() -> Any:
            nonlocal body
            given, body = body, None
            return given if given is not None else await receive()

        if asked["method"] != "initialize":
            await app(scope, again, send)
            return
        data = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": UNSUPPORTED}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    return serve


async def run(tools: dict[str, Tool[Any]], name: str, context: ToolContext, **arguments: Any) -> str:
    tool = tools[name]
    return (await tool.run(tool.parse(arguments), context)).output


async def test_w6_a_server_without_sessions_is_spoken_to(root: Path, context: ToolContext) -> None:
    server, methods = MCPServer("new"), list[str]()

    def late() -> str:
        """Come late."""
        return "here"

    @server.tool()
    async def grow(ctx: Context, wörter: str = "") -> str:  # pyright: ignore[reportUnusedFunction]
        """Grow."""
        server.add_tool(late)
        await ctx.notify_tools_changed()
        return f"grown {wörter}"

    @server.resource("note://täglich")
    def daily() -> str:  # pyright: ignore[reportUnusedFunction]
        return "fair winds"

    async with host(without_greeting(server.streamable_http_app(), methods)) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        tools = {each.name: each for each in await servers.load(is_patient=True)}
        assert servers.findings()[0].message == "1 tool"
        assert await run(tools, "mcp__s__grow", context, wörter="é") == "grown é"
        await wait_for_tools(servers, "mcp__s__late")
        (uri,) = [link.offer.resources[0] for link in servers.links if link.offer]
        assert await run(tools, "mcp_read", context, server="s", uri=uri) == "fair winds"
        await servers.close()
    assert methods[:2] == ["initialize", "server/discover"]
    assert "subscriptions/listen" in methods
    assert "notifications/initialized" not in methods


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_w6_a_server_that_answers_with_an_earlier_version_is_spoken_to(
    root: Path, tmp_path: Path, version: str
) -> None:
    script = tmp_path / "old.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked: continue\n"
        f"    answer = {{'protocolVersion': {version!r}, 'capabilities': {{'tools': {{}}}}}}\n"
        "    if asked['method'] != 'initialize':\n"
        "        answer = {'tools': [{'name': 'act', 'inputSchema': {'type': 'object'}}]}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': answer}), flush=True)\n"
    )
    servers = McpServers({"s": McpServer(command=sys.executable, args=("-S", str(script)))}, Layout(root))
    assert [each.name for each in await servers.load(is_patient=True)] == ["mcp__s__act"]
    await servers.close()

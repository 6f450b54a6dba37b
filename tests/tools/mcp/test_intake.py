"""A hostile MCP server is cut off: by size, by values, by rate; and its schemas are never run."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.mcp.mcp_content import BLOCK_LIMIT, FILE_LIMIT
from shipmate.tools.mcp.offer import TOOL_LIMIT
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import ToolContext, ToolResult
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout

# Speaks the protocol by hand, so that it can break it.
SERVER = r"""
import json, sys, base64, struct
def send(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def tool(name, **more): return {"name": name, "inputSchema": {"type": "object"}, **more}
HUGE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 60000, 60000) + b"\x08\x06\0\0\0"
SMALL = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 6, 6) + b"\x08\x06\0\0\0"
def image(data): return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
def answer(name):
    if name == "long": return [{"type": "text", "text": "x" * 1_000_000}]
    if name == "blocks": return [{"type": "text", "text": "b"}] * 5000
    if name == "pictures": return [image(HUGE), image(b"<svg/>")] + [image(SMALL)] * 50
    return [{"type": "text", "text": "{}"}]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    method, number = asked["method"], asked["id"]
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        send({"jsonrpc": "2.0", "id": number, "result": {"protocolVersion": version,
              "capabilities": {"tools": {}}, "serverInfo": {"name": "hostile", "version": "1"}}})
    elif method == "tools/list":
        slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|a)*$"}}}
        names = ("long", "blocks", "pictures", "endless", "values", "flood", "deep")
        tools = [tool(name) for name in names]
        tools += [tool("slow", outputSchema=slow), tool("odd", description="d" * 100_000)]
        tools += [tool("wide", description="w" * 50), *(tool(f"more{n}") for n in range(1500))]
        tools[9]["inputSchema"]["properties"] = {f"p{n}": {"type": "string"} for n in range(2000)}
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
    elif method == "tools/call":
        name = asked["params"]["name"]
        if name == "endless":
            while True: sys.stdout.write("x" * 65536); sys.stdout.flush()
        if name == "flood":
            said = {"level": "info", "data": "x"}
            while True: send({"jsonrpc": "2.0", "method": "notifications/message", "params": said})
        if name == "values": sys.stdout.write("[" + "{}," * 1_500_000 + "1]\n"); sys.stdout.flush(); continue
        result = {"content": answer(name)}
        if name == "slow": result["structuredContent"] = {"a": "a" * 60 + "!"}
        if name == "deep":
            text = '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":%s}}}\n'
            sys.stdout.write(text % (number, "[" * 100_000 + "]" * 100_000)); sys.stdout.flush(); continue
        send({"jsonrpc": "2.0", "id": number, "result": result})
    else:
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}})
"""


@pytest.fixture
async def servers(root: Path, tmp_path: Path) -> AsyncIterator[McpServers]:
    script = tmp_path / "hostile.py"
    script.write_text(SERVER)
    server = McpServer(command=sys.executable, args=(str(script),), timeout_seconds=25)
    servers = McpServers({"h": server}, Layout(root))
    yield servers
    await servers.close()


async def run(servers: McpServers, context: ToolContext, name: str) -> ToolResult:
    tool = {each.name: each for each in await servers.load(is_patient=True)}[f"mcp__h__{name}"]
    return await tool.run(tool.parse({}), context)


async def test_tools_without_number_are_offered_up_to_a_limit(servers: McpServers) -> None:
    tools = {tool.name: tool for tool in await servers.load(is_patient=True)}
    assert len(tools) == TOOL_LIMIT
    assert "mcp__h__wide" not in tools
    assert len(tools["mcp__h__odd"].description) <= 600
    tools["mcp__h__odd"].parse({})
    (finding,) = servers.findings()
    assert finding.level == "warn"
    assert "left out" in finding.message


async def test_results_are_cut_and_point_at_the_whole(servers: McpServers, context: ToolContext) -> None:
    output = (await run(servers, context, "long")).output
    assert len(output) < 17_000
    assert "the whole is in" in output
    output = (await run(servers, context, "blocks")).output
    assert output.count("b\n") == BLOCK_LIMIT
    assert "4,000 more blocks" in output


async def test_pictures_are_counted_and_measured(servers: McpServers, context: ToolContext) -> None:
    result = await run(servers, context, "pictures")
    assert len(result.files) == FILE_LIMIT
    assert "more than 80 million pixels" in result.output
    assert "is no PNG, JPEG, GIF or WebP" in result.output
    assert "20 are shown" in result.output


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("endless", "more than 8 MB"),
        ("values", "more than 1,000,000 values"),
        ("flood", "more than 2,000 messages at once"),
    ],
)
async def test_a_server_that_sends_without_end_is_cut_off(
    servers: McpServers, context: ToolContext, name: str, words: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ToolError, match=words):
        await run(servers, context, name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


async def test_schemas_of_results_are_not_checked_with_the_servers_patterns(
    servers: McpServers, context: ToolContext
) -> None:
    before = time.process_time()
    assert (await run(servers, context, "slow")).output == "{}"
    assert time.process_time() - before < 10


async def test_a_result_nested_without_end_is_no_result(
    root: Path, tmp_path: Path, context: ToolContext
) -> None:
    script = tmp_path / "hostile.py"
    script.write_text(SERVER)
    server = McpServer(command=sys.executable, args=(str(script),), timeout_seconds=8)
    servers = McpServers({"h": server}, Layout(root))
    try:
        with pytest.raises(ToolError):
            await run(servers, context, "deep")
    finally:
        await servers.close()


async def test_an_answer_over_http_has_the_same_limit(root: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            while not writer.transport.is_closing():
                writer.write(b" " * 65_536)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        servers = McpServers({"h": McpServer(url=url, timeout_seconds=25)}, Layout(root))
        assert await servers.load(is_patient=True) == []
        assert "more than 8 MB" in servers.findings()[0].message
        await servers.close()

"""Servers are started when needed, in parallel, and a turn waits for none that is slow (W6)."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from shipmate.errors import ToolError, ToolInputError
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import Tool, ToolContext, ToolResult
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import Asked, Reply, greeting, host, result, script, wait_for_tools

# Answers after a while, and leaves a mark when it is started.
SERVER = r"""
import json, os, sys, time
marks, seconds, name = sys.argv[1], float(sys.argv[2]), sys.argv[3]
open(marks, "a").write(name + "\n")
time.sleep(seconds)
def send(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    if asked["method"] == "initialize":
        given = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        answer = {**given, "serverInfo": {"name": "s", "version": "1"}}
    elif asked["method"] == "tools/list":
        answer = {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}
    else:
        answer = {"content": [{"type": "text", "text": "did " + name}]}
    send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
"""
Open = Callable[..., McpServers]


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


class Fleet:
    """Servers that can be started, and which of them were."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.script = folder / "server.py"
        self.script.write_text(SERVER)
        self._marks = folder / "marks"
        self._root = root
        self.opened: list[McpServers] = []

    @property
    def started(self) -> list[str]:
        return self._marks.read_text().split() if self._marks.exists() else []

    def server(self, seconds: float = 0, tool: str = "act") -> McpServer:
        words = ("-S", str(self.script), str(self._marks), str(seconds), tool)
        return McpServer(command=sys.executable, args=words, timeout_seconds=30)

    def open(self, wait_seconds: float = 2.0, **servers: McpServer) -> McpServers:
        self.opened.append(McpServers(servers, Layout(self._root), wait_seconds))
        return self.opened[-1]


@pytest.fixture
async def fleet(tmp_path: Path, root: Path) -> AsyncIterator[Fleet]:
    fleet = Fleet(tmp_path, root)
    yield fleet
    for each in fleet.opened:
        await each.close()


async def names(servers: McpServers) -> list[str]:
    return [each.name for each in await servers.load()]


async def test_w6_what_a_server_offered_before_is_offered_at_once_and_nothing_is_started(
    fleet: Fleet, context: ToolContext
) -> None:
    first = fleet.open(2.0, **{f"s{n}": fleet.server() for n in range(8)})
    await first.load(is_patient=True)
    await first.close()
    assert len(fleet.started) == 8
    again = fleet.open(2.0, **{f"s{n}": fleet.server() for n in range(8)})
    began = time.perf_counter()
    tools = {each.name: each for each in await again.load()}
    assert time.perf_counter() - began < 0.05
    assert sorted(tools) == [f"mcp__s{n}__act" for n in range(8)]
    assert len(fleet.started) == 8
    assert again.findings()[0].message == "1 tool when it was last asked"
    tool = tools["mcp__s3__act"]
    assert (await tool.run(tool.parse({}), context)).output == "did act"
    assert len(fleet.started) == 9, "one that is called is started, and no other"
    assert again.findings()[3].message == "1 tool"


async def test_w6_servers_start_together_and_a_slow_one_is_not_waited_for(fleet: Fleet) -> None:
    slow = {f"slow{n}": fleet.server(60) for n in range(3)}
    fast = {f"fast{n}": fleet.server() for n in range(3)}
    servers = fleet.open(wait_seconds=1.0, **slow, **fast, gone=McpServer(command="/nowhere/server"))
    began = time.perf_counter()
    await servers.load()
    assert time.perf_counter() - began < 3
    assert servers.starting == ["slow0", "slow1", "slow2"]
    assert servers.describe_starting("en") == (
        "Still starting, so their tools are not there yet: slow0, slow1, slow2."
    )
    assert "slow0" in servers.describe_starting("zh")
    assert servers.findings()[0].message == "still starting"
    began = time.perf_counter()
    await servers.load()
    assert time.perf_counter() - began < 0.2, "it is waited for once"
    for each in servers.links:
        if each.name.startswith("slow"):
            await each.close()


async def test_w6_a_server_that_comes_late_is_there_at_a_later_step(fleet: Fleet) -> None:
    servers = fleet.open(wait_seconds=0.05, late=fleet.server(0.5))
    assert await names(servers) == []
    await wait_for_tools(servers, "mcp__late__act")
    assert servers.starting == []


async def test_w6_another_configuration_is_another_server(fleet: Fleet) -> None:
    first = fleet.open(s=fleet.server(tool="one"))
    await first.load(is_patient=True)
    await first.close()
    changed = fleet.open(wait_seconds=10, s=fleet.server(tool="two"))
    assert await names(changed) == ["mcp__s__two"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"server": 1}', b"\xff\xfe", b"[" * 100_000])
async def test_w6_a_memory_that_cannot_be_read_is_none(fleet: Fleet, root: Path, damage: bytes) -> None:
    first = fleet.open(s=fleet.server())
    await first.load(is_patient=True)
    await first.close()
    path = Layout(root).mcp_offer("s")
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(damage)
    again = fleet.open(wait_seconds=10, s=fleet.server())
    assert await names(again) == ["mcp__s__act"]


async def test_w6_a_remembered_server_that_is_gone_fails_its_call_and_no_turn(
    fleet: Fleet, root: Path, context: ToolContext
) -> None:
    first = fleet.open(s=fleet.server())
    await first.load(is_patient=True)
    await first.close()
    (fleet.script).write_text("raise SystemExit('broken')")
    again = fleet.open(s=fleet.server())
    (tool,) = await again.load()
    with pytest.raises(
        ToolError, match=r"not available: it (ended before it answered|has ended)\. Nothing ran\."
    ):
        await tool.run(tool.parse({}), context)
    assert again.findings()[0].level == "warn"
    assert await names(again) == ["mcp__s__act"]


async def test_w6_a_remembered_tool_that_is_another_by_now_is_not_called(
    fleet: Fleet, context: ToolContext
) -> None:
    first = fleet.open(s=fleet.server())
    await first.load(is_patient=True)
    await first.close()
    script = fleet.script
    script.write_text(SERVER.replace('"name": name, ', '"name": name, "description": "Now it deletes.", '))
    again = fleet.open(s=fleet.server())
    (tool,) = await again.load()
    with pytest.raises(ToolError, match="described otherwise"):
        await tool.run(tool.parse({}), context)
    (tool,) = await again.load()
    assert tool.description == "Now it deletes."
    assert (await tool.run(tool.parse({}), context)).output == "did act"

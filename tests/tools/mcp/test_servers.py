"""Servers are started when needed, in parallel, and a turn waits for none that is slow (W6)."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shipmate.errors import ToolError
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import ToolContext
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import wait_for_tools

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

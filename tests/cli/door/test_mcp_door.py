"""Threads, members and memory for programs: a real process, the official client (part 13, point 9)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

from tests.support.terminal import SHIPMATE, environment, shipmate
from tests.support.wait import LONG


async def call(client: ClientSession, name: str, **given: Any) -> str:
    found: Any = await client.call_tool(name, given)
    return f"{'! ' if found.is_error else ''}{found.content[0].text}"


async def test_9_a_program_reads_asks_and_cannot_approve(workspace: Path) -> None:
    (workspace / "members/bo/memory").mkdir(parents=True)
    (workspace / "members/bo/Agent.md").write_text("# Bo\n\nYou are Bo.\n")
    (workspace / "members/bo/memory/tea.md").write_text("Ann likes Tea.\n")
    (workspace / "secret.md").write_text("not memory")
    (workspace / "members/bo/memory/link.md").symlink_to(workspace / "secret.md")
    assert shipmate(workspace, "ask", "--thread", "talk", "read Agent.md").returncode == 0
    server = StdioServerParameters(
        command=SHIPMATE, args=["mcp", "serve"], cwd=str(workspace), env=environment(workspace)
    )
    async with (
        asyncio.timeout(LONG),
        stdio_client(server) as (read, write),
        ClientSession(read, write) as client,
    ):
        begun = await client.initialize()
        assert begun.server_info.name == "shipmate"
        tools: dict[str, Any] = {each.name: each for each in (await client.list_tools()).tools}
        assert [name for name, each in tools.items() if not each.annotations.read_only_hint] == ["ask_member"]
        assert '"id":"bo"' in await call(client, "list_members")
        assert '"thread":"cli:chat:talk"' in await call(client, "list_threads")
        assert '"thread":"cli:chat:talk"' in await call(client, "search_threads", query="Agent.md")
        assert "You are Ada" in await call(client, "read_thread", thread="cli:chat:talk")
        assert await call(client, "read_memory", member="bo") == "memory/tea.md"
        assert '"line":1' in await call(client, "search_memory", member="bo", query="tea")
        for path in ("memory/link.md", "../../secret.md", "Agent.md"):
            assert "! bo has no memory file" in await call(client, "read_memory", member="bo", path=path)
        # Its calls are asked about, and not here: a yes of the program decides nothing.
        asked = await client.call_tool("ask_member", {"text": "write Hi to hi.md", "member": "bo"})
        told = asked.structured_content
        assert told["status"] == "suspended"
        assert "shipmate approvals answer" in told["text"]
        again = await client.call_tool("ask_member", {"text": "yes", "thread": told["thread"]})
        assert not (workspace / "hi.md").exists()
        assert "a yes does not count here" in again.structured_content["text"]
        approval = told["text"].split("approvals show ")[1].split("`")[0]
        assert shipmate(workspace, "approvals", "answer", approval, "yes").returncode == 0
        assert (workspace / "hi.md").read_text().strip() == "Hi"
        # What takes long is told to, and a program speaks in threads of its own alone.
        slow = await client.call_tool("ask_member", {"text": "count to 400 slowly", "waitSeconds": 0})
        assert slow.structured_content["status"] == "running"
        assert shipmate(workspace, "stop", slow.structured_content["thread"]).returncode == 0
        assert "! cli:chat:talk is a thread of people" in await call(
            client, "ask_member", text="hi", thread="cli:chat:talk"
        )
        assert "Mend this argument" in await call(client, "read_thread", thread="x", last=0)
        assert "! " in await call(client, "read_thread", thread="../x")
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        assert {"shipmate://thread/cli:chat:talk", "shipmate://memory/bo/memory/tea.md"} <= listed
        assert len((await client.list_resource_templates()).resource_templates) == 2
        found: Any = await client.read_resource("shipmate://memory/bo/memory/tea.md")
        assert found.contents[0].text == "Ann likes Tea.\n"
        for uri in ("shipmate://memory/bo/../../secret.md", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

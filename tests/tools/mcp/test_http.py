"""Hostile servers over HTTP: what they send is bounded, and the rest goes on (W6)."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ToolError
from shipmate.tools.mcp.servers import McpServers
from shipmate.tools.tool import ToolContext
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import Layout
from tests.support.mcp_host import Asked, Harbour, Reply, greeting, result, script, text, tool, wait_for_tools
from tests.support.wait import LONG

MANY = 100_000_000
PIECE = b"x" * 65_536


async def _pour(reply: Reply, beginning: bytes) -> None:
    reply.writer.write(beginning)
    for _ in range(MANY // len(PIECE)):
        if reply.writer.transport.is_closing():
            return
        reply.writer.write(PIECE)
        await reply.writer.drain()


async def _json(asked: Asked, reply: Reply) -> None:
    await _pour(reply, b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"a": "')


async def _event(asked: Asked, reply: Reply) -> None:
    await _pour(reply, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ")


async def _error(asked: Asked, reply: Reply) -> None:
    await _pour(reply, b"HTTP/1.1 500 Trouble\r\ncontent-type: text/plain\r\n\r\n")


async def _events(asked: Asked, reply: Reply) -> None:
    reply.begin_stream()
    while not reply.writer.transport.is_closing():
        reply.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}})
        await reply.writer.drain()


async def _values(asked: Asked, reply: Reply) -> None:
    reply.send(200, b"[" + b"{}," * 1_500_000 + b"1]", content_type="application/json")


async def _compressed(asked: Asked, reply: Reply) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    reply.send(200, bomb, content_type="application/json", content_encoding="gzip")


async def _deep(asked: Asked, reply: Reply) -> None:
    data = b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (asked.message["id"], b"[" * 100_000 + b"]" * 100_000)
    reply.send(200, data, content_type="application/json")


async def _other_id(asked: Asked, reply: Reply) -> None:
    reply.send(200, {"jsonrpc": "2.0", "id": 999_999, "result": {"content": []}})


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (_json, "more than 8 MB"),
        (_event, "more than 8 MB"),
        (_error, "it answered 500"),
        (_events, "more than 2,000 messages at once"),
        (_values, "more than 1,000,000 values"),
        (_compressed, "a compressed answer"),
        (_deep, "cannot be read"),
        (_other_id, "cannot be read"),
    ],
)
async def test_w6_what_is_too_much_is_cut_off_and_the_next_call_goes_through(
    root: Path, context: ToolContext, trouble: Any, words: str
) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        server = McpServer(url=f"http://127.0.0.1:{port}/mcp", timeout_seconds=LONG)
        servers = McpServers({"s": server}, Layout(root))
        tools = {each.name: each for each in await servers.load(is_patient=True)}
        act = tools["mcp__s__act"]
        harbour.on_call = trouble
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(ToolError, match=words):
            await act.run(act.parse({}), context)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
        harbour.on_call = None
        assert (await act.run(act.parse({}), context)).output == "done 2"
        await servers.close()


async def test_w6_pages_without_end_are_read_up_to_a_limit(root: Path) -> None:
    pages = 0

    async def serve(asked: Asked, reply: Reply) -> None:
        nonlocal pages
        if asked.rpc == "initialize":
            reply.send(200, greeting(asked))
        elif asked.rpc == "tools/list":
            pages += 1
            reply.send(200, result(asked, {"tools": [tool(f"t{pages}")], "nextCursor": f"c{pages}"}))
        else:
            reply.send(202 if asked.method == "POST" else 405)

    async with script(serve) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        assert len(await servers.load(is_patient=True)) == 20
        assert pages == 20
        await servers.close()


async def test_w6_a_stream_that_pours_is_no_longer_listened_to_and_calls_go_on(
    root: Path, context: ToolContext
) -> None:
    harbour, poured = Harbour(), asyncio.Event()

    async def serve(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "GET":
            try:
                await _pour(reply, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: ")
            finally:
                poured.set()
        else:
            await harbour(asked, reply)

    async with script(serve) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        tools = {each.name: each for each in await servers.load(is_patient=True)}
        await asyncio.wait_for(poured.wait(), LONG)
        act = tools["mcp__s__act"]
        assert (await act.run(act.parse({}), context)).output == "done 1"
        await servers.close()


async def test_w6_a_server_whose_tools_change_all_the_time_costs_a_question_a_step(root: Path) -> None:
    """Its tools are asked for when a step is taken, not whenever it says that they changed."""
    harbour = Harbour()
    async with script(harbour) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        await servers.load(is_patient=True)
        await asyncio.wait_for(harbour.opened.wait(), LONG)
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        for turn in range(300):
            harbour.tools = [tool(f"t{turn}")]
            harbour.streams[0].event(changed)
        await wait_for_tools(servers, "mcp__s__t299")
        listed = [method for method, _ in harbour.seen].count("tools/list")
        assert listed <= 10
        began = time.perf_counter()
        for _ in range(100):
            await servers.load()
        assert time.perf_counter() - began < 1
        await servers.close()


async def test_w6_the_header_names_the_version_that_was_agreed_on(root: Path, context: ToolContext) -> None:
    harbour = Harbour()
    async with script(harbour) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        await servers.load(is_patient=True)
        await servers.close()
    first, *others = harbour.seen
    assert "mcp-protocol-version" not in first[1]
    assert {headers.get("mcp-protocol-version") for _, headers in others} == {"2025-06-18"}
    assert [method for method, _ in harbour.seen][-1] == "DELETE"


@pytest.mark.parametrize("version", ["1999-01-01", None, 7])
async def test_w6_an_unknown_version_is_told(root: Path, version: Any) -> None:
    async def serve(asked: Asked, reply: Reply) -> None:
        answer = greeting(asked)
        answer["result"]["protocolVersion"] = version
        reply.send(200, answer)

    async with script(serve) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        await servers.load(is_patient=True)
        assert "which is not known here" in servers.findings()[0].message
        await servers.close()


async def test_w6_several_messages_at_once_are_read(root: Path, context: ToolContext) -> None:
    harbour = Harbour()

    async def both(asked: Asked, reply: Reply) -> None:
        said = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        reply.send(200, json.loads(json.dumps([said, text(asked, "found")])))

    harbour.on_call = both
    async with script(harbour) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        tools = {each.name: each for each in await servers.load(is_patient=True)}
        act = tools["mcp__s__act"]
        assert (await act.run(act.parse({}), context)).output == "found"
        await servers.close()


@pytest.mark.parametrize("session", ["é", "x" * 5_000])
async def test_w6_a_session_that_no_header_can_name_is_not_named(root: Path, session: str) -> None:
    named: list[str] = []

    async def serve(asked: Asked, reply: Reply) -> None:
        named.append(asked.headers.get("mcp-session-id", ""))
        if asked.rpc == "initialize":
            reply.send(200, greeting(asked), mcp_session_id=session)
        elif asked.rpc == "tools/list":
            reply.send(200, result(asked, {"tools": [tool("act")]}))
        else:
            reply.send(202 if asked.method == "POST" else 405)

    async with script(serve) as port:
        servers = McpServers({"s": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, Layout(root))
        found = [each.name for each in await servers.load(is_patient=True)]
        await servers.close()
    assert found == ["mcp__s__act"]
    assert not any(named)

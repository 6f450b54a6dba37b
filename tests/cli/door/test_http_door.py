"""The same door over HTTP: a served workspace, the official client, the API's guard (part 13, point 9)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.cli.door.test_mcp_door import call
from tests.support.serve_process import shipmate
from tests.support.wait import LONG


async def test_9_a_program_asks_over_http_behind_the_same_guard(workspace: Path) -> None:
    async with shipmate(workspace) as server, asyncio.timeout(LONG):
        address, bearer = f"{server.address}/mcp", dict(server.client.headers)
        async with (
            streamable_http_client(address, http_client=server.client) as streams,
            ClientSession(*streams[:2]) as client,
        ):
            begun = await client.initialize()
            assert begun.server_info.name == "shipmate"
            assert '"id":"captain"' in await call(client, "list_members")
            told = (await client.call_tool("ask_member", {"text": "write Hi to hi.md"})).structured_content
            # Where a person decides, a yes of the program decides nothing.
            assert told["status"] == "suspended"
            await client.call_tool("ask_member", {"text": "yes", "thread": told["thread"]})
            assert not (workspace / "hi.md").exists()
            assert "write Hi to hi.md" in await call(client, "read_thread", thread=told["thread"])
            # A request that is taken back stops its run.
            slow = asyncio.create_task(client.call_tool("ask_member", {"text": "count to 400 slowly"}))
            while not (running := await _running(server.client)):  # noqa: ASYNC110  (of another process)
                await asyncio.sleep(0.02)
            slow.cancel()
            while await _running(server.client):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            assert len(running) == 1
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert (await stranger.post(address, json=ping)).status_code == 401
            elsewhere = {**bearer, "origin": "http://evil.example"}
            assert (await stranger.post(address, json=ping, headers=elsewhere)).status_code == 403
            old = await stranger.post(address, json=ping, headers={**bearer, "mcp-protocol-version": "1"})
            assert old.status_code == 400
            assert (await stranger.get(address, headers=bearer)).status_code == 405
            told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await stranger.post(address, json=told, headers=bearer)).status_code == 202
            broken = await stranger.post(address, content=b"[", headers=bearer)
            assert broken.json()["error"]["code"] == -32700


async def _running(client: httpx2.AsyncClient) -> list[str]:
    threads = (await client.get("/api/threads")).json()["threads"]
    return [each["id"] for each in threads if each["running"]]

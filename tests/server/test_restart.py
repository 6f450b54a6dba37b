"""The real AI SDK clients, v6 and v7, through a kill -9 of the server: they hold what is stored."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.node import node_command
from tests.support.page import reserve_port
from tests.support.script import COUNTED
from tests.support.server import make_workspace
from tests.support.wait import LONG

pytestmark = [pytest.mark.node, pytest.mark.crash]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", ["6", "7"])
@pytest.mark.parametrize("words", ["write and count", "count slowly"])
async def test_w1_clients_of_a_killed_server_hold_what_is_stored(
    tmp_path: Path, version: str, words: str
) -> None:
    make_workspace(tmp_path)
    reserved = reserve_port()
    port: int = reserved.getsockname()[1]
    started = [await start(tmp_path, port)]
    try:
        token = (tmp_path / ".ship" / "token").read_text().strip()
        client = await start_client(version, f"http://127.0.0.1:{port}", token, words)
        started.append(client)
        assert client.stdout is not None
        async with asyncio.timeout(LONG):
            assert await client.stdout.readline() == b"kill\n"
            started[0].kill()
            await started[0].wait()
            started.append(await start(tmp_path, port))
            out, problems = await client.communicate(b"up\n")
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
                await process.wait()
        reserved.close()
    assert client.returncode == 0, problems.decode()
    found: dict[str, Any] = msgspec.json.decode(out)
    assert found["errors"] == ["undefined", "undefined"]
    kept = plain(found["kept"])
    assert plain(found["first"]) == kept
    assert plain(found["other"]) == kept
    texts = [part["text"] for part in kept[-1]["parts"] if part["type"] == "text"]
    assert texts[-1] == COUNTED


async def start(folder: Path, port: int) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.talking_server", str(folder), str(port)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(LONG):
        assert await process.stdout.readline() == b"ready\n"
    return process


async def start_client(version: str, address: str, token: str, words: str) -> asyncio.subprocess.Process:
    node, folder = node_command()
    return await asyncio.create_subprocess_exec(
        *(node, "restart.mjs", version, address, token, words),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what a client cannot know: metadata of its own words, and how a person decided."""
    for message in messages:
        if message["role"] == "user":
            message.pop("metadata", None)
        for part in message["parts"]:
            if "approval" in part:
                part["approval"] = {"id": part["approval"]["id"]}
    return messages

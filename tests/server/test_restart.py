"""The real AI SDK clients, v6 and v7, through a kill -9 of the server: they hold what is stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.server.stream.watch import REJOIN
from tests.support.node import node_command
from tests.support.page import reserve_port
from tests.support.script import COUNTED, TalkingModel
from tests.support.server import make_site, make_workspace, opener_for, serving
from tests.support.talking_server import start
from tests.support.wait import LONG
from tests.support.wire import answer, messages, read_chunks, said, user

pytestmark = [pytest.mark.node, pytest.mark.crash]


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


async def test_w1_a_stream_through_another_process_ends_when_words_are_lost(tmp_path: Path) -> None:
    keeper = await start(make_workspace(tmp_path), 0)
    try:
        site = make_site(tmp_path, opener_for(TalkingModel()))
        async with asyncio.timeout(LONG), serving(site) as served:
            request = {"id": "room", "messages": [user("u1", "write and count")]}
            asked = read_chunks((await served.client.post("/api/chat", json=request)).text)
            assert asked[-1]["type"] == "finish"
            waiting = (await messages(served.client, "room"))[-1]
            told = ""
            decided = {"id": "room", "messages": [answer(waiting, True)]}
            async with served.client.stream("POST", "/api/chat", json=decided) as answering:
                async for line in answering.aiter_lines():
                    told += f"{line}\n"
                    # Neighbouring deltas may have been joined to one.
                    if '"text-delta"' in line and "7 " in line and keeper.returncode is None:
                        keeper.kill()
                        await keeper.wait()
            chunks = read_chunks(told)
            assert chunks[-1] == {"type": "error", "errorText": REJOIN}
            resumed = read_chunks((await served.client.get("/api/chat/room/stream")).text)
            assert said(resumed) == COUNTED
            assert [chunk["type"] for chunk in resumed].count("tool-output-available") == 1
            assert (await messages(served.client, "room"))[-1]["id"] == resumed[0]["messageId"]
    finally:
        if keeper.returncode is None:
            keeper.kill()
            await keeper.wait()

"""`shipmate serve` as a real process: started, killed in the middle of an answer, started again."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import httpx2
import pytest

from tests.support.serve_process import Process, environment, shipmate
from tests.support.server import make_workspace
from tests.support.wait import LONG
from tests.support.wire import answer, chat, messages, read_chunks, said, user

pytestmark = pytest.mark.crash


async def test_it_prints_a_link_that_lets_a_browser_in_once(tmp_path: Path) -> None:
    async with shipmate(make_workspace(tmp_path)) as served:
        assert served.address.startswith("http://127.0.0.1:")
        browser = httpx2.AsyncClient(base_url=served.address, trust_env=False, verify=False)
        async with browser:
            assert (await browser.get(f"/?token={served.ticket}")).status_code == 303
            session = (await browser.get("/api/session")).json()
            assert session["model"] == {"name": "rehearsal", "isRehearsal": True}
    assert served.process.returncode in (0, -15)


async def test_it_serves_a_folder_without_an_agent(tmp_path: Path) -> None:
    async with shipmate(tmp_path) as served:
        assert (await served.client.get("/api/session")).json()["workspace"]["hasAgent"] is False
        assert (await served.client.post("/api/setup", json={"example": "captain"})).status_code == 201
        assert said(await chat(served.client, "room", user("u1", "hello")))


async def test_a_killed_server_goes_on_with_the_answer_after_its_restart(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    async with shipmate(tmp_path) as served:
        with pytest.raises(httpx2.HTTPError):
            await kill_while_counting(served)
    async with shipmate(tmp_path) as served:
        page = (await served.client.get("/api/threads/room/messages")).json()
        assert [message["id"] for message in page["messages"]] == ["u1"]
        assert page["running"]
        response = await served.client.get("/api/chat/room/stream")
        assert " 29 30" in said(read_chunks(response.text))
        stored = await messages(served.client, "room")
        assert [message["role"] for message in stored] == ["user", "assistant"]
        repeated = await chat(served.client, "room", user("u1", "count to 30 slowly"))
        assert repeated[0]["messageId"] == stored[1]["id"]


async def kill_while_counting(served: Process) -> None:
    request = {"id": "room", "messages": [user("u1", "count to 30 slowly")]}
    async with served.client.stream("POST", "/api/chat", json=request) as answering:
        async for line in answering.aiter_lines():
            if '"text-delta"' in line and "3 " in line:
                await served.kill()


async def test_a_server_that_stops_tells_its_streams_and_goes_on_later(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    async with shipmate(tmp_path) as served:
        counting = asyncio.create_task(chat(served.client, "room", user("u1", "count to 30 slowly")))
        async with asyncio.timeout(LONG):
            while not (await served.client.get("/api/threads/room/messages")).json().get("running"):
                pass
        served.process.terminate()
        chunks = await asyncio.wait_for(counting, LONG)
        assert "server stops" in chunks[-1]["errorText"]
        await asyncio.wait_for(served.process.wait(), LONG)
    async with shipmate(tmp_path) as served:
        response = await served.client.get("/api/chat/room/stream")
        assert " 29 30" in said(read_chunks(response.text))


async def test_an_approval_outlives_a_killed_server(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    async with shipmate(tmp_path) as served:
        await chat(served.client, "room", user("u1", "write gamma to c.md"))
        waiting = (await messages(served.client, "room"))[-1]
        await served.kill()
    assert not (tmp_path / "c.md").exists()
    async with shipmate(tmp_path) as served:
        approvals = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
        assert len(approvals) == 1
        done = await chat(served.client, "room", answer(waiting, True))
        assert done[0]["messageId"] == waiting["id"]
        assert (tmp_path / "c.md").exists()


async def test_a_session_cookie_outlives_a_restart(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    jar = httpx2.AsyncClient(trust_env=False, verify=False)
    async with jar:
        async with shipmate(tmp_path) as served:
            await jar.get(f"{served.address}/?token={served.ticket}")
        async with shipmate(tmp_path) as served:
            assert (await jar.get(f"{served.address}/api/session")).status_code == 200


@pytest.mark.parametrize(
    ("prepare", "options", "words"),
    [
        ("", ("--host", "0.0.0.0"), b"no strong token guards it"),
        ("short", ("--host", "::"), b"no strong token guards it"),
        ("", ("--host", "nonsense.invalid"), b"no strong token"),
        ("x" * 40, ("--host", "240.0.0.1"), b"cannot listen"),
    ],
)
async def test_it_refuses_to_start_where_it_is_not_safe(
    tmp_path: Path, prepare: str, options: tuple[str, ...], words: bytes
) -> None:
    make_workspace(tmp_path)
    if prepare:
        (tmp_path / ".ship").mkdir()
        (tmp_path / ".ship" / "token").write_text(prepare)
        (tmp_path / ".ship" / "token").chmod(0o600)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from shipmate.cli import main; main()",
        *("-C", str(tmp_path), "serve", "--no-open", "--port", "0", *options),
        env=environment(),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, problems = await asyncio.wait_for(process.communicate(), LONG)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 2
    assert words in problems
    assert b"Traceback" not in problems

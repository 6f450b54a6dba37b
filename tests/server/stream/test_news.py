"""What open pages are told: every change, by whichever process, once and briefly (U7)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from shipmate.app import Shipmate
from shipmate.server.stream import news, stream
from tests.support.script import TalkingModel
from tests.support.server import Served, make_site, make_workspace, opener_for, serving
from tests.support.talking_server import start
from tests.support.terminal import shipmate
from tests.support.wait import LONG
from tests.support.wire import chat, user

ROOM = "web:room:room"


class Hearing:
    """What one page hears."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.lines = response.aiter_lines()

    async def line(self) -> str:
        async with asyncio.timeout(LONG):
            return await anext(self.lines)

    async def change(self) -> dict[str, Any]:
        while not (line := await self.line()).startswith("data: "):
            pass
        return msgspec.json.decode(line.removeprefix("data: "))

    async def until(self, topic: str, **wanted: object) -> dict[str, Any]:
        """Wait for a change of a topic in which these fields are as wanted."""
        while True:
            told = await self.change()
            if topic in told["changed"] and {**told, **wanted} == told:
                return told


@asynccontextmanager
async def hearing(served: Served) -> AsyncGenerator[Hearing]:
    async with served.client.stream("GET", "/api/events") as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"].startswith("no-")
        heard = Hearing(response)
        assert await heard.change() == {
            "type": "change",
            "changed": ["threads", "approvals", "runs", "platforms", "files"],
            "runs": [],
            "files": [],
            "waiting": 0,
        }
        yield heard


async def test_u7_a_page_is_told_of_threads_runs_approvals_and_files(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def refuse(*_: object) -> None:
        loop.call_soon_threadsafe(failed.set)
        raise OSError("the disk refuses")

    async with hearing(served) as page, hearing(served) as other:
        saying = asyncio.create_task(chat(served.client, "room", user("u1", "count slowly")))
        assert (await page.until("runs"))["runs"] == [ROOM]
        await saying
        assert (await page.until("runs"))["runs"] == [ROOM]
        await chat(served.client, "room", user("u2", "write one file"))
        for each in (page, other):
            assert await each.until("approvals", waiting=1)
        waiting = (await served.client.get("/api/approvals?status=requested")).json()["approvals"]
        await served.client.post(f"/api/approvals/{waiting[0]['id']}", json={"approved": False})
        await page.until("approvals", waiting=0)
        (tmp_path / "memory").mkdir()
        # A name that no JSON can tell ends no stream.
        (tmp_path / "memory" / os.fsdecode(b"\xff.md")).write_text("Written elsewhere.\n")
        while "memory/\ufffd.md" not in (await page.until("files"))["files"]:
            pass
        # Nor does a look that fails.
        monkeypatch.setattr(news, "_stamps", refuse)
        await failed.wait()
        monkeypatch.undo()
        (tmp_path / "memory" / "MEMORY.md").write_text("The harbour is north.\n")
        while "memory/MEMORY.md" not in (await page.until("files"))["files"]:
            pass
        # What was not read meanwhile came together, not one after the other.
        told = [await other.change()]
        while "memory/MEMORY.md" not in told[-1]["files"]:
            told.append(await other.change())
        assert len(told) < 20
        monkeypatch.setattr(news, "NAMED_FILES", 0)
        (tmp_path / "memory" / "MEMORY.md").unlink()
        assert (await page.until("files"))["files"] == [], "too many to name"


async def test_u7_an_idle_page_costs_less_than_a_kilobyte_a_minute(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = 60 / stream.KEEP_ALIVE_SECONDS
    monkeypatch.setattr(stream, "KEEP_ALIVE_SECONDS", 0.05)
    async with hearing(served) as page:
        assert await page.line() == ""
        sign = [await page.line() for _ in range(20)]
        # With what HTTP puts around each piece.
        assert beats * (len(stream.KEEP_ALIVE) + 8) < 1000
        assert set(sign) == {": still here", ""}, "nothing else is said while nothing happens"


async def test_u7_what_other_processes_do_is_told_whoever_keeps(tmp_path: Path) -> None:
    keeper = await start(make_workspace(tmp_path))
    try:
        site = make_site(tmp_path, opener_for(TalkingModel()))
        async with serving(site) as served, hearing(served) as page:
            ship = await served.ship()
            assert isinstance(ship, Shipmate)
            assert not ship.keeper.keeps
            await chat(served.client, "room", user("u1", "write one file"))
            await page.until("approvals", waiting=1)
            (asked,) = await ship.approvals.list("requested")
            # The command reaches the keeper; this process has no part in it.
            answered = await asyncio.to_thread(shipmate, tmp_path, "approvals", "answer", asked.id, "no")
            assert answered.returncode == 0, answered.stderr
            await page.until("approvals", waiting=0)
            keeper.kill()
            await keeper.wait()
            # The next keeper is this process; its pages hear on.
            await chat(served.client, "later", user("u9", "count slowly"))
            await page.until("runs", runs=["web:room:later"])
    finally:
        if keeper.returncode is None:
            keeper.kill()
            await keeper.wait()


async def test_u7_pages_are_bounded_and_end_with_the_server(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "READER_LIMIT", 1)
    async with hearing(served) as page:
        refused = await served.client.get("/api/events")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
        served.site.streams.leave()
        assert "when it is back" in [line async for line in page.lines][-2]
    async with hearing(served):
        pass
    # Nobody looks at the disk for nobody.
    looking = [task for task in asyncio.all_tasks() if "News._look" in repr(task.get_coro())]
    await asyncio.wait_for(asyncio.gather(*looking, return_exceptions=True), LONG)

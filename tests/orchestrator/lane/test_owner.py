"""Another model for a thread, for a member, and back (point 5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.values.event import Outcome, TextEvent
from shipmate.values.message import metadata_of, new_id, timestamp
from shipmate.values.thread_id import ThreadId
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse
from tests.support.terminal import make_workspace

ROOM = "telegram:chat:1"


class Desk:
    """Talk to an open workspace whose models live on a loopback server."""

    def __init__(self, ship: Shipmate, server: ProviderServer) -> None:
        self.ship = ship
        self.server = server

    async def say(self, text: str, thread: str = ROOM, user: str = "ann") -> Outcome:
        event = TextEvent(
            platform=ThreadId.parse(thread).platform,
            thread_id=thread,
            user_id=user,
            message_id=new_id("in"),
            timestamp=timestamp(),
            text=text,
        )
        return await (await self.ship.receive(event)).outcome()

    async def answered_by(self, thread: str = ROOM) -> Any:
        read = await self.ship.threads.read(ThreadId.parse(thread))
        return metadata_of(read.messages[-1]).get("model")


@asynccontextmanager
async def open_desk(folder: Path, **llm: object) -> AsyncGenerator[Desk]:
    make_workspace(folder)
    async with ProviderServer() as server:
        settings = {
            "provider": "openai",
            "model": "one",
            "apiKey": "sk-1",
            "baseUrl": f"{server.url}/v1",
            **llm,
        }
        (folder / "ship.json").write_text(json.dumps({"llm": settings, "permissions": {"admins": ["boss"]}}))
        async with Shipmate.open(folder, environ={"OLLAMA_HOST": "127.0.0.1:1"}) as ship:
            yield Desk(ship, server)


async def test_5_a_thread_has_a_model_of_its_own_and_gives_it_back(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        assert "openai:one" in (await desk.say("/model")).text
        # Before anything was said here.
        assert "openai:two" in (await desk.say("/model two")).text
        await desk.say("hello")
        assert desk.server.requests[-1].model == "two"
        assert await desk.answered_by() == "openai:two"
        await desk.say("hello", "telegram:chat:2")
        assert desk.server.requests[-1].model == "one"
        assert "openai:one" in (await desk.say("/model default")).text
        await desk.say("hello")
        assert desk.server.requests[-1].model == "one"
        # The member's own needs no mark.
        assert await desk.answered_by() is None


async def test_5_the_choice_outlives_the_process(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.say("hello")
        await desk.say("/model two")
        async with Shipmate.open(tmp_path, environ={}) as second:
            pass
        await desk.ship.close()
        async with Shipmate.open(tmp_path, environ={}) as second:
            await Desk(second, desk.server).say("again")
        assert desk.server.requests[-1].model == "two"


@pytest.mark.parametrize("name", ["two", "nobody:x", "anthropic:claude", "openai:", "two words", ":"])
async def test_5_a_name_that_does_not_work_is_refused_before_it_is_kept(tmp_path: Path, name: str) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.say("hello")
        desk.server.script(refuse(404, "no such model"))
        outcome = await desk.say(f"/model {name}")
        assert outcome.status == "failed"
        assert "stays as it was" in (outcome.error or "")
        info = await desk.ship.store.threads.find(ROOM)
        assert info is not None
        assert "model" not in info.settings
        desk.server.script()
        desk.server._script.clear()  # pyright: ignore[reportPrivateUsage]
        await desk.say("hello")
        assert desk.server.requests[-1].model == "one"


async def test_5_a_member_is_switched_by_whoever_may(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        before = (tmp_path / "ship.json").read_text()
        refused = await desk.say("/model two --member")
        assert refused.status == "failed"
        assert (tmp_path / "ship.json").read_text() == before
        assert (await desk.say("/model two --member", user="boss")).status == "replied"
        llm = json.loads((tmp_path / "ship.json").read_text())["llm"]
        assert (llm["provider"], llm["model"], llm["apiKey"]) == ("openai", "two", "sk-1")
        # Nobody has to start anything anew.
        await desk.say("hello", "telegram:chat:3")
        assert desk.server.requests[-1].model == "two"


async def test_5_settings_written_meanwhile_hold_from_the_next_turn_on(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.say("hello")
        raw = json.loads((tmp_path / "ship.json").read_text())
        raw["llm"] |= {"model": "three", "apiKey": "${FRESH_KEY}"}
        (tmp_path / ".env").write_text("FRESH_KEY=sk-fresh-0123456789\n")
        (tmp_path / "ship.json").write_text(json.dumps(raw))
        await desk.say("hello")
        assert desk.server.requests[-1].model == "three"
        assert desk.server.requests[-1].headers["authorization"] == "Bearer sk-fresh-0123456789"
        # What cannot be read changes nothing.
        (tmp_path / "ship.json").write_text("{")
        await desk.say("hello")
        assert desk.server.requests[-1].model == "three"
        assert "sk-fresh-0123456789" not in desk.ship.loaded.mask("sk-fresh-0123456789")


async def test_5_words_in_chinese(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        raw = json.loads((tmp_path / "ship.json").read_text())
        await desk.ship.close()
        (tmp_path / "ship.json").write_text(json.dumps({**raw, "language": "zh"}))
        async with Shipmate.open(tmp_path, environ={}) as ship:
            assert "回答" in (await Desk(ship, desk.server).say("/model")).text
        await asyncio.sleep(0)

"""A model that reads 4,096 tokens: prompt and tools leave room for the talk (point 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.app import Shipmate
from shipmate.cli.workspace.init import EXAMPLES
from shipmate.values.event import Outcome, TextEvent
from shipmate.values.message import estimate_tokens, new_id, timestamp
from tests.support.provider_server import ProviderServer, Recorded, answer
from tests.support.provider_wire import Reply, refuse

WINDOW = 4096
ROOM = 1500


def size_of(body: Any) -> int:
    return estimate_tokens(msgspec.json.encode(body).decode())


def answer_small(request: Recorded) -> Reply:
    """Answer as a server that reads so much and no more."""
    if size_of(request.body) > WINDOW:
        return refuse(400, "the request exceeds the available context size", kind="exceed_context_size_error")
    return answer(request)


async def talk(folder: Path, server: ProviderServer, *texts: str, **settings: object) -> list[Outcome]:
    llm = {"provider": "openai-compatible", "model": "small", "baseUrl": f"{server.url}/v1"}
    (folder / "ship.json").write_text(json.dumps({"llm": llm, **settings}))
    outcomes: list[Outcome] = []
    async with Shipmate.open(folder, environ={}) as ship:
        for text in texts:
            event = TextEvent(
                platform="cli",
                thread_id="cli:chat:small",
                user_id="ann",
                message_id=new_id("in"),
                timestamp=timestamp(),
                text=text,
            )
            outcomes.append(await (await ship.receive(event)).outcome())
    return outcomes


@pytest.mark.parametrize("example", ["captain", "researcher", "helper"])
async def test_4_a_fresh_chat_leaves_room_to_talk(tmp_path: Path, example: str) -> None:
    (tmp_path / "Agent.md").write_text((EXAMPLES / f"{example}.md").read_text().replace("{name}", "Ada"))
    async with ProviderServer(answer_small) as server:
        server.routes["/props"] = {"default_generation_settings": {"n_ctx": WINDOW}}
        (outcome,) = await talk(tmp_path, server, "hello")
    assert outcome.status == "replied", outcome.error
    assert size_of(server.requests[0].body) <= WINDOW - ROOM


async def test_4_much_that_could_stand_in_the_prompt_gives_way(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Ada\n\n" + "You are careful with every rope on deck. " * 400)
    (tmp_path / "AGENTS.md").write_text("Rules of the yard. " * 2000)
    (tmp_path / "MEMORY.md").write_text("What was learnt. " * 2000)
    async with ProviderServer(answer_small) as server:
        server.routes["/props"] = {"default_generation_settings": {"n_ctx": WINDOW}}
        outcomes = await talk(tmp_path, server, "hello", "and again")
    assert [each.status for each in outcomes] == ["replied", "replied"], outcomes
    assert size_of(server.requests[0].body) <= WINDOW - ROOM + 200


async def test_4_a_large_window_keeps_everything(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Ada\n\n" + "You are careful with every rope on deck. " * 400)
    async with ProviderServer() as server:
        server.routes["/props"] = {"default_generation_settings": {"n_ctx": 131072}}
        await talk(tmp_path, server, "hello")
    assert size_of(server.requests[0].body) > WINDOW

"""Platforms that call reach their adapter, and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

from shipmate.adapters.memory_platform import MemoryAdapter, MemorySettings
from shipmate.app import Shipmate
from shipmate.delivery.adapter import Hear, HookAnswer, HookRequest
from shipmate.models.scripted import ScriptedModel
from shipmate.server.guard.security import BODY_LIMIT
from shipmate.values.adapter_event import AdapterEvent, Chat, Speaker
from shipmate.values.message import timestamp
from tests.support.server import make_site, make_workspace, opener_for, serving


class Calling(MemoryAdapter):
    """An adapter that is called by its platform."""

    def __init__(self, name: str, settings: MemorySettings) -> None:
        super().__init__(name, settings)
        self.asked: list[HookRequest] = []

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
        self.asked.append(request)
        if request.headers.get("x-secret") != "s3cret":
            return HookAnswer(status=401)
        event = AdapterEvent(
            platform=self.name,
            chat=Chat(id="1"),
            speaker=Speaker(id="1"),
            message_id=request.query["id"],
            timestamp=timestamp(),
            text=request.body.decode(),
        )
        heard = await hear(event)
        return HookAnswer(body=json.dumps(heard.status).encode())


async def pieces() -> AsyncIterator[bytes]:
    """Go over a body whose length is not told."""
    for _ in range(BODY_LIMIT // 50_000 + 1):
        yield b"x" * 50_000


async def test_a_platform_that_calls_is_heard_by_its_adapter_alone(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    settings = {"adapters": {"memory": {"open": True}, "broken": {"kind": "bird"}}}
    (tmp_path / "ship.json").write_text(json.dumps(settings))
    async with serving(make_site(tmp_path, opener_for(ScriptedModel(["Hello."])))) as served:
        ship = await served.ship()
        assert isinstance(ship, Shipmate)
        adapter = Calling("memory", MemorySettings(open=True))
        ship.adapters.put(adapter)
        async with served.stranger() as stranger:
            assert (await stranger.post("/hooks/memory?id=m1", content=b"hi")).status_code == 401
            secret = {"x-secret": "s3cret"}
            answers = [
                (await stranger.post("/hooks/memory?id=m1", content=b"hi", headers=secret)).json()
                for _ in range(2)
            ]
            assert answers == ["accepted", "repeated"]
            # A body of any length is neither read whole nor handed on.
            seen = len(adapter.asked)
            for body in (b"x" * (BODY_LIMIT + 1), pieces()):
                large = await stranger.post("/hooks/memory?id=m2", content=body, headers=secret)
                assert large.status_code == 413
            assert len(adapter.asked) == seen
            for name in ("broken", "nobody"):
                assert (await stranger.post(f"/hooks/{name}", content=b"hi")).status_code == 404
        await adapter.platform.wait("Hello.")
        await served.idle()
    assert [each.text for each in adapter.platform.in_chat("1")] == ["Hello."]

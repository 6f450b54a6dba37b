"""Platforms that call reach their adapter, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from shipmate.adapters.memory_platform import MemoryAdapter, MemorySettings
from shipmate.app import Shipmate
from shipmate.delivery.adapter import Hear, HookAnswer, HookRequest
from shipmate.models.scripted import ScriptedModel
from shipmate.values.adapter_event import AdapterEvent, Chat, Speaker
from shipmate.values.message import timestamp
from tests.support.server import make_site, make_workspace, opener_for, serving


class Calling(MemoryAdapter):
    """An adapter that is called by its platform."""

    async def answer_hook(self, request: HookRequest, hear: Hear) -> HookAnswer:
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
            for name in ("broken", "nobody"):
                assert (await stranger.post(f"/hooks/{name}", content=b"hi")).status_code == 404
        await adapter.platform.wait("Hello.")
        await served.idle()
    assert [each.text for each in adapter.platform.in_chat("1")] == ["Hello."]

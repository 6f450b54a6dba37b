"""How it stands with platforms is told, and strangers are told nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from shipmate.adapters.memory_platform import MemoryAdapter, MemorySettings
from shipmate.app import Shipmate
from shipmate.delivery.adapter import Hear
from shipmate.delivery.reception import listening
from shipmate.models.scripted import ScriptedModel
from shipmate.values.message import JsonObject
from tests.support.server import Served, make_site, make_workspace, opener_for, serving


class Breaking(MemoryAdapter):
    """An adapter whose platform is away until it is let back."""

    def __init__(self, name: str, settings: MemorySettings) -> None:
        super().__init__(name, settings)
        self.broke = asyncio.Event()
        self.is_back = False

    async def listen(self, hear: Hear) -> None:
        if not self.is_back:
            self.broke.set()
            raise OSError("the wind took it")
        await super().listen(hear)


async def read(served: Served, name: str) -> JsonObject:
    found = (await served.client.get("/api/adapters")).json()["adapters"]
    return next(each for each in found if each["name"] == name)


async def test_adapters_say_what_they_hear_and_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "FIRST_PAUSE_SECONDS", 0.01)
    make_workspace(tmp_path)
    adapters = {"memory": {"open": True}, "bird": {}, "night": {"kind": "memory", "enabled": False}}
    (tmp_path / "ship.json").write_text(json.dumps({"adapters": adapters}))
    async with serving(make_site(tmp_path, opener_for(ScriptedModel(["Hello."])))) as served:
        ship = await served.ship()
        assert isinstance(ship, Shipmate)
        assert (await read(served, "memory"))["state"] == "off"
        adapter = Breaking("memory", MemorySettings(open=True))
        ship.adapters.put(adapter)
        ship.listen()
        await adapter.broke.wait()
        while (seen := await read(served, "memory"))["state"] != "trouble":
            pass
        assert seen["trouble"] == "OSError: the wind took it"
        assert (seen["kind"], seen["member"]) == ("memory", "captain")
        assert seen["since"]
        adapter.is_back = True
        await adapter.platform.say("hi")
        seen = await read(served, "memory")
        assert (seen["state"], seen["trouble"]) == ("listening", None)
        assert seen["lastEventAt"] >= seen["since"]
        broken = await read(served, "bird")
        assert (broken["state"], "no adapter of the kind 'bird'" in broken["trouble"]) == ("trouble", True)
        assert (await read(served, "night"))["state"] == "off"
        await adapter.platform.wait("Hello.")
        await served.idle()
        async with served.stranger() as stranger:
            for path in ("adapters", "outbox", "people"):
                assert (await stranger.get(f"/api/{path}")).status_code == 401
            assert (await stranger.post("/api/people", json={"code": "X"})).status_code == 401

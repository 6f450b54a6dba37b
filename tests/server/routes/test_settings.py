"""Choosing a model from the page: providers, lists, tests, and what is kept (point 5)."""

from __future__ import annotations

import json

import pytest

from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse
from tests.support.server import Served

KEY = "sk-pasted-0123456789"


def body(server: ProviderServer, **more: object) -> dict[str, object]:
    return {"provider": "vllm", "model": "m", "baseUrl": f"{server.url}/v1", "apiKey": KEY, **more}


async def test_5_a_model_that_answered_is_kept_and_answers_at_once(served: Served) -> None:
    layout = served.site.layout
    async with ProviderServer() as server:
        answer = await served.client.put("/api/settings/model", json=body(server))
        saved = answer.json()
        assert saved["saved"], saved
        assert (saved["file"], saved["variable"], saved["before"]) == ("ship.json", "VLLM_API_KEY", None)
        assert saved["test"]["inputTokens"] > 0
        assert len(server.requests) == 1
    assert KEY not in answer.text
    assert f"VLLM_API_KEY={KEY}" in layout.env.read_text()
    assert layout.env.stat().st_mode & 0o777 == 0o600
    assert json.loads(layout.config.read_text())["llm"]["apiKey"] == "${VLLM_API_KEY}"
    assert KEY not in (await served.client.get("/api/settings")).text


async def test_5_what_failed_is_kept_only_when_that_is_wanted(served: Served) -> None:
    layout = served.site.layout
    before = layout.config.read_text() if layout.config.exists() else None
    async with ProviderServer() as server:
        server.script(refuse(401, f"bad key {KEY}"))
        answer = await served.client.put("/api/settings/model", json=body(server))
        assert (answer.json()["saved"], answer.json()["test"]["code"]) == (False, "auth")
        assert KEY not in answer.text
        assert not layout.env.exists()
        assert (layout.config.read_text() if layout.config.exists() else None) == before
        server.script(refuse(401, "bad key"))
        answer = await served.client.put("/api/settings/model", json=body(server, force=True))
        assert answer.json()["saved"]


async def test_5_models_are_listed_and_a_missing_route_is_told(served: Served) -> None:
    async with ProviderServer() as server:
        asked = {"provider": "vllm", "baseUrl": f"{server.url}/v1"}
        none = (await served.client.post("/api/settings/models", json=asked)).json()
        assert none["models"] == []
        assert "does not list its models" in none["message"]
        server.routes["/v1/models"] = {"data": [{"id": "a", "max_model_len": 4096}]}
        found = (await served.client.post("/api/settings/models", json=asked)).json()
    assert found == {"models": [{"name": "a", "window": 4096}], "message": None}


async def test_5_a_stored_key_is_listed_for_its_own_address_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    async with ProviderServer() as server:
        asked = {"provider": "openai", "baseUrl": f"{server.url}/v1"}
        said = (await served.client.post("/api/settings/models", json=asked)).json()
    assert "Nothing was sent" in said["message"]
    assert server.asides == []


async def test_5_providers_say_what_is_here(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-of-the-environment")
    answer = await served.client.get("/api/settings/providers")
    found = {each["name"]: each for each in answer.json()["providers"]}
    assert found["groq"]["hasKey"]
    assert found["litellm"]["needsUrl"]
    assert not found["anthropic"]["needsUrl"]
    assert "rehearsal" not in found
    assert "gsk-of-the-environment" not in answer.text


async def test_5_a_thread_gets_a_model_and_gives_it_back(served: Served) -> None:
    made = (await served.client.post("/api/threads", json={})).json()
    place = f"/api/threads/{made['threadId']}"
    chosen = await served.client.patch(place, json={"model": "rehearsal"})
    assert (chosen.status_code, chosen.json()["model"]) == (200, "rehearsal")
    refused = await served.client.patch(place, json={"model": "nobody:x"})
    assert refused.status_code == 422
    assert (await served.client.get(place)).json()["model"] == "rehearsal"
    back = await served.client.patch(place, json={"model": "default"})
    assert back.json()["model"] is None

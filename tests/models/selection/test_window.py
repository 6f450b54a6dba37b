"""How much a model reads: asked of its server, never waited for, remembered (point 4)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from shipmate.models.choice import ModelChoice
from shipmate.models.selection.window import Window, Windows, guess_window
from shipmate.workspace.config import Llm
from tests.support.provider_server import ProviderServer, Recorded


async def find(llm: Llm, path: Path | None = None) -> Window:
    choice = ModelChoice(llm, {}, windows=Windows(path))
    try:
        return await choice.window(patient=True)
    finally:
        await choice.close()


@pytest.mark.parametrize(
    ("provider", "routes", "tokens"),
    [
        ("openai-compatible", {"/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096),
        ("vllm", {"/v1/models": {"data": [{"id": "m", "max_model_len": 8192}]}}, 8192),
        (
            "lmstudio",
            {
                "/api/v0/models": {
                    "data": [{"id": "m", "loaded_context_length": 6000, "max_context_length": 9}]
                }
            },
            6000,
        ),
        ("ollama", {"/api/show": {"parameters": "stop x\nnum_ctx    2048"}}, 2048),
        ("ollama", {"/api/show": {"model_info": {"llama.context_length": 131072}}}, 131072),
        ("ollama", {"/api/ps": {"models": [{"name": "m", "context_length": 4096}]}}, 4096),
    ],
)
async def test_4_servers_tell_their_window(provider: str, routes: dict[str, object], tokens: int) -> None:
    async with ProviderServer() as server:
        server.routes.update(routes)
        found = await find(Llm(provider=provider, model="m", base_url=f"{server.url}/v1"))
    assert (found.tokens, found.source) == (tokens, "server")


async def test_4_what_ship_json_says_comes_first_and_nobody_is_asked() -> None:
    async with ProviderServer() as server:
        server.routes["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
        llm = Llm(provider="vllm", model="m", base_url=f"{server.url}/v1", context_window=9000)
        found = await find(llm)
    assert (found.tokens, found.source) == (9000, "ship.json")
    assert server.asides == []


@pytest.mark.parametrize("said", [0, -1, True, "4096", 10**12, None])
async def test_4_odd_numbers_are_not_believed(said: object) -> None:
    async with ProviderServer() as server:
        server.routes["/v1/models"] = {"data": [{"id": "m", "max_model_len": said}]}
        found = await find(Llm(provider="vllm", model="m", base_url=f"{server.url}/v1"))
    assert found.source == "default"


async def test_4_a_server_that_is_slow_to_tell_delays_no_turn_and_is_asked_once() -> None:
    told = asyncio.Event()

    async def later(_: Recorded) -> object:
        await told.wait()
        return {"default_generation_settings": {"n_ctx": 4096}}

    async with ProviderServer() as server:
        server.routes["/props"] = later
        choice = ModelChoice(Llm(provider="vllm", model="m", base_url=f"{server.url}/v1"), {})
        began = time.perf_counter()
        assert (await choice.window()).source == "default"
        assert time.perf_counter() - began < 2
        told.set()
        assert (await choice.window(patient=True)).tokens == 4096
        assert (await choice.window()).tokens == 4096
        await choice.close()
    assert [each.path for each in server.asides] == ["/props"]


async def test_4_the_next_process_knows_it_at_once(tmp_path: Path) -> None:
    async with ProviderServer() as server:
        server.routes["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
        llm = Llm(provider="vllm", model="m", base_url=f"{server.url}/v1")
        await find(llm, tmp_path / "windows.json")
    choice = ModelChoice(llm, {}, windows=Windows(tmp_path / "windows.json"))
    assert (await choice.window()).tokens == 4096
    await choice.close()


async def test_4_a_damaged_memory_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "windows.json").write_text("[")
    found = await find(
        Llm(provider="vllm", model="m", base_url="http://127.0.0.1:1/v1"), tmp_path / "windows.json"
    )
    assert found.source == "default"


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("anthropic:claude-sonnet-5-5", 200_000),
        ("openai:gpt-4", 8192),
        ("openai:gpt-4.1-mini", 1_047_576),
        ("openrouter:meta-llama/llama-3.1-8b", 131_072),
        ("vllm:unheard-of", 128_000),
        ("rehearsal", 128_000),
    ],
)
def test_families_have_their_usual_window(model: str, tokens: int) -> None:
    assert guess_window(model).tokens == tokens

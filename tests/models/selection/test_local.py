from __future__ import annotations

from shipmate.models.selection.local import find_local
from tests.support.provider_server import ProviderServer

NOBODY = {"OLLAMA_HOST": "127.0.0.1:1"}


async def test_servers_that_list_models_are_found_and_sent_no_key() -> None:
    async with ProviderServer() as server, ProviderServer() as other:
        server.routes["/v1/models"] = {"data": [{"id": "a"}]}
        usual = [
            ("vllm", f"{server.url}/v1"),
            ("lmstudio", f"{other.url}/v1"),
            ("openai-compatible", "http://127.0.0.1:1/v1"),
        ]
        found = await find_local({**NOBODY, "VLLM_API_KEY": "sk-secret"}, usual)
    assert [(each.provider, [model.name for model in each.models]) for each in found] == [("vllm", ["a"])]
    assert "sk-secret" not in str(server.asides)


async def test_an_ollama_is_found_where_its_variable_says() -> None:
    async with ProviderServer() as server:
        server.routes["/v1/models"] = {"data": [{"id": "qwen3:8b"}]}
        (found,) = await find_local({"OLLAMA_HOST": server.url}, [])
    assert (found.provider, found.models[0].name) == ("ollama", "qwen3:8b")

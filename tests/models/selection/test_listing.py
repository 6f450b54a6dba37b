from __future__ import annotations

import pytest

from shipmate.errors import ConfigError, ModelAuthError, ModelError, ModelRequestError
from shipmate.models.selection.listing import OfferedModels
from shipmate.models.selection.origin import fill_key
from shipmate.workspace.config import Llm
from tests.support.provider_server import ProviderServer, Recorded

KEY = "sk-of-this-provider"


def llm(server: ProviderServer, provider: str, *, path: str = "") -> Llm:
    return Llm(provider=provider, base_url=f"{server.url}{path}", api_key=KEY)


async def test_compatible_servers_list_their_models() -> None:
    async with ProviderServer() as server:
        server.routes["/v1/models"] = {
            "data": [{"id": "a", "context_length": 8192}, {"id": "b"}, {"id": "text-embed"}, {"id": 7}, "x"]
        }
        found = await OfferedModels().list(llm(server, "openai", path="/v1"), {})
    assert [(each.name, each.window) for each in found] == [("a", 8192), ("b", None)]
    assert server.asides[0].headers["authorization"] == f"Bearer {KEY}"


async def test_anthropic_is_asked_page_by_page() -> None:
    def page(request: Recorded) -> object:
        if "after_id=a" in request.query:
            return {"data": [{"id": "b"}], "has_more": False, "last_id": "b"}
        return {"data": [{"id": "a", "max_input_tokens": 200_000}], "has_more": True, "last_id": "a"}

    async with ProviderServer() as server:
        server.routes["/v1/models"] = page
        found = await OfferedModels().list(llm(server, "anthropic"), {})
    assert [each.name for each in found] == ["a", "b"]
    assert all(each.headers["x-api-key"] == KEY for each in server.asides)


async def test_gemini_lists_what_can_talk() -> None:
    def page(request: Recorded) -> object:
        talks = {"supportedGenerationMethods": ["generateContent"], "inputTokenLimit": 1_048_576}
        if "pageToken=two" in request.query:
            return {"models": [{"name": "models/pro", **talks}]}
        vectors = {"name": "models/vectors", "supportedGenerationMethods": ["embedContent"]}
        return {"models": [{"name": "models/flash", **talks}, vectors], "nextPageToken": "two"}

    async with ProviderServer() as server:
        server.routes["/v1beta/models"] = page
        found = await OfferedModels().list(llm(server, "google"), {})
    assert [(each.name, each.window) for each in found] == [("flash", 1_048_576), ("pro", 1_048_576)]
    assert KEY not in "".join(each.path + each.query for each in server.asides)


async def test_pages_without_an_end_come_to_one() -> None:
    def page(request: Recorded) -> object:
        number = len(server.asides)
        return {"data": [{"id": f"m{number}"}], "has_more": True, "last_id": f"m{number}"}

    async with ProviderServer() as server:
        server.routes["/v1/models"] = page
        found = await OfferedModels().list(llm(server, "anthropic"), {})
    assert 1 < len(found) <= 100


async def test_a_server_without_the_route_says_so() -> None:
    async with ProviderServer() as server:
        with pytest.raises(ModelRequestError, match="does not list its models"):
            await OfferedModels().list(llm(server, "openai", path="/v1"), {})


@pytest.mark.parametrize("said", ["<html>no</html>", 7.5])
async def test_rubbish_is_an_error_without_the_key(said: object) -> None:
    async with ProviderServer() as server:
        server.routes["/v1/models"] = said
        with pytest.raises(ModelError) as caught:
            await OfferedModels().list(llm(server, "openai", path="/v1"), {})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("said", [{"data": "x"}, [], {"data": [None, 7, {}]}])
async def test_a_list_of_nothing_is_empty(said: object) -> None:
    async with ProviderServer() as server:
        server.routes["/v1/models"] = said
        assert await OfferedModels().list(llm(server, "openai", path="/v1"), {}) == []


async def test_a_refused_key_is_told() -> None:
    async with ProviderServer() as server:
        server.routes["/v1/models"] = 401
        with pytest.raises(ModelAuthError):
            await OfferedModels().list(llm(server, "openai", path="/v1"), {})


async def test_a_list_is_remembered_for_a_minute() -> None:
    now = 0.0
    offers = OfferedModels(clock=lambda: now)
    async with ProviderServer() as server:
        server.routes["/v1/models"] = {"data": [{"id": "a"}]}
        asked = llm(server, "openai", path="/v1")
        await offers.list(asked, {})
        await offers.list(asked, {})
        assert len(server.asides) == 1
        now = 61.0
        await offers.list(asked, {})
        assert len(server.asides) == 2


async def test_a_stored_key_goes_to_its_own_address_alone() -> None:
    environ = {"OPENAI_API_KEY": "sk-of-the-environment"}
    async with ProviderServer() as server:
        with pytest.raises(ConfigError, match="Nothing was sent"):
            fill_key(Llm(provider="openai", base_url=f"{server.url}/v1"), Llm(), environ)
    assert server.asides == []


async def test_what_can_be_no_name_is_left_out() -> None:
    async with ProviderServer() as server:
        names = ["good", "a\x1b[2Jb", "a\nb", "  ", "y" * 10_000]
        server.routes["/v1/models"] = {"data": [{"id": each} for each in names]}
        found = await OfferedModels().list(llm(server, "vllm", path="/v1"), {})
    assert [each.name for each in found] == ["good"]

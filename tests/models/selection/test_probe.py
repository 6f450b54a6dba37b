from __future__ import annotations

import pytest

from shipmate.errors import ModelAuthError
from shipmate.models.choose import choose_model
from shipmate.models.selection.probe import ask_once, is_right_call
from shipmate.workspace.config import Llm
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, Reply, ask_tools, refuse, say


def model_at(server: ProviderServer) -> Llm:
    return Llm(provider="openai", model="m", base_url=f"{server.url}/v1", api_key="sk-1", max_retries=0)


async def test_one_request_shows_who_answered_and_what_it_took() -> None:
    async with ProviderServer() as server:
        server.script(say("hello"))
        found = await ask_once(choose_model(model_at(server), {}))
    assert len(server.requests) == 1
    assert found.reply == "hello"
    assert found.model == "openai:m"
    assert 0 <= found.first_ms <= found.total_ms
    assert found.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        (ask_tools(Call("report", '{"word": "blue"}')), True),
        (ask_tools(Call("report", '{"word": 1}')), False),
        (ask_tools(Call("report", "{")), False),
        (ask_tools(Call("other", '{"word": "blue"}')), False),
        (ask_tools(Call("report", '{"word": "a"}', "1"), Call("report", '{"word": "b"}', "2")), False),
        (say("report(blue)"), False),
    ],
)
async def test_a_call_is_right_or_not(reply: Reply, is_right: bool) -> None:
    async with ProviderServer() as server:
        server.script(reply)
        found = await ask_once(choose_model(model_at(server), {}), with_tool=True)
    assert is_right_call(found) is is_right


async def test_trouble_is_raised_as_it_comes() -> None:
    async with ProviderServer() as server:
        server.script(refuse(401, "no"))
        with pytest.raises(ModelAuthError):
            await ask_once(choose_model(model_at(server), {}))

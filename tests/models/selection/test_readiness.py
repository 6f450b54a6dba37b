from __future__ import annotations

import pytest

from shipmate.models.selection.readiness import ask_live, findings
from shipmate.workspace.config import Llm
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import Call, ask_tools, refuse, say

NOBODY = {"OLLAMA_HOST": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("llm", "environ", "level", "words"),
    [
        (Llm(), NOBODY, "warn", "rehearsal"),
        (
            Llm(provider="openai", model="gpt-5.5", api_key="secret-key"),
            NOBODY,
            "ok",
            "openai:gpt-5.5 is configured; not asked (doctor --live asks it)",
        ),
        (Llm(provider="openai"), NOBODY, "error", "has no key"),
        (Llm(provider="opnai"), NOBODY, "error", "Did you mean 'openai'"),
        (Llm(), {**NOBODY, "ANTHROPIC_API_KEY": "secret-key"}, "ok", "anthropic:"),
        (Llm(), {**NOBODY, "GEMINI_API_KEY": " secret-key\n"}, "ok", "google:"),
        (Llm(), {**NOBODY, "GEMINI_API_KEY": " \n"}, "error", "has no key"),
        (Llm(), {**NOBODY, "GEMINI_API_KEY": "secret-key\nx"}, "error", "GEMINI_API_KEY holds"),
        (Llm(), {**NOBODY, "GOOGLE_API_KEY": "secret-key\xff"}, "error", "GOOGLE_API_KEY holds"),
        (Llm(provider="openai", api_key="secret-key\x00"), NOBODY, "error", "llm.apiKey holds"),
        (
            Llm(provider="vllm", model="m", base_url="http://127.0.0.1:1/v1", api_key="secret-key…"),
            NOBODY,
            "error",
            "llm.apiKey holds",
        ),
    ],
)
def test_says_how_the_model_stands(llm: Llm, environ: dict[str, str], level: str, words: str) -> None:
    (found,) = findings(llm, environ)
    assert found.level == level
    assert words in found.message
    assert "secret-key" not in f"{found.message} {found.fix}"
    assert level == "ok" or found.fix


async def test_u12_asked_live_it_says_what_was_measured() -> None:
    async with ProviderServer() as server:
        server.script(say("hello"), ask_tools(Call("report", '{"word": "blue"}')))
        llm = Llm(provider="openai", model="m", base_url=f"{server.url}/v1", api_key="sk-1")
        answered, tools = await ask_live(llm, NOBODY)
    assert (answered.level, tools.level) == ("ok", "ok")
    assert "first byte after" in answered.message
    assert "tokens in" in answered.message
    assert "made it rightly" in tools.message
    assert len(server.requests) == 2


async def test_u12_asked_live_a_refusal_and_a_model_without_tools_are_told() -> None:
    async with ProviderServer() as server:
        llm = Llm(provider="openai", model="m", base_url=f"{server.url}/v1", api_key="sk-secret-1")
        server.script(say("hello"), say("no tools"))
        assert [each.level for each in await ask_live(llm, NOBODY)] == ["ok", "warn"]
        server.script(refuse(401, "bad key sk-secret-1"))
        (refused,) = await ask_live(llm, NOBODY)
    assert refused.level == "error"
    assert "sk-secret-1" not in refused.message

"""A stored key is sent only to its own address (C19)."""

from __future__ import annotations

import pytest

from shipmate.errors import ConfigError
from shipmate.models.catalog import NO_KEY
from shipmate.models.selection.origin import fill_key
from shipmate.workspace.config import Llm

ENVIRON = {
    "OPENAI_API_KEY": "sk-environment",
    "ANTHROPIC_API_KEY": "sk-claude",
    "OLLAMA_API_KEY": "sk-ollama",
}
GATE = "https://gate.example/v1"


@pytest.mark.parametrize(
    "provider", ["openai", "openai-responses", "openai-chat", "anthropic", "google", "azure", "groq"]
)
@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com.evil.example",
        "not an address",
        "https://api.openai.com:444",
        "https://api.openai.com@evil.example",
    ],
)
def test_c19_the_environments_key_goes_to_no_foreign_address(provider: str, address: str) -> None:
    with pytest.raises(ConfigError, match="Nothing was sent") as caught:
        fill_key(Llm(provider=provider, base_url=address), Llm(), ENVIRON)
    assert "sk-" not in str(caught.value)


def test_c19_a_typed_key_goes_where_it_is_told() -> None:
    asked = Llm(provider="openai", base_url="https://any.example", api_key="typed")
    assert fill_key(asked, Llm(), ENVIRON) is asked


@pytest.mark.parametrize("address", [None, "https://api.openai.com/v1", "https://API.openai.com:443/v1/"])
def test_c19_the_environments_key_goes_to_its_provider(address: str | None) -> None:
    asked = Llm(provider="openai", base_url=address)
    assert fill_key(asked, Llm(), ENVIRON) == asked


def test_c19_the_environment_may_name_another_address_for_its_key() -> None:
    environ = {**ENVIRON, "OPENAI_BASE_URL": GATE}
    assert fill_key(Llm(provider="openai"), Llm(), environ).base_url == GATE
    assert fill_key(Llm(provider="openai", base_url=GATE), Llm(), environ).base_url == GATE
    with pytest.raises(ConfigError, match=r"gate\.example"):
        fill_key(Llm(provider="openai", base_url="https://api.openai.com/v1"), Llm(), environ)


def test_c19_a_configured_key_goes_to_its_configured_address_alone() -> None:
    inner = Llm(provider="openai", base_url=GATE, api_key="sk-gate")
    configured = Llm(provider="anthropic", api_key="sk-mine", fallback=(inner,))
    assert fill_key(Llm(provider="openai", base_url=GATE), configured, {}).api_key == "sk-gate"
    assert fill_key(Llm(provider="openai"), configured, {}) == Llm(
        provider="openai", base_url=GATE, api_key="sk-gate"
    )
    assert fill_key(Llm(provider="claude"), configured, {}).api_key == "sk-mine"
    with pytest.raises(ConfigError):
        fill_key(Llm(provider="anthropic", base_url=GATE), configured, {})


@pytest.mark.parametrize("provider", ["ollama", "openai-compatible", "vllm", "litellm"])
def test_c19_what_needs_no_key_is_tried_anywhere_without_one(provider: str) -> None:
    configured = Llm(provider=provider, base_url=GATE, api_key="sk-gate")
    asked = Llm(provider=provider, base_url="https://evil.example")
    assert fill_key(asked, configured, ENVIRON).api_key == NO_KEY

"""What a provider reads from variables comes from one place, and goes to the address of that place (U11)."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from shipmate.errors import ConfigError
from shipmate.models import choose
from shipmate.models.catalog import PROVIDERS
from shipmate.models.choice import ModelChoice
from shipmate.models.choose import choose_model, find_overlooked
from shipmate.models.relay import close_model
from shipmate.models.selection.readiness import findings
from shipmate.models.selection.source import find_source
from shipmate.workspace.config import Llm
from shipmate.workspace.environ import Environ
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from tests.support.provider_case import PROTOCOLS, collect
from tests.support.provider_server import ProviderServer

ELSEWHERE = "http://127.0.0.1:1"
NAMES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "chat": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "google": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
}
# Amazon and Google sign in by files, profiles and the machine itself; the Codex program has its own folder.
OWN_WAY = {"bedrock", "bedrock-mantle", "google-cloud", "openai-codex"}
NOT_THEIRS = {"lmstudio", "openai-compatible", "rehearsal"}
# For speech, which is not asked of models here.
UNUSED = {"AZURE_VOICELIVE_ENDPOINT", "AZURE_VOICELIVE_API_KEY", "AZURE_VOICELIVE_API_VERSION"}


def names(protocol: str) -> tuple[str, str]:
    provider, model, _ = PROTOCOLS[protocol]
    return provider, model


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_u11_key_and_address_of_the_env_file_go_together(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, address = NAMES[protocol]
    provider, model_name = names(protocol)
    # The program's own environment holds another address, and accounts that are nobody else's business.
    monkeypatch.setenv(address, ELSEWHERE)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gate: secret-of-another")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gate: secret-of-another")
    monkeypatch.delenv(key, raising=False)
    async with ProviderServer() as server:
        path = PROTOCOLS[protocol][2]
        (tmp_path / ".env").write_text(f"{key}=sk-of-the-file\n{address}={server.url}{path}\n")
        loaded = load_config(Layout(tmp_path))
        model = choose_model(Llm(provider=provider, model=model_name, max_retries=0), loaded.environ)
        await collect(model)
        await close_model(model)
    headers = server.requests[0].headers
    assert "sk-of-the-file" in str(headers)
    assert "of-another" not in str(headers)


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
async def test_u11_account_and_headers_come_from_the_keys_place(provider: str) -> None:
    async with ProviderServer() as server:
        mine = {
            "OPENAI_API_KEY": "sk-mine",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_ORG_ID": "org-mine",
            "OPENAI_PROJECT_ID": "project-mine",
            "OPENAI_CUSTOM_HEADERS": "X-Gate: pass\nX-Team: crew",
        }
        model = choose_model(Llm(provider=provider, model="m", max_retries=0), Environ({}, mine))
        await collect(model)
        await close_model(model)
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer sk-mine"
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-mine", "project-mine")
    assert (headers["x-gate"], headers["x-team"]) == ("pass", "crew")


@pytest.mark.parametrize("provider", ["vllm", "openai-compatible", "ollama"])
async def test_u11_no_key_or_account_of_the_environment_reaches_a_server_without_one(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "VLLM_API_KEY", "OLLAMA_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, "of-another")
    async with ProviderServer() as server:
        model = choose_model(Llm(provider=provider, model="m", base_url=f"{server.url}/v1"), {})
        await collect(model)
        await close_model(model)
    assert "of-another" not in str(server.requests[0].headers)
    assert "authorization" not in server.requests[0].headers


READERS = [
    (provider, key, address)
    for provider, entry in PROVIDERS.items()
    for key in entry.keys
    for address in entry.addresses
]


@pytest.mark.parametrize(("provider", "key", "address"), READERS)
def test_u11_a_key_never_goes_to_an_address_of_another_place(
    provider: str, key: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda name: name)
    llm = Llm(provider=provider, model="m")
    for process, file in [({key: "secret"}, {address: ELSEWHERE}), ({address: ELSEWHERE}, {key: "secret"})]:
        with pytest.raises(ConfigError, match=f"was not asked.*{address}") as caught:
            choose_model(llm, Environ(process, file))
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("given", ["${MY_KEY}", "sk-literal"])
def test_u11_a_key_in_ship_json_goes_to_no_address_of_the_environment(given: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MY_KEY=sk-of-the-file\n")
    (tmp_path / "ship.json").write_text(f'{{"llm": {{"provider": "openai", "apiKey": "{given}"}}}}')
    loaded = load_config(Layout(tmp_path), {"OPENAI_BASE_URL": ELSEWHERE})
    with pytest.raises(ConfigError, match=r"llm\.baseUrl"):
        choose_model(loaded.config.llm, loaded.environ)


def test_u11_the_place_of_the_key_wins_over_an_address_elsewhere() -> None:
    mine = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://mine"}
    source = find_source("openai", Environ({"OPENAI_BASE_URL": ELSEWHERE}, mine))
    assert (source.place, source.address) == (".env", "http://mine")
    both = find_source("openai", Environ({"OPENAI_API_KEY": "p"}, mine))
    assert (both.place, both.key, both.address) == ("the environment", "p", None)


@pytest.mark.parametrize("provider", sorted(set(PROVIDERS) - OWN_WAY - NOT_THEIRS))
def test_u11_every_variable_a_library_reads_is_known(provider: str) -> None:
    name = f"pydantic_ai.providers.{provider.removesuffix('-responses').replace('-', '_')}"
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text("utf-8")
    read = set(re.findall(r"(?:getenv|environ\.get)\(\s*'([A-Z0-9_]+)'", source)) - UNUSED
    entry = PROVIDERS[provider]
    known = {*entry.keys, *entry.addresses, *entry.more.values()}
    # We say where Ollama is by the variable of Ollama itself.
    assert read - {"OLLAMA_BASE_URL"} <= known


def test_u11_a_key_whose_library_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    environ = {"OLLAMA_HOST": "127.0.0.1:1", "CO_API_KEY": "sk-secret"}
    (line,) = find_overlooked(Llm(), environ)
    assert "CO_API_KEY is set" in line
    assert "pip install 'pydantic-ai-slim[cohere]'" in line
    said = findings(Llm(), environ)
    assert [found.level for found in said] == ["warn", "warn"]
    assert "[cohere]" in said[0].fix
    # Once a model is chosen, nobody is nagged at each start; the doctor names the key all the same.
    assert find_overlooked(Llm(provider="rehearsal"), environ) == []
    assert "CO_API_KEY (cohere)" in str(findings(Llm(provider="rehearsal"), environ))


def test_u11_gemini_keys_are_used_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    environ = {"OLLAMA_HOST": "127.0.0.1:1", "GEMINI_API_KEY": "sk-secret"}
    assert choose_model(Llm(), environ).name.startswith("google:")
    assert find_overlooked(Llm(), environ) == []


def test_u11_keys_of_one_provider_that_differ_are_named() -> None:
    environ = {"GEMINI_API_KEY": "sk-one-secret", "GOOGLE_API_KEY": "sk-two-secret"}
    (first, *_) = findings(Llm(), environ)
    assert first.level == "warn"
    assert "GEMINI_API_KEY and GOOGLE_API_KEY differ" in first.message
    assert not [each for each in findings(Llm(), dict.fromkeys(environ, "sk-same")) if each.level == "warn"]


def test_u11_a_key_that_another_choice_leaves_idle_is_named() -> None:
    environ = {"GEMINI_API_KEY": "sk-one-secret", "OPENAI_API_KEY": "sk-two-secret"}
    (said,) = [each for each in findings(Llm(provider="openai"), environ) if each.subject == "keys"]
    assert "GEMINI_API_KEY (google)" in said.message
    assert "OPENAI_API_KEY" not in said.message
    assert "secret" not in said.message


def test_u11_a_key_that_waits_for_a_models_name_is_said() -> None:
    (line,) = find_overlooked(Llm(), {"TOGETHER_API_KEY": "sk-secret"})
    assert "TOGETHER_API_KEY is set" in line
    assert '"together:…"' in line


def test_u11_the_one_who_asks_is_told_of_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    environ = {"OLLAMA_HOST": "127.0.0.1:1", "AZURE_OPENAI_API_KEY": "sk-secret"}
    assert "rehearsal" in ModelChoice(Llm(), environ).default.name
    assert "shipmate[providers]" in caplog.text
    assert "sk-secret" not in caplog.text

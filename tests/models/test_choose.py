from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from pydantic_ai.models import KnownModelName
from pydantic_ai.providers import infer_provider_class

from shipmate.errors import (
    ConfigError,
    ContextTooLongError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
)
from shipmate.models import choose
from shipmate.models.catalog import PROVIDERS
from shipmate.models.choose import FallbackModel, choose_model
from shipmate.models.port import Finish, ModelEvent, ModelNotice, TextDelta
from shipmate.models.relay import close_model
from shipmate.models.retry import RetryingModel
from shipmate.models.scripted import ScriptedModel, fail
from shipmate.models.selection.ollama import locate_ollama
from shipmate.workspace.config import Llm
from tests.support.provider_case import KEY, ask, collect
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse, say

# Nobody listens there, so no Ollama on the machine that runs the tests is found.
NOBODY = {"OLLAMA_HOST": "127.0.0.1:1"}


async def test_turns_to_the_next_model_and_says_which_one_answered() -> None:
    first = ScriptedModel([fail(ModelBusyError()), "Back again."], name="first")
    second = ScriptedModel([fail(ModelDownError())], name="second")
    third = ScriptedModel(["Here."], name="third")
    model = FallbackModel([first, second, third])
    events = await collect(model)
    notices = [event for event in events if isinstance(event, ModelNotice)]
    assert [(notice.kind, notice.model) for notice in notices] == [
        ("fallback", "second"),
        ("fallback", "third"),
    ]
    assert events[2] == TextDelta("Here.")
    assert isinstance(events[-1], Finish)
    assert events[-1].model == "third"
    assert [each.partition(":")[0] for each in events[-1].instead.split("; ")] == ["first", "second"]
    assert model.name == "first"
    assert (await collect(model))[0] == TextDelta("Back again.")


async def test_raises_the_last_trouble_when_all_are_away() -> None:
    models = [
        ScriptedModel([fail(ModelBusyError("one"))]),
        ScriptedModel([fail(ModelDownError("two"))]),
    ]
    with pytest.raises(ModelDownError, match="two"):
        await collect(FallbackModel(models))


@pytest.mark.parametrize("error", [ModelAuthError(), ModelRequestError(), ContextTooLongError()])
async def test_shows_mistakes_instead_of_hiding_them(error: ModelError) -> None:
    spare = ScriptedModel(["Here."])
    with pytest.raises(type(error)):
        await collect(FallbackModel([ScriptedModel([fail(error)]), spare]))
    assert spare.requests == []


async def test_stays_with_a_model_that_has_begun() -> None:
    spare = ScriptedModel(["Here."])
    model = FallbackModel([ScriptedModel([[TextDelta("Half"), fail(ModelDownError())]]), spare])
    seen: list[ModelEvent] = []
    with pytest.raises(ModelDownError):
        await _gather(model, seen)
    assert seen == [TextDelta("Half")]
    assert spare.requests == []


async def test_closes_every_model() -> None:
    closed: list[str] = []

    class Closing(ScriptedModel):
        async def close(self) -> None:
            closed.append(self.name)

    await close_model(FallbackModel([Closing([], name="a"), ScriptedModel([]), Closing([], name="b")]))
    assert closed == ["a", "b"]


async def _gather(model: FallbackModel, seen: list[ModelEvent]) -> None:
    async for event in model.stream(ask()):
        seen.append(event)


@pytest.fixture
def ollama() -> Iterator[str]:
    """Run a server that lists models as Ollama does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            names = ["nomic-embed-text:latest", "qwen3:8b", "llama3.2:latest"]
            body = json.dumps({"models": [{"name": name} for name in names]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_takes_the_configured_model() -> None:
    model = choose_model(Llm(provider="anthropic", model="claude-opus-5", api_key=KEY), NOBODY)
    assert model.name == "anthropic:claude-opus-5"


def test_takes_provider_and_model_in_one_word() -> None:
    assert choose_model(Llm(model="deepseek:deepseek-chat"), NOBODY).name == "deepseek:deepseek-chat"


def test_a_bare_address_is_an_openai_compatible_server() -> None:
    model = choose_model(Llm(model="qwen3:8b", base_url="http://127.0.0.1:9/v1"), NOBODY)
    assert model.name == "openai-compatible:qwen3:8b"


@pytest.mark.parametrize(
    ("variable", "provider"),
    [
        ("ANTHROPIC_API_KEY", "anthropic"),
        ("OPENAI_API_KEY", "openai"),
        ("GEMINI_API_KEY", "google"),
        ("GOOGLE_API_KEY", "google"),
        ("DEEPSEEK_API_KEY", "deepseek"),
    ],
)
def test_a_key_in_the_environment_is_enough(variable: str, provider: str) -> None:
    model = choose_model(Llm(), {**NOBODY, variable: KEY})
    assert model.name == f"{provider}:{PROVIDERS[provider].model}"


def test_then_comes_a_local_ollama(ollama: str) -> None:
    assert choose_model(Llm(), {"OLLAMA_HOST": ollama}).name == "ollama:qwen3:8b"
    assert choose_model(Llm(provider="ollama"), {"OLLAMA_HOST": ollama}).name == "ollama:qwen3:8b"


def test_then_comes_the_rehearsal_model() -> None:
    assert "rehearsal" in choose_model(Llm(), NOBODY).name
    assert "rehearsal" in choose_model(Llm(provider="rehearsal"), {"OPENAI_API_KEY": KEY}).name


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box:80", "http://box:80"),
        (":8080", "http://127.0.0.1:8080"),
        ("https://ollama.example/", "https://ollama.example:443"),
        ("[::1]:7", "http://[::1]:7"),
        ("box:notaport", "http://127.0.0.1:11434"),
    ],
)
def test_reads_ollama_host(host: str, url: str) -> None:
    assert locate_ollama(host) == url


@pytest.mark.parametrize(
    ("llm", "words"),
    [
        (Llm(provider="antropic", model="m"), "Did you mean 'anthropic'"),
        (Llm(provider="zzzzzz", model="m"), "Known are anthropic"),
        (Llm(model="gpt-5"), "llm.provider is missing"),
        (Llm(provider="vllm", model="m"), "llm.baseUrl is missing"),
        (Llm(provider="openai-compatible", model="m"), "llm.baseUrl is missing"),
        (Llm(provider="together"), "llm.model is missing"),
        (Llm(provider="ollama"), "llm.model is missing"),
        (Llm(provider="openai", base_url="http://127.0.0.1:9/v1"), "llm.model is missing"),
    ],
)
def test_says_what_to_change_in_one_line(llm: Llm, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_model(llm, NOBODY)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr(choose, "find_spec", find_nothing)
    with pytest.raises(ConfigError, match=r"pip install 'shipmate\[providers\]'"):
        choose_model(Llm(provider="azure", model="m"), NOBODY)
    with pytest.raises(ConfigError, match=r"pip install 'pydantic-ai-slim\[cohere\]'"):
        choose_model(Llm(provider="cohere", model="m"), NOBODY)


@pytest.mark.parametrize("name", [name for name, entry in PROVIDERS.items() if entry.wire])
def test_u11_what_a_wire_speaks_needs_no_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    llm = Llm(provider=name, model="m", base_url="http://127.0.0.1:1/v1")
    assert choose_model(llm, NOBODY).name == f"{name}:m"


def test_u11_a_gemini_key_on_a_core_install_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    assert choose_model(Llm(), {**NOBODY, "GEMINI_API_KEY": KEY}).name.startswith("google:")


def test_every_provider_pydantic_ai_knows_is_listed() -> None:
    lines = inspect.getsource(infer_provider_class).splitlines()
    cases = " ".join(line for line in lines if line.strip().startswith("case"))
    known = set(re.findall(r"'([a-z0-9-]+)'", cases))
    speak_no_chat = {"elevenlabs", "voyageai", "sentence-transformers", "system-one", "typesafe"}
    assert known - speak_no_chat - {"openai-chat", "openai-decisions"} == set(PROVIDERS) - {
        "lmstudio",
        "openai-compatible",
        "rehearsal",
    }


def test_first_models_are_names_pydantic_ai_knows() -> None:
    known = set(KnownModelName.__value__.__args__)
    free = {"openrouter"}
    for name, entry in PROVIDERS.items():
        if entry.model and name not in free:
            assert f"{name.removesuffix('-responses')}:{entry.model}" in known


async def test_falls_back_over_real_servers_with_the_keys_it_was_given() -> None:
    async with ProviderServer() as busy, ProviderServer() as spare:
        busy.script(refuse(503, "away", kind="api_error"))
        spare.script(say("I am the spare."))
        llm = Llm(
            provider="anthropic",
            model="claude-sonnet-4-6",
            base_url=busy.url,
            max_retries=0,
            fallback=(Llm(provider="vllm", model="qwen3", base_url=f"{spare.url}/v1", api_key="token-1"),),
        )
        model = choose_model(llm, {**NOBODY, "ANTHROPIC_API_KEY": KEY})
        events = await collect(model)
        await close_model(model)
    assert isinstance(model, FallbackModel)
    assert isinstance(events[-1], Finish)
    assert events[-1].model == "vllm:qwen3"
    assert events[-1].usage.cost is None
    assert busy.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert spare.requests[0].headers["authorization"] == "Bearer token-1"


@pytest.mark.parametrize("provider", ["ollama", "openai-compatible", "vllm", "openai", "openai-responses"])
async def test_speaks_to_servers_that_need_no_key(provider: str) -> None:
    async with ProviderServer() as server:
        llm = Llm(provider=provider, model="m", base_url=f"{server.url}/v1", temperature=0.3, max_retries=1)
        model = choose_model(llm, NOBODY)
        events = await collect(model)
        await close_model(model)
    assert isinstance(model, RetryingModel)
    assert isinstance(events[-1], Finish)
    assert server.requests[0].body["temperature"] == 0.3
    assert server.requests[0].protocol == ("responses" if provider == "openai-responses" else "chat")


async def test_a_missing_key_is_said_when_the_model_is_used() -> None:
    model = choose_model(Llm(provider="deepseek"), NOBODY)
    with pytest.raises(ModelAuthError, match="DEEPSEEK_API_KEY"):
        await collect(model, ask())


@pytest.mark.parametrize(
    "llm",
    [
        Llm(provider="openai", api_key="${NOT_SET}"),
        Llm(provider="vllm", model="m", base_url="http://${NOT_SET}/v1"),
        Llm(provider="${NOT_SET}"),
        Llm(model="${NOT_SET}"),
    ],
)
async def test_u11_an_unset_variable_stops_the_model_when_it_is_asked(llm: Llm) -> None:
    model = choose_model(llm, NOBODY)
    assert model.name
    with pytest.raises(ModelAuthError, match="NOT_SET, which is not set"):
        await collect(model, ask())


async def test_u11_an_unset_variable_of_a_fallback_stops_nobody_else() -> None:
    async with ProviderServer() as server:
        spare = Llm(provider="anthropic", api_key="${NOT_SET}")
        llm = Llm(provider="vllm", model="m", base_url=f"{server.url}/v1", fallback=(spare,))
        model = choose_model(llm, NOBODY)
        events = await collect(model)
        await close_model(model)
    assert isinstance(events[-1], Finish)


async def test_choosing_imports_nothing_heavy() -> None:
    script = """
import sys
from shipmate.models.choose import choose_model
from shipmate.workspace.config import Llm
choose_model(Llm(provider="openai", api_key="k", fallback=(Llm(provider="anthropic"),)), {})
choose_model(Llm(), {"OLLAMA_HOST": "127.0.0.1:1"})
heavy = {"pydantic_ai", "pydantic", "openai", "anthropic", "httpx2", "http.client"}
print(sorted(heavy & set(sys.modules)))
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

"""pydantic-ai is an extra: nothing loads it but a provider that needs it, and without it one line says so."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from shipmate.models.catalog import PROVIDERS
from tests.support.provider_server import ProviderServer

# Stands in for an installation without the extra.
BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pydantic_ai", "openai", "anthropic", "google", "boto3", "botocore"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""
ASK = (
    BLOCKED
    + """
import asyncio
from shipmate.models.choose import choose_model
from shipmate.models.port import Finish, ModelRequest
from shipmate.values.message import user_message
from shipmate.workspace.config import Llm

async def ask(provider, url):
    model = choose_model(Llm(provider=provider, model="m", base_url=url, api_key="k"), {})
    async for event in model.stream(ModelRequest(system="", messages=[user_message("u", "Hello.")])):
        last = event
    print(type(last).__name__)

asyncio.run(ask(*sys.argv[1:]))
"""
)
REFUSED = (
    BLOCKED
    + """
from shipmate.errors import ConfigError
from shipmate.models.choose import choose_model
from shipmate.workspace.config import Llm
try:
    choose_model(Llm(provider=sys.argv[1], model="m"), {})
except ConfigError as error:
    print(error)
"""
)
LATE = (
    BLOCKED
    + """
import asyncio
from shipmate.errors import ModelRequestError
from shipmate.models.port import ModelRequest
from shipmate.models.provider.provider import ProviderModel
from shipmate.models.provider.recipe import Recipe

async def ask():
    model = ProviderModel(Recipe(provider="azure", model="m", api_key="k"))
    try:
        async for _ in model.stream(ModelRequest(system="", messages=[])):
            pass
    except ModelRequestError as error:
        print(error)

asyncio.run(ask())
"""
)


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NO_PROXY": "*"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("provider", "path"),
    [("anthropic", ""), ("openai", "/v1"), ("openai-responses", "/v1"), ("google", ""), ("mistral", "/v1")],
)
async def test_a_wire_answers_without_any_library_of_a_provider(provider: str, path: str) -> None:
    async with ProviderServer() as server:
        assert await asyncio.to_thread(run, ASK, provider, server.url + path) == "Finish"


@pytest.mark.parametrize("provider", [name for name, entry in PROVIDERS.items() if entry.wire is None])
def test_a_provider_that_needs_the_extra_says_how_to_get_it(provider: str) -> None:
    said = run(REFUSED, provider)
    if provider == "rehearsal":
        assert said == ""
    else:
        assert "pip install '" in said
        assert PROVIDERS[provider].extra in said
        assert "\n" not in said


def test_an_extra_that_went_away_since_is_named_when_the_model_is_asked() -> None:
    assert run(LATE) == "azure needs pydantic_ai, which is not installed: pip install 'shipmate[providers]'"

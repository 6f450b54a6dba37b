"""Point our models at the loopback server, one per protocol."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from shipmate.models.port import Model, ModelEvent, ModelRequest, ToolSpec
from shipmate.models.provider.provider import ProviderModel
from shipmate.models.provider.recipe import Recipe
from shipmate.models.relay import close_model
from shipmate.values.message import JsonObject, UIMessage, user_message
from tests.support.provider_server import ProviderServer

with warnings.catch_warnings():
    # Its source has escapes that newer Pythons warn about when they compile it, and our warnings are fatal.
    warnings.simplefilter("ignore")
    importlib.import_module("google.genai")

KEY = "sk-secret-0123456789"
# Each protocol, the provider that speaks it, a model of that provider, and the path its base address ends in.
PROTOCOLS = {
    "anthropic": ("anthropic", "claude-sonnet-4-6", ""),
    "chat": ("openai", "gpt-4.1", "/v1"),
    "responses": ("openai-responses", "gpt-4.1", "/v1"),
    "google": ("google", "gemini-2.5-flash", ""),
}
READ = ToolSpec(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def recipe(protocol: str, url: str, *, name: str | None = None, **settings: object) -> Recipe:
    """Make a recipe for the provider that speaks a protocol."""
    provider, model, path = PROTOCOLS[protocol]
    made: JsonObject = {"timeout": 10, **settings}
    return Recipe(provider=provider, model=name or model, base_url=url + path, api_key=KEY, settings=made)


@asynccontextmanager
async def connect(
    protocol: str, server: ProviderServer, *, name: str | None = None, **settings: object
) -> AsyncGenerator[Model]:
    """Give a model that speaks to the server, and close it afterwards."""
    model = ProviderModel(recipe(protocol, server.url, name=name, **settings))
    try:
        yield model
    finally:
        await close_model(model)


def ask(*messages: UIMessage, **more: object) -> ModelRequest:
    """Make a request with one tool on offer."""
    fields: JsonObject = {"system": "Be brief.", "tools": (READ,), **more}
    return ModelRequest(messages=messages or (user_message("u1", "Hello."),), **fields)


async def collect(model: Model, request: ModelRequest | None = None) -> list[ModelEvent]:
    """Read one answer to its end."""
    return [event async for event in model.stream(request or ask())]

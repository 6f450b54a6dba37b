"""Ask servers how many tokens a model of theirs reads at once; each kind tells it somewhere else."""

from __future__ import annotations

from shipmate.models.catalog import PROVIDERS
from shipmate.models.selection.listing import (
    PATIENCE,
    fetch_json,
    list_entries,
    list_models,
    read_window,
)
from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.model_path import quote_model, write_resource
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.wire import WireError
from shipmate.values.message import JsonObject


async def ask_window(provider: str, model: str, endpoint: Endpoint) -> int | None:
    """Ask a server how many tokens a model of it reads; None when it does not say."""
    client = HttpClient(endpoint.environ, PATIENCE)
    try:
        match provider:
            case "ollama":
                return await _ask_ollama(client, model, endpoint)
            case "anthropic":
                found = await fetch_json(client, endpoint, provider, f"/v1/models/{quote_model(model)}")
                return read_window(found)
            case "google":
                found = await fetch_json(client, endpoint, provider, f"/v1beta/{write_resource(model)}")
                return read_window(found)
            case _ if PROVIDERS[provider].is_keyless:
                return await _ask_own(client, provider, model, endpoint)
            case _:
                offers = await list_models(provider, endpoint)
                return next((each.window for each in offers if each.name == model), None)
    finally:
        await client.close()


async def _ask_ollama(client: HttpClient, model: str, endpoint: Endpoint) -> int | None:
    """Ask what a loaded model runs with, then what its file sets, then what it could read at most."""
    loaded = await _try(client, endpoint, "ollama", "/api/ps")
    for entry in list_entries(loaded):
        if model in (entry.get("name"), entry.get("model")) and (window := read_window(entry)):
            return window
    shown = await _try(client, endpoint, "ollama", "/api/show", {"model": model})
    for line in str(shown.get("parameters") or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdecimal():
            return int(value)
    info = shown.get("model_info")
    values = info.items() if isinstance(info, dict) else ()
    return next(
        (value for key, value in values if key.endswith(".context_length") and _is_count(value)), None
    )


async def _ask_own(client: HttpClient, provider: str, model: str, endpoint: Endpoint) -> int | None:
    """Ask a server of one's own: llama.cpp, LM Studio and vLLM each tell it somewhere else."""
    told = await _try(client, endpoint, provider, "/props")
    settings = told.get("default_generation_settings")
    if isinstance(settings, dict) and _is_count(settings.get("n_ctx")):
        return int(settings["n_ctx"])
    for path, is_root in (("/api/v0/models", True), ("/models", False)):
        page = await _try(client, endpoint, provider, path, is_root=is_root)
        for entry in list_entries(page):
            if entry.get("id") == model and (window := read_window(entry)):
                return window
    return None


async def _try(
    client: HttpClient,
    endpoint: Endpoint,
    provider: str,
    path: str,
    body: JsonObject | None = None,
    *,
    is_root: bool = True,
) -> JsonObject:
    """Return what a route answers, nothing when the server has no such route."""
    try:
        return await fetch_json(client, endpoint, provider, path, is_root=is_root, body=body)
    except WireError:
        return {}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0

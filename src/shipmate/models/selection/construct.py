"""Make the model that was chosen, with where it is asked and how; loaded when one is asked."""

from __future__ import annotations

from collections.abc import Mapping

from shipmate.errors import ConfigError
from shipmate.models.catalog import NO_KEY, PROVIDERS, ProviderEntry
from shipmate.models.choose import find_unset, name_provider
from shipmate.models.port import Model
from shipmate.models.provider.provider import ProviderModel
from shipmate.models.provider.recipe import Recipe
from shipmate.models.retry import RetryingModel
from shipmate.models.selection.ollama import find_ollama, locate_ollama
from shipmate.models.selection.source import Source, check_source, find_source
from shipmate.models.wire.client import Patience
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint, join_home, write_headers
from shipmate.models.wire.registry import find_wire
from shipmate.models.wire.wire import WireSettings
from shipmate.models.wording import say
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Llm


def locate(llm: Llm, environ: Mapping[str, str]) -> tuple[str, Endpoint]:
    """Return whose models would be asked, and where; raise ConfigError when nobody can be."""
    if lacks := find_unset(llm):
        raise ConfigError(lacks)
    provider, _ = name_provider(llm)
    if PROVIDERS[provider].wire is None:
        raise ConfigError(say("listed-by-library", provider=provider))
    base_url, source = _find_address(llm, provider, environ)
    return provider, _endpoint(llm, provider, base_url, source, environ)


def _find_address(llm: Llm, provider: str, environ: Mapping[str, str]) -> tuple[str | None, Source]:
    entry = PROVIDERS[provider]
    source = find_source(provider, environ, llm.api_key)
    base_url = llm.base_url or source.address
    if not llm.base_url:
        check_source(provider, environ, source)
    if provider == "ollama":
        base_url = llm.base_url or f"{locate_ollama(source.address)}/v1"
    if entry.wire and not (base_url or entry.home):
        raise ConfigError(say("base-url-missing", provider=provider))
    return base_url, source


def make_unasked(llm: Llm, lacks: str) -> Model:
    """Make a model that can be named and not be asked, for what is lacking."""
    settings = WireSettings(provider=llm.provider or "unknown", model=llm.model or "unknown")
    return WireModel(find_wire("chat"), settings, Endpoint(base_url="", lacks=lacks))


def make_model(llm: Llm, provider: str, model: str | None, environ: Mapping[str, str]) -> Model:
    """Make the model of a provider, with its retries."""
    return RetryingModel(_make(llm, provider, model, environ), llm.max_retries)


def _make(llm: Llm, provider: str, model: str | None, environ: Mapping[str, str]) -> Model:
    entry = PROVIDERS[provider]
    base_url, source = _find_address(llm, provider, environ)
    if provider == "ollama" and base_url:
        model = model or _first_ollama_model(base_url)
    model = model or (entry.model if llm.base_url is None else None)
    if not model:
        raise ConfigError(say("model-missing", provider=provider))
    if entry.wire is None:
        return ProviderModel(_recipe(llm, provider, model, base_url, source))
    endpoint = _endpoint(llm, provider, base_url, source, environ)
    return WireModel(find_wire(entry.wire), _wire_settings(llm, provider, model), endpoint)


def _recipe(llm: Llm, provider: str, model: str, base_url: str | None, source: Source) -> Recipe:
    return Recipe(
        provider=provider,
        model=model,
        base_url=base_url,
        api_key=source.key,
        settings=_settings(llm),
        more=source.more,
    )


def _wire_settings(llm: Llm, provider: str, model: str) -> WireSettings:
    is_own = PROVIDERS[provider].is_keyless
    return WireSettings(
        provider=provider,
        model=model,
        temperature=llm.temperature,
        top_p=llm.top_p,
        max_tokens=llm.max_tokens,
        reasoning=llm.reasoning,
        text_calls=is_own if llm.text_calls is None else llm.text_calls,
    )


def _endpoint(
    llm: Llm, provider: str, base_url: str | None, source: Source, environ: Mapping[str, str]
) -> Endpoint:
    entry = PROVIDERS[provider]
    key = None if source.key == NO_KEY else source.key
    needs_key = bool(entry.keys) and not entry.is_keyless and not base_url
    return Endpoint(
        base_url=join_home(provider, base_url, entry.home or ""),
        key=key,
        headers=write_headers(source.more),
        patience=Patience(first=llm.timeout_seconds, stall=llm.timeout_seconds),
        environ=environ,
        lacks=_ask_key(provider, entry) if needs_key and not key else "",
    )


def _ask_key(provider: str, entry: ProviderEntry) -> str:
    return say("no-key", provider=provider, variable=entry.keys[0])


def _first_ollama_model(base_url: str) -> str | None:
    found = find_ollama(base_url.rstrip("/").removesuffix("/v1"))
    return found.models[0] if found is not None and found.models else None


def _settings(llm: Llm) -> JsonObject:
    given = {"temperature": llm.temperature, "max_tokens": llm.max_tokens, "top_p": llm.top_p}
    return {
        "timeout": llm.timeout_seconds,
        **{key: value for key, value in given.items() if value is not None},
    }

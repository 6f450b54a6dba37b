"""Choose the model that answers: as ship.json says, else by what this machine has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib.util import find_spec

from msgspec.structs import replace

from shipmate.errors import ConfigError
from shipmate.models.catalog import ALIASES, PROVIDERS
from shipmate.models.fallback import FallbackModel
from shipmate.models.ollama import find_ollama, locate_ollama
from shipmate.models.port import Model
from shipmate.models.provider.provider import ProviderModel
from shipmate.models.provider.recipe import Recipe
from shipmate.models.retry import RetryingModel
from shipmate.models.source import check_source, find_source
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Llm
from shipmate.workspace.load import VARIABLE


def choose_model(llm: Llm, environ: Mapping[str, str]) -> Model:
    """Return the configured model with its retries and fallbacks; nothing heavy is imported here."""
    models = [_choose_one(each, environ) for each in _flatten(llm)]
    return models[0] if len(models) == 1 else FallbackModel(models)


def _flatten(llm: Llm) -> Iterator[Llm]:
    yield llm
    for each in llm.fallback:
        yield from _flatten(each)


def _choose_one(llm: Llm, environ: Mapping[str, str]) -> Model:
    if not (llm.provider or llm.model or llm.base_url):
        llm = discover(llm, environ)
    if lacks := _find_unset(llm):
        # It can be named, and whatever asks no model goes on.
        unnamed = Recipe(provider=llm.provider or "unknown", model=llm.model or "unknown", lacks=lacks)
        return ProviderModel(unnamed)
    provider, model = _name(llm)
    if provider == "rehearsal":
        from shipmate.models.rehearsal.rehearsal import RehearsalModel

        return RehearsalModel()
    _check_library(provider)
    recipe = _recipe(llm, provider, model, environ)
    return RetryingModel(ProviderModel(recipe), llm.max_retries)


def name_model(llm: Llm, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the model that would answer, and why it cannot, if so."""
    try:
        return choose_model(llm, environ).name, _find_unset(llm)
    except ConfigError as error:
        return f"{llm.provider or 'unknown'}:{llm.model or 'unknown'}", str(error)


def find_overlooked(llm: Llm, environ: Mapping[str, str]) -> list[str]:
    """Tell of keys that would be used if the provider's library were installed."""
    if llm.provider or llm.model or llm.base_url:
        return []
    return [
        f"{key} is set, but {name} needs a library that is not installed: pip install '{entry.extra}'"
        for name, entry in PROVIDERS.items()
        for key in entry.keys
        if entry.model and environ.get(key) and not _has_library(name)
    ]


def _find_unset(llm: Llm) -> str:
    places = {"provider": llm.provider, "model": llm.model, "baseUrl": llm.base_url, "apiKey": llm.api_key}
    for place, value in places.items():
        if value and (unset := VARIABLE.search(value)):
            return f"llm.{place} names {unset[1]}, which is not set. Set it in the environment or .env."
    return ""


def discover(llm: Llm, environ: Mapping[str, str]) -> Llm:
    """Fill in a provider: a key in the environment, then a local Ollama, then the rehearsal model."""
    for name, entry in PROVIDERS.items():
        if entry.model and _has_library(name) and any(environ.get(key) for key in entry.keys):
            return replace(llm, provider=name)
    found = find_ollama(locate_ollama(environ.get("OLLAMA_HOST")))
    if found is not None and found.models:
        return replace(llm, provider="ollama", model=found.models[0])
    return replace(llm, provider="rehearsal")


def _name(llm: Llm) -> tuple[str, str | None]:
    """Read the provider's name; `provider:model` in `llm.model` names both."""
    provider, model = llm.provider, llm.model
    if not provider and model and ":" in model:
        head, _, tail = model.partition(":")
        if head in PROVIDERS or head in ALIASES:
            provider, model = head, tail
    if not provider:
        if not llm.base_url:
            raise ConfigError(
                f"llm.provider is missing: ship.json names the model {model!r} but not whose it is."
            )
        provider = "openai-compatible"
    provider = ALIASES.get(provider, provider)
    if provider not in PROVIDERS:
        near = get_close_matches(provider, [*PROVIDERS, *ALIASES], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(PROVIDERS)}."
        raise ConfigError(f"llm.provider {provider!r} is not known.{hint}")
    return provider, model


def _has_library(provider: str) -> bool:
    needs = PROVIDERS[provider].needs
    if needs is None:
        return True
    try:
        return find_spec(needs) is not None
    except ModuleNotFoundError:
        return False


def _check_library(provider: str) -> None:
    if not _has_library(provider):
        extra = PROVIDERS[provider].extra
        raise ConfigError(
            f"llm.provider {provider!r} needs a library that is not installed: pip install '{extra}'"
        )


def _recipe(llm: Llm, provider: str, model: str | None, environ: Mapping[str, str]) -> Recipe:
    entry = PROVIDERS[provider]
    source = find_source(provider, environ, llm.api_key)
    base_url = llm.base_url or source.address
    if not llm.base_url:
        check_source(provider, environ, source)
    if provider == "ollama":
        base_url = llm.base_url or f"{locate_ollama(source.address)}/v1"
        model = model or _first_ollama_model(base_url)
    if provider in ("openai-compatible", "vllm") and not base_url:
        raise ConfigError(f"llm.baseUrl is missing: {provider} needs the address of a server.")
    model = model or (entry.model if llm.base_url is None else None)
    if not model:
        raise ConfigError(f"llm.model is missing: say which model of {provider} answers.")
    return Recipe(
        provider=provider,
        model=model,
        base_url=base_url,
        api_key=source.key,
        settings=_settings(llm),
        more=source.more,
    )


def _first_ollama_model(base_url: str) -> str | None:
    found = find_ollama(base_url.rstrip("/").removesuffix("/v1"))
    return found.models[0] if found is not None and found.models else None


def _settings(llm: Llm) -> JsonObject:
    given = {"temperature": llm.temperature, "max_tokens": llm.max_tokens, "top_p": llm.top_p}
    return {
        "timeout": llm.timeout_seconds,
        **{key: value for key, value in given.items() if value is not None},
    }

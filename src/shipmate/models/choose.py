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
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Llm


def choose_model(llm: Llm, environ: Mapping[str, str]) -> Model:
    """Give the configured model with its retries and fallbacks; nothing heavy is imported here."""
    models = [_choose_one(each, environ) for each in _flatten(llm)]
    return models[0] if len(models) == 1 else FallbackModel(models)


def _flatten(llm: Llm) -> Iterator[Llm]:
    yield llm
    for each in llm.fallback:
        yield from _flatten(each)


def _choose_one(llm: Llm, environ: Mapping[str, str]) -> Model:
    if not (llm.provider or llm.model or llm.base_url):
        llm = discover(llm, environ)
    provider, model = _name(llm)
    if provider == "rehearsal":
        from shipmate.models.rehearsal.rehearsal import RehearsalModel

        return RehearsalModel()
    _check_library(provider)
    recipe = _recipe(llm, provider, model, environ)
    return RetryingModel(ProviderModel(recipe), llm.max_retries)


def discover(llm: Llm, environ: Mapping[str, str]) -> Llm:
    """Fill in a provider: a key in the environment, then a local Ollama, then the rehearsal model."""
    for name, entry in PROVIDERS.items():
        if entry.model and _has_library(name) and any(environ.get(key) for key in entry.keys):
            return replace(llm, provider=name)
    found = find_ollama(locate_ollama(environ))
    if found is not None and found.models:
        return replace(llm, provider="ollama", model=found.models[0], base_url=f"{found.url}/v1")
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
    base_url = llm.base_url
    if provider == "ollama":
        base_url = base_url or f"{locate_ollama(environ)}/v1"
        model = model or _first_ollama_model(base_url)
    if provider in ("openai-compatible", "vllm") and not base_url:
        raise ConfigError(f"llm.baseUrl is missing: {provider} needs the address of a server.")
    entry = PROVIDERS[provider]
    model = model or (entry.model if base_url is None else None)
    if not model:
        raise ConfigError(f"llm.model is missing: say which model of {provider} answers.")
    key = llm.api_key or next((environ[key] for key in entry.keys if environ.get(key)), None)
    return Recipe(provider=provider, model=model, base_url=base_url, api_key=key, settings=_settings(llm))


def _first_ollama_model(base_url: str) -> str | None:
    found = find_ollama(base_url.rstrip("/").removesuffix("/v1"))
    return found.models[0] if found is not None and found.models else None


def _settings(llm: Llm) -> JsonObject:
    given = {"temperature": llm.temperature, "max_tokens": llm.max_tokens, "top_p": llm.top_p}
    return {
        "timeout": llm.timeout_seconds,
        **{key: value for key, value in given.items() if value is not None},
    }

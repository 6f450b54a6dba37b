"""Choose the model that answers: as ship.json says, else by what this machine has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib.util import find_spec

from msgspec.structs import replace

from shipmate.errors import ConfigError
from shipmate.models.catalog import ALIASES, NO_KEY, PROVIDERS, ProviderEntry
from shipmate.models.fallback import FallbackModel
from shipmate.models.ollama import find_ollama, locate_ollama
from shipmate.models.port import Model
from shipmate.models.provider.provider import ProviderModel
from shipmate.models.provider.recipe import Recipe
from shipmate.models.retry import RetryingModel
from shipmate.models.source import Source, check_source, find_source
from shipmate.models.wire.client import Patience
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint, join_home, write_headers
from shipmate.models.wire.registry import find_wire
from shipmate.models.wire.wire import WireSettings
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
        unnamed = WireSettings(provider=llm.provider or "unknown", model=llm.model or "unknown")
        return WireModel(find_wire("chat"), unnamed, Endpoint(base_url="", lacks=lacks))
    provider, model = _name(llm)
    if provider == "rehearsal":
        from shipmate.models.rehearsal.rehearsal import RehearsalModel

        return RehearsalModel()
    _check_library(provider)
    return RetryingModel(_make(llm, provider, model, environ), llm.max_retries)


def name_model(llm: Llm, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the model that would answer, and why it cannot, if so."""
    try:
        return choose_model(llm, environ).name, _find_unset(llm)
    except ConfigError as error:
        return f"{llm.provider or 'unknown'}:{llm.model or 'unknown'}", str(error)


def find_overlooked(llm: Llm, environ: Mapping[str, str]) -> list[str]:
    """Tell of keys that nothing uses while no model is named: their provider needs a library, or a name."""
    if llm.provider or llm.model or llm.base_url:
        return []
    return [
        f"{key} is set, but {name} {_find_lack(name)}"
        for name, entry in PROVIDERS.items()
        for key in entry.keys
        if environ.get(key) and _find_lack(name) and not name.endswith("-responses")
    ]


def find_idle(llm: Llm, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the keys that are not used because another model is chosen, each with its provider."""
    is_open = not (llm.provider or llm.model or llm.base_url)
    try:
        used = {_name(each)[0] for each in _flatten(discover(llm, environ) if is_open else llm)}
    except ConfigError:
        return []
    taken = {key for name in used for key in PROVIDERS[name].keys}
    found = {
        key: name
        for name, entry in PROVIDERS.items()
        for key in entry.keys
        if environ.get(key) and key not in taken and not name.endswith("-responses")
    }
    return [(key, name) for key, name in found.items() if not (is_open and _find_lack(name))]


def _find_lack(name: str) -> str:
    entry = PROVIDERS[name]
    if not _has_library(name):
        return f"needs a library that is not installed: pip install '{entry.extra}'"
    return "" if entry.model else f'is asked only when it is named: set llm.model to "{name}:…" in ship.json'


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
    entry = PROVIDERS[provider]
    if entry.wire is not None or provider == "rehearsal":
        return True
    try:
        return find_spec(entry.needs) is not None
    except ModuleNotFoundError:
        return False


def _check_library(provider: str) -> None:
    if not _has_library(provider):
        extra = PROVIDERS[provider].extra
        raise ConfigError(
            f"llm.provider {provider!r} needs a library that is not installed: pip install '{extra}'"
        )


def locate(llm: Llm, environ: Mapping[str, str]) -> tuple[str, Endpoint]:
    """Return whose models would be asked, and where; raise ConfigError when nobody can be."""
    if lacks := _find_unset(llm):
        raise ConfigError(lacks)
    provider, _ = _name(llm)
    if PROVIDERS[provider].wire is None:
        raise ConfigError(f"{provider} is asked through a library, which does not list its models.")
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
        raise ConfigError(f"llm.baseUrl is missing: {provider} needs the address of a server.")
    return base_url, source


def _make(llm: Llm, provider: str, model: str | None, environ: Mapping[str, str]) -> Model:
    entry = PROVIDERS[provider]
    base_url, source = _find_address(llm, provider, environ)
    if provider == "ollama" and base_url:
        model = model or _first_ollama_model(base_url)
    model = model or (entry.model if llm.base_url is None else None)
    if not model:
        raise ConfigError(f"llm.model is missing: say which model of {provider} answers.")
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
    return (
        f'{provider} has no key. Set llm.apiKey to "${{{entry.keys[0]}}}" in ship.json, '
        f"or {entry.keys[0]} in the environment."
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

"""Choose the model that answers: as ship.json says, else by what this machine has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from difflib import get_close_matches
from importlib.util import find_spec

from msgspec.structs import replace

from shipmate.errors import ConfigError, ModelError
from shipmate.models.catalog import ALIASES, PROVIDERS
from shipmate.models.failure import in_short
from shipmate.models.port import Finish, Model, ModelEvent, ModelNotice, ModelRequest
from shipmate.models.relay import close_model, relay
from shipmate.models.selection.ollama import find_ollama, locate_ollama
from shipmate.models.wording import say
from shipmate.values.event import TYPED
from shipmate.workspace.config import Llm
from shipmate.workspace.load import VARIABLE

REASON_LIMIT = 200


class FallbackModel:
    """Several models as one: the first that answers.

    Only trouble that passes (busy, down, broken off before its first word) moves on to the next one. A
    refused key or request is a person's to mend: it is shown, not hidden behind a model they did not ask for.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models

    @property
    def name(self) -> str:
        """Return the first model's name; `Finish.model` says which one answered."""
        return self._models[0].name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request through the first model that can."""
        away: list[str] = []
        for place, model in enumerate(self._models, 1):
            begun = False
            try:
                async with aclosing(relay(model, request)) as events:
                    async for event in events:
                        begun = begun or not isinstance(event, ModelNotice)
                        if away and isinstance(event, Finish):
                            event = replace(event, instead="; ".join(away))
                        yield event
            except ModelError as error:
                if begun or not error.retryable or place == len(self._models):
                    raise
                reason = in_short(error)
                away.append(f"{model.name}: {reason}"[:REASON_LIMIT])
                notice = ModelNotice(kind="fallback", model=self._models[place].name, reason=reason)
            else:
                return
            yield notice

    async def close(self) -> None:
        """Close every model."""
        for model in self._models:
            await close_model(model)


def choose_model(llm: Llm, environ: Mapping[str, str]) -> Model:
    """Return the configured model with its retries and fallbacks; nothing heavy is imported here."""
    models = [_choose_one(each, environ) for each in _flatten(llm)]
    if len(models) == 1:
        return models[0]
    from shipmate.models.choose import FallbackModel

    return FallbackModel(models)


def _flatten(llm: Llm) -> Iterator[Llm]:
    yield llm
    for each in llm.fallback:
        yield from _flatten(each)


def _choose_one(llm: Llm, environ: Mapping[str, str]) -> Model:
    if not (llm.provider or llm.model or llm.base_url):
        llm = discover(llm, environ)
    lacks = find_unset(llm)
    provider, model = ("unknown", None) if lacks else name_provider(llm)
    if provider == "rehearsal" and model == TYPED:
        from shipmate.models.rehearsal.typed import TypedModel

        return TypedModel()
    if provider == "rehearsal":
        from shipmate.models.rehearsal.rehearsal import RehearsalModel

        return RehearsalModel()
    from shipmate.models.selection.construct import make_model, make_unasked

    if lacks:
        # It can be named, and whatever asks no model goes on.
        return make_unasked(llm, lacks)
    _check_library(provider)
    return make_model(llm, provider, model, environ)


def name_model(llm: Llm, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the model that would answer, and why it cannot, if so."""
    try:
        return choose_model(llm, environ).name, find_unset(llm)
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
        used = {name_provider(each)[0] for each in _flatten(discover(llm, environ) if is_open else llm)}
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


def find_unset(llm: Llm) -> str:
    """Return which variable that `llm` names is not set, if any."""
    places = {"provider": llm.provider, "model": llm.model, "baseUrl": llm.base_url, "apiKey": llm.api_key}
    for place, value in places.items():
        if value and (unset := VARIABLE.search(value)):
            return say("unset", place=place, variable=unset[1])
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


def name_provider(llm: Llm) -> tuple[str, str | None]:
    """Return the provider's name and the model's; `provider:model` in `llm.model` names both."""
    provider, model = llm.provider, llm.model
    if not provider and model and ":" in model:
        head, _, tail = model.partition(":")
        if head in PROVIDERS or head in ALIASES:
            provider, model = head, tail
    if not provider:
        if not llm.base_url:
            raise ConfigError(say("provider-missing", model=repr(model)))
        provider = "openai-compatible"
    provider = ALIASES.get(provider, provider)
    if provider not in PROVIDERS:
        near = get_close_matches(provider, [*PROVIDERS, *ALIASES], n=1)
        hint = say("did-you-mean", name=near[0]) if near else say("known-are", names=", ".join(PROVIDERS))
        raise ConfigError(say("provider-unknown", provider=repr(provider), hint=hint))
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
        raise ConfigError(say("provider-library", provider=provider, extra=extra))

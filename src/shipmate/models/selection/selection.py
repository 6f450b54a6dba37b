"""Choose a model for good: try it as it would be kept, then put its key into .env and name it in settings."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import msgspec
from msgspec.structs import replace

from shipmate.errors import ConfigError, UserError
from shipmate.models.catalog import ALIASES, PROVIDERS
from shipmate.models.choose import choose_model
from shipmate.models.relay import close_model
from shipmate.models.selection.origin import fill_key
from shipmate.models.selection.probe import Measured, ask_once
from shipmate.models.selection.source import find_source
from shipmate.values.message import JsonObject
from shipmate.workspace.config import Llm
from shipmate.workspace.environ import Environ, list_places
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded
from shipmate.workspace.secret.secret import Mask
from shipmate.workspace.setting_file.config_file import read_object, write_key
from shipmate.workspace.setting_file.env_file import check_value, set_variable

TEST_SECONDS = 20.0
# For servers that have no variable of their own.
ANY_KEY = "LLM_API_KEY"
# What belongs to one provider, and goes when another is chosen.
OWN = ("provider", "model", "apiKey", "baseUrl", "contextWindow", "textCalls")


class SelectedModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model a person chose; a key that was typed is kept, and one that was not is looked for."""

    provider: str
    model: str | None = None
    base_url: str | None = None
    key: str | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a selection comes to: how it is tried, and what would be written."""

    llm: Llm
    environ: Mapping[str, str]
    # As ship.json would say it.
    stated: JsonObject
    # The variable of .env that would hold the key.
    variable: str | None = None
    key: str | None = None


class KeptSelection(msgspec.Struct, frozen=True, kw_only=True):
    """What was written where, and what stood there before."""

    file: str
    stated: JsonObject | str
    before: JsonObject | str | None
    variable: str | None


def read_selection(name: str, base_url: str | None = None, key: str | None = None) -> SelectedModel:
    """Read `provider:model`; raise UserError for a provider that is not known."""
    head, _, model = name.partition(":")
    provider = ALIASES.get(head, head)
    if provider not in PROVIDERS:
        # Whoever puts a key here must not find it in a log.
        shown = Mask(())(head[:40])
        near = get_close_matches(head, [*PROVIDERS, *ALIASES], n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "`shipmate model list` shows the providers."
        raise UserError(f"{shown!r} is no provider. {hint}")
    return SelectedModel(provider=provider, model=model or None, base_url=base_url, key=key)


def plan_selection(selection: SelectedModel, loaded: Loaded) -> Plan:
    """Say how a selection is tried and what would be written; raise ConfigError when it cannot be."""
    provider = selection.provider
    asked = Llm(
        provider=provider,
        model=selection.model,
        base_url=selection.base_url,
        timeout_seconds=TEST_SECONDS,
        max_retries=0,
    )
    if selection.key:
        key = check_value(selection.key)
        variable = _choose_variable(provider, key, loaded.environ)
        environ = _put_variable(loaded.environ, variable, key)
        llm = replace(asked, api_key=key)
    else:
        key = variable = None
        environ = loaded.environ
        llm = fill_key(asked, loaded.config.llm, environ)
    stated: JsonObject = {"provider": provider}
    if selection.model:
        stated["model"] = selection.model
    if selection.base_url:
        stated["baseUrl"] = selection.base_url
    if named := variable or _find_variable(provider, llm, environ):
        stated["apiKey"] = f"${{{named}}}"
    return Plan(llm=llm, environ=environ, stated=stated, variable=variable, key=key)


async def try_plan(plan: Plan) -> Measured:
    """Ask the model one real question; raise ConfigError or ModelError with why it did not answer."""
    model = choose_model(plan.llm, plan.environ)
    try:
        return await ask_once(model)
    finally:
        await close_model(model)


def keep_plan(layout: Layout, plan: Plan, member: str = CAPTAIN) -> KeptSelection:
    """Write a plan: the key into .env first, then the settings that name it."""
    if plan.variable and plan.key:
        set_variable(layout, plan.variable, plan.key)
    if member == CAPTAIN:
        before = _llm_in(read_object(layout.config))
        stated = join_settings(before, plan.stated, is_fresh=plan.key is not None)
        write_key(layout, layout.config, "llm", stated)
        return KeptSelection(file="ship.json", stated=stated, before=before or None, variable=plan.variable)
    path = layout.member(member).member_file
    before = read_object(path).get("model")
    write_key(layout, path, "model", plan.stated)
    return KeptSelection(file=layout.name_of(path), stated=plan.stated, before=before, variable=plan.variable)


def forget_selection(layout: Layout, member: str = CAPTAIN) -> KeptSelection:
    """Take the choice of a model out of the settings; keys stay in .env."""
    if member == CAPTAIN:
        before = _llm_in(read_object(layout.config))
        rest = {key: value for key, value in before.items() if key not in OWN}
        write_key(layout, layout.config, "llm", rest or None)
        return KeptSelection(file="ship.json", stated=rest, before=before or None, variable=None)
    path = layout.member(member).member_file
    before = read_object(path).get("model")
    write_key(layout, path, "model", None)
    return KeptSelection(file=layout.name_of(path), stated={}, before=before, variable=None)


def join_settings(before: JsonObject, stated: JsonObject, *, is_fresh: bool = False) -> JsonObject:
    """Return `llm` with another model; what belongs to the model before goes, all else stays.

    Key and address of the same provider hold, unless another key was typed.
    """
    known = str(before.get("provider"))
    dropped = set(OWN)
    if not is_fresh and ALIASES.get(known, known) == stated["provider"]:
        dropped = (
            {"model", "contextWindow", "textCalls"} if before.get("model") != stated.get("model") else set()
        )
        dropped |= {"apiKey"} if "baseUrl" in stated else set()
    kept = {key: value for key, value in before.items() if key not in dropped}
    return {**stated, **{key: value for key, value in kept.items() if key not in stated}}


def variable_of(provider: str) -> str:
    """Return the variable that holds a provider's key."""
    return next(iter(PROVIDERS[provider].keys), ANY_KEY)


def _choose_variable(provider: str, key: str, environ: Mapping[str, str]) -> str:
    """Return the variable of .env for a key: the provider's own, unless the environment has another there."""
    name = variable_of(provider)
    process = list_places(environ)[0].variables
    return name if process.get(name) in (None, "", key) else f"SHIPMATE_{name}"


def _put_variable(environ: Mapping[str, str], name: str, value: str) -> Environ:
    places = {place.name: place.variables for place in list_places(environ)}
    return Environ(places["the environment"], {**places.get(".env", {}), name: value})


def _find_variable(provider: str, llm: Llm, environ: Mapping[str, str]) -> str | None:
    """Return the variable whose value is the key that was tried, if one is."""
    key = llm.api_key or find_source(provider, environ).key
    names = (*PROVIDERS[provider].keys, ANY_KEY, *environ)
    return next((name for name in names if key and environ.get(name) == key), None)


def _llm_in(raw: JsonObject) -> JsonObject:
    found = raw.get("llm", {})
    if not isinstance(found, dict):
        raise ConfigError("ship.json: `llm` must be an object, such as {}. Mend it and try again.")
    return found

"""Show the configuration without its secrets; list, test and choose models."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter
from pydantic import StrictBool, StringConstraints
from starlette.responses import Response

from shipmate.errors import (
    ConfigError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
    ShipmateError,
    UserError,
)
from shipmate.models.catalog import PROVIDERS
from shipmate.models.selection.listing import OfferedModel, OfferedModels
from shipmate.models.selection.local import find_local
from shipmate.models.selection.origin import fill_key
from shipmate.models.selection.probe import Measured
from shipmate.models.selection.selection import (
    Plan,
    keep_plan,
    plan_selection,
    read_selection,
    try_plan,
    variable_of,
)
from shipmate.server.guard.error import hide_root
from shipmate.server.shape import Answer, Json, Shape, Slot, tells
from shipmate.server.site import Site, TheShip, TheSite
from shipmate.workspace.config import Config, Llm
from shipmate.workspace.environ import Environ
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import Loaded, load_config
from shipmate.workspace.secret.secret import Mask, secret_values
from shipmate.workspace.secret.setting import hide_secrets

OFFERS = OfferedModels()
CODES: tuple[tuple[type[Exception], str], ...] = (
    (ModelAuthError, "auth"),
    (ModelRequestError, "request"),
    (ModelBusyError, "busy"),
    (ModelDownError, "down"),
    (ConfigError, "config"),
    (UserError, "config"),
)
router = APIRouter(tags=["settings"])


class ProviderQuestion(Shape):
    """A provider to ask, with a key that is kept nowhere."""

    provider: Slot
    api_key: Annotated[str, StringConstraints(max_length=2000)] | None = None
    base_url: Annotated[str, StringConstraints(max_length=2000)] | None = None


class KeyTest(ProviderQuestion):
    """A provider and a key to try."""

    model: Slot | None = None


class ModelSelection(KeyTest):
    """A model to keep once it has answered."""

    member: Slot | None = None
    # Keep it even if it does not answer.
    force: StrictBool = False


class OfferList(Answer):
    """The models a provider offers; `message` says why there is no list."""

    models: list[OfferedModel]
    message: str | None = None


class ProviderView(Answer):
    """A provider as a list shows it."""

    name: str
    # The variable that holds its key.
    variable: str
    has_key: bool
    # Whether it can do without a key.
    is_keyless: bool
    needs_url: bool
    model: str | None
    # Where a server on this machine answered.
    found_at: str | None = None


class KeyTestReply(Answer):
    """Whether the provider answered."""

    ok: bool
    model: str
    reply: str
    code: str | None
    message: str | None
    ms: int
    first_ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class ModelSaved(Answer):
    """How the test went, and what was written where."""

    test: KeyTestReply
    saved: bool
    file: str | None = None
    variable: str | None = None
    # What stood in the file before, without secrets.
    before: Any = None


class ProviderList(Answer):
    """The providers a person may choose, those with a key or found on this machine first."""

    providers: list[ProviderView]


class ModelView(Answer):
    """The model that answers."""

    name: str
    is_rehearsal: bool


class KeyHint(Answer):
    """Where a key is put, and for which providers."""

    path: str
    variables: list[str]
    providers: list[str]


class SettingsView(Answer):
    """The configuration without its secrets."""

    config: Any
    model: ModelView
    key_hint: KeyHint


class FindingList(Answer):
    """What the doctor found."""

    findings: list[Finding]


def describe_model(name: str) -> ModelView:
    """Return what people are told of the model that answers."""
    return ModelView(name=name, is_rehearsal=name == "rehearsal")


@router.get("/api/settings", openapi_extra=tells(SettingsView))
async def read_settings(ship: TheShip) -> Response:
    """Show ship.json as written; what is not known to be harmless only as set, or by its variable."""
    config = _read(ship.layout)
    variables = [key for entry in PROVIDERS.values() if entry.model for key in entry.keys]
    return Json(
        SettingsView(
            config=hide_secrets(config, Mask(secret_values(os.environ, config))),
            model=describe_model(ship.model.name),
            key_hint=KeyHint(path="ship.json", variables=variables, providers=list(PROVIDERS)),
        )
    )


@router.get("/api/settings/providers", openapi_extra=tells(ProviderList))
async def read_providers(site: TheSite) -> Response:
    """List the providers, with what this machine has of each."""
    _, environ = _stored(site.layout)
    found = {each.provider: each.base_url for each in await find_local(environ)}
    views = [_view(name, environ, found) for name in PROVIDERS if name != "rehearsal"]
    shown = [each for each in views if PROVIDERS[each.name].wire]
    return Json(ProviderList(providers=sorted(shown, key=lambda each: not (each.has_key or each.found_at))))


@router.post("/api/settings/test-key", openapi_extra=tells(KeyTestReply))
async def test_key(site: TheSite, body: KeyTest) -> Response:
    """Ask a provider one question with a key, which is neither kept nor repeated.

    Without `apiKey` a stored key is tried, and only at the address it is meant for.
    """
    return Json((await _try(site, body))[0])


@router.post("/api/settings/models", openapi_extra=tells(OfferList))
async def list_offers(site: TheSite, body: ProviderQuestion) -> Response:
    """List the models a provider offers; a stored key goes only to the address it is meant for."""
    configured, environ = _stored(site.layout)
    llm = Llm(provider=body.provider, api_key=body.api_key or None, base_url=body.base_url or None)
    try:
        found = await OFFERS.list(fill_key(llm, configured, environ), environ)
    except (ModelError, ConfigError) as error:
        return Json(OfferList(models=[], message=_words(error, body.api_key, environ, site)))
    return Json(OfferList(models=found))


@router.put("/api/settings/model", openapi_extra=tells(ModelSaved))
async def save_model(site: TheSite, ship: TheShip, body: ModelSelection) -> Response:
    """Keep a model that has answered: its key in .env, the rest in ship.json or the member's member.json."""
    member = ship.crew.find(body.member or CAPTAIN).id
    reply, plan = await _try(site, body)
    if plan is None or not (reply.ok or body.force):
        return Json(ModelSaved(test=reply, saved=False))
    kept = keep_plan(ship.layout, plan, member)
    before = kept.before if isinstance(kept.before, dict) else {"model": kept.before}
    shown = hide_secrets({"llm": before}, Mask(secret_values(os.environ, _read(ship.layout))))
    return Json(
        ModelSaved(
            test=reply,
            saved=True,
            file=kept.file,
            variable=kept.variable,
            before=shown["llm"] if kept.before is not None and isinstance(shown, dict) else None,
        )
    )


@router.get("/api/doctor", openapi_extra=tells(FindingList))
async def read_doctor(site: TheSite) -> Response:
    """Check the workspace and say what to mend."""
    root = str(site.layout.root)
    findings = [
        Finding(
            finding.level,
            hide_root(finding.subject, root),
            hide_root(finding.message, root),
            hide_root(finding.fix, root),
        )
        for finding in await site.examine(site.layout)
    ]
    return Json(FindingList(findings=findings))


def _read(layout: Layout) -> object:
    try:
        return msgspec.json.decode(layout.config.read_bytes())
    except (OSError, ValueError):
        # Doctor says what is wrong with it.
        return {}


async def _try(site: Site, body: KeyTest) -> tuple[KeyTestReply, Plan | None]:
    """Ask the chosen model one question; return what came of it, and what could be kept."""
    began = time.perf_counter()
    environ: Mapping[str, str] = os.environ
    plan: Plan | None = None
    measured: Measured | None = None
    failed: ShipmateError | None = None
    try:
        selection = read_selection(body.provider, body.base_url or None, body.api_key or None)
        selection = msgspec.structs.replace(selection, model=body.model or selection.model)
        loaded = _load(site.layout)
        environ = loaded.environ
        plan = plan_selection(selection, loaded)
        measured = await try_plan(plan)
    except (ModelError, ConfigError, UserError) as error:
        failed = error
    reply = KeyTestReply(
        ok=failed is None,
        model=measured.model if measured else "",
        reply=measured.reply if measured else "",
        code=failed and _code(failed),
        message=failed and _words(failed, body.api_key, environ, site),
        ms=measured.total_ms if measured else round((time.perf_counter() - began) * 1000),
        first_ms=measured.first_ms if measured else 0,
        input_tokens=measured.usage.input_tokens if measured else 0,
        output_tokens=measured.usage.output_tokens if measured else 0,
    )
    return reply, plan


def _view(name: str, environ: Mapping[str, str], found: Mapping[str, str]) -> ProviderView:
    entry = PROVIDERS[name]
    return ProviderView(
        name=name,
        variable=variable_of(name),
        has_key=any(environ.get(key) for key in entry.keys),
        is_keyless=entry.is_keyless,
        needs_url=not entry.home and name != "ollama" and name not in found,
        model=entry.model,
        found_at=found.get(name),
    )


def _code(error: Exception) -> str:
    return next((code for kind, code in CODES if isinstance(error, kind)), "stream")


def _load(layout: Layout) -> Loaded:
    """Return the settings; a broken ship.json leaves the environment alone."""
    try:
        return load_config(layout)
    except ConfigError:
        mask = Mask(secret_values(os.environ))
        return Loaded(config=Config(), environ=Environ(os.environ, {}), findings=[], mask=mask)


def _stored(layout: Layout) -> tuple[Llm, Mapping[str, str]]:
    """Return the configured model and the variables."""
    loaded = _load(layout)
    return loaded.config.llm, loaded.environ


def _words(error: Exception, key: str | None, environ: Mapping[str, str], site: Site) -> str:
    mask = Mask([key, *secret_values(environ, _read(site.layout))])
    return mask(hide_root(str(error), str(site.layout.root)))

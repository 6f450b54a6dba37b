"""Show the configuration without its secrets, and try a key."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter
from pydantic import StringConstraints
from starlette.responses import Response

from shipmate.approvals.reply.suggest import hear
from shipmate.errors import (
    ConfigError,
    ModelAuthError,
    ModelBusyError,
    ModelDownError,
    ModelError,
    ModelRequestError,
)
from shipmate.models.catalog import PROVIDERS
from shipmate.models.choose import choose_model
from shipmate.models.origin import fill_key
from shipmate.models.port import Model, ModelRequest
from shipmate.models.relay import close_model
from shipmate.server.guard.error import hide_root
from shipmate.server.shape import Answer, Json, Shape, Slot, tells
from shipmate.server.site import Site, TheShip, TheSite
from shipmate.values.message import new_id, user_message
from shipmate.workspace.config import Llm
from shipmate.workspace.finding import Finding
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config
from shipmate.workspace.secret.secret import Mask, secret_values
from shipmate.workspace.secret.setting import hide_secrets

TEST_SECONDS = 20.0
REPLY_LIMIT = 200
CODES: tuple[tuple[type[Exception], str], ...] = (
    (ModelAuthError, "auth"),
    (ModelRequestError, "request"),
    (ModelBusyError, "busy"),
    (ModelDownError, "down"),
    (ConfigError, "config"),
)
router = APIRouter(tags=["settings"])


class KeyTest(Shape):
    """A provider and a key to try."""

    provider: Slot
    model: Slot | None = None
    api_key: Annotated[str, StringConstraints(max_length=2000)] | None = None
    base_url: Annotated[str, StringConstraints(max_length=2000)] | None = None


class KeyTestReply(Answer):
    """Whether the provider answered."""

    ok: bool
    model: str
    reply: str
    code: str | None
    message: str | None
    ms: int


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


@router.post("/api/settings/test-key", openapi_extra=tells(KeyTestReply))
async def test_key(site: TheSite, body: KeyTest) -> Response:
    """Ask a provider one question with a key, which is neither kept nor repeated.

    Without `apiKey` a stored key is tried, and only at the address it is meant for.
    """
    began = time.perf_counter()
    llm = Llm(
        provider=body.provider,
        model=body.model or None,
        api_key=body.api_key or None,
        base_url=body.base_url or None,
        timeout_seconds=TEST_SECONDS,
        max_retries=0,
    )
    name = reply = ""
    failed: ModelError | ConfigError | None = None
    configured, environ = _stored(site.layout)
    try:
        model = choose_model(fill_key(llm, configured, environ), environ)
        name = model.name
        try:
            reply = await _ask(model)
        finally:
            await close_model(model)
    except (ModelError, ConfigError) as error:
        failed = error
    return Json(
        KeyTestReply(
            ok=failed is None,
            model=name,
            reply=reply,
            code=failed and _code(failed),
            message=failed and _words(failed, body.api_key, environ, site),
            ms=round((time.perf_counter() - began) * 1000),
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


async def _ask(model: Model) -> str:
    question = user_message(new_id("test"), "Answer with one short word: hello")
    said = await hear(model, ModelRequest(system="Answer briefly.", messages=[question]))
    return said.strip()[:REPLY_LIMIT]


def _code(error: Exception) -> str:
    return next((code for kind, code in CODES if isinstance(error, kind)), "stream")


def _stored(layout: Layout) -> tuple[Llm, Mapping[str, str]]:
    """Return the configured model and the variables; a broken ship.json leaves the environment alone."""
    try:
        loaded = load_config(layout)
    except ConfigError:
        return Llm(), os.environ
    return loaded.config.llm, loaded.environ


def _words(error: Exception, key: str | None, environ: Mapping[str, str], site: Site) -> str:
    mask = Mask([key, *secret_values(environ, _read(site.layout))])
    return mask(hide_root(str(error), str(site.layout.root)))

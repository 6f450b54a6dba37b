"""Show the configuration without its secrets, and try a key."""

from __future__ import annotations

import os
import re
import time

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

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
from shipmate.models.port import Model, ModelRequest, TextDelta
from shipmate.server import shape
from shipmate.server.error import hide_root
from shipmate.server.reply import Json, tells
from shipmate.server.site import Site, TheShip, TheSite
from shipmate.values.message import JsonObject, new_id, user_message
from shipmate.workspace.config import Llm
from shipmate.workspace.layout import Layout

SECRET = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
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


@router.get("/api/settings", openapi_extra=tells("Settings"))
async def read_settings(ship: TheShip) -> Response:
    """Show ship.json as written; a secret is shown only as set, or by the variable that holds it."""
    name = ship.model.name
    variables = [key for entry in PROVIDERS.values() if entry.model for key in entry.keys]
    return Json(
        {
            "config": hide_secrets(_read(ship.layout)),
            "model": {"name": name, "isRehearsal": name == "rehearsal"},
            "keyHint": {"path": "ship.json", "variables": variables, "providers": list(PROVIDERS)},
        }
    )


@router.post("/api/settings/test-key", openapi_extra=tells("KeyTestReply"))
async def test_key(site: TheSite, body: shape.KeyTest) -> Response:
    """Ask a provider one question with a key. The key is neither kept nor repeated."""
    began = time.perf_counter()
    llm = Llm(
        provider=body.provider,
        model=body.model or None,
        api_key=body.api_key or None,
        base_url=body.base_url or None,
        timeout_seconds=TEST_SECONDS,
        max_retries=0,
    )
    result: JsonObject = {"ok": True, "model": "", "reply": "", "code": None, "message": None}
    try:
        model = choose_model(llm, os.environ)
        result["model"] = model.name
        result["reply"] = await _ask(model)
    except (ModelError, ConfigError) as error:
        result |= {"ok": False, "code": _code(error), "message": _words(error, body.api_key, site)}
    return Json({**result, "ms": round((time.perf_counter() - began) * 1000)})


@router.get("/api/doctor", openapi_extra=tells("Findings"))
async def read_doctor(site: TheSite) -> Response:
    """Check the workspace and say what to mend."""
    root = str(site.layout.root)
    findings = [
        {
            "level": finding.level,
            "subject": hide_root(finding.subject, root),
            "message": hide_root(finding.message, root),
            "fix": hide_root(finding.fix, root),
        }
        for finding in await site.examine(site.layout)
    ]
    return Json({"findings": findings})


def hide_secrets(value: object, name: str = "", *, inside: bool = False) -> object:
    """Copy a configuration without its secrets."""
    if isinstance(value, dict):
        secret = inside or name in ("env", "headers")
        return {key: hide_secrets(inner, key, inside=secret) for key, inner in value.items()}
    if isinstance(value, list):
        return [hide_secrets(inner, name, inside=inside) for inner in value]
    if isinstance(value, str) and (inside or SECRET.search(name)):
        variable = VARIABLE.fullmatch(value)
        return f"env:{variable[1]}" if variable else "set" if value else ""
    return value


def _read(layout: Layout) -> object:
    try:
        return msgspec.json.decode(layout.config.read_bytes())
    except FileNotFoundError:
        return {}


async def _ask(model: Model) -> str:
    question = user_message(new_id("test"), "Answer with one short word: hello")
    said = ""
    async for event in model.stream(ModelRequest(system="Answer briefly.", messages=[question])):
        if isinstance(event, TextDelta):
            said += event.text
    return said.strip()[:REPLY_LIMIT]


def _code(error: Exception) -> str:
    return next((code for kind, code in CODES if isinstance(error, kind)), "stream")


def _words(error: Exception, key: str | None, site: Site) -> str:
    words = hide_root(str(error), str(site.layout.root))
    return words.replace(key, "…") if key else words

"""Describe the API: /openapi.json for programs, /docs for people, with nothing loaded from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from shipmate.server.guard.error import CLIENT_PATHS, ClientRefusal, Refusal
from shipmate.server.shape import ANSWER, BODY, DESCRIBED, OR_NULL
from shipmate.values.message import JsonObject

METHODS = ("get", "post", "put", "patch", "delete")
PLACE = "#/components/schemas/{name}"
REFUSALS = (Refusal, ClientRefusal)


def describe(app: FastAPI) -> JsonObject:
    """Make the OpenAPI document once."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas: JsonObject = schema.setdefault("components", {}).setdefault("schemas", {})
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas |= msgspec.json.schema_components([*DESCRIBED.values(), *REFUSALS], ref_template=PLACE)[1]
        for path, item in schema["paths"].items():
            refusal = ClientRefusal if path.startswith(CLIENT_PATHS) else Refusal
            for operation in item.values():
                _describe_operation(operation, refusal.__name__)
        schema["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "description": "the line in .ship/token"},
        }
        schema["security"] = [{"bearer": []}]
        app.openapi_schema = schema
    return app.openapi_schema


def _describe_operation(operation: JsonObject, refusal: str) -> None:
    """Put the types of a route in: its body, its answer, and the one of every refusal at its address."""
    answers: JsonObject = operation["responses"]
    answers.pop("422", None)
    if (name := operation.pop(BODY, None)) is not None:
        operation["requestBody"] = {"required": True, "content": _content(name)}
    if (name := operation.pop(ANSWER, None)) is not None:
        good = next(status for status in answers if status.startswith("2"))
        answers[good]["content"] = _content(name, or_null=operation.pop(OR_NULL, False))
    answers["default"] = {"description": "Refused", "content": _content(refusal)}


def _content(name: str, *, or_null: bool = False) -> JsonObject:
    schema: JsonObject = {"$ref": PLACE.format(name=name)}
    return {"application/json": {"schema": {"anyOf": [schema, {"type": "null"}]} if or_null else schema}}


def render(schema: JsonObject) -> str:
    """Write the document as a plain page; no script, no outside host."""
    rows = [
        _operation(method, path, operation)
        for path, item in schema["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shipmate API</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/docs.css"></head>'
        f"<body><h1>Shipmate API {escape(schema['info']['version'])}</h1>"
        '<p>The whole description is <a href="/openapi.json">openapi.json</a>.</p>'
        f"{''.join(rows)}</body></html>"
    )


def _operation(method: str, path: str, operation: JsonObject) -> str:
    head = f'<b class="{method}">{method.upper()}</b> <code>{escape(path)}</code>'
    summary = escape(operation.get("description") or operation.get("summary", ""))
    body = "".join(_parameter(parameter) for parameter in operation.get("parameters", []))
    body += _contents("body", operation.get("requestBody", {}))
    body += "".join(_contents(status, reply) for status, reply in operation["responses"].items())
    return f"<details><summary>{head} <span>{summary}</span></summary><ul>{body}</ul></details>"


def _parameter(parameter: JsonObject) -> str:
    need = "required" if parameter.get("required") else "optional"
    return f"<li>{escape(parameter['in'])} <code>{escape(parameter['name'])}</code> {need}</li>"


def _contents(title: str, holder: JsonObject) -> str:
    kinds = [
        f"{escape(kind)} {_schema(value.get('schema', {}))}"
        for kind, value in holder.get("content", {}).items()
    ]
    return f"<li>{escape(title)}: {', '.join(kinds)}</li>" if kinds else ""


def _schema(schema: Any) -> str:
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    return f"<code>{escape(reference or str(schema.get('type', '')))}</code>"

"""What Gemini refuses, and what google-genai makes of a body or an answer of ours."""

from __future__ import annotations

import base64
import importlib
import json
import warnings
from typing import Any

with warnings.catch_warnings():
    # Its source has escapes that newer Pythons warn about when they compile it, and our warnings are fatal.
    warnings.simplefilter("ignore")
    genai: Any = importlib.import_module("google.genai")
    types: Any = importlib.import_module("google.genai.types")
    models: Any = importlib.import_module("google.genai.models")

CLIENT = genai.Client(api_key="k")
Json = dict[str, Any]
PARTS = {"text", "functionCall", "functionResponse", "inlineData"}
# What Gemini reads of JSON Schema.
KEYWORDS = {
    *("type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required"),
    "propertyOrdering",
}


def check_request(body: Json, *, is_strict: bool = True) -> None:
    """Fail where Gemini would answer 400; `is_strict` says that it wants signatures (Gemini 3 and later)."""
    assert set(body) <= {"generationConfig", "tools", "toolConfig", "systemInstruction", "contents"}
    contents = body["contents"]
    assert contents, "contents are missing"
    assert [content["role"] for content in contents] == [
        "model" if place % 2 else "user" for place in range(len(contents))
    ]
    assert contents[-1]["role"] == "user"
    for content in contents:
        assert content["parts"], "a content has no parts"
        for part in content["parts"]:
            check_part(part)
    for before, after in zip(contents, [*contents[1:], {"parts": []}], strict=True):
        check_calls(before["parts"], after["parts"], is_strict=is_strict)
    for tool in body.get("tools", []):
        names = [declared["name"] for declared in tool["functionDeclarations"]]
        assert len(set(names)) == len(names), "duplicate function declaration found; names must be unique"
        for declared in tool["functionDeclarations"]:
            check_schema(declared.get("parametersJsonSchema", {"type": "object"}), is_top=True)


def check_gemini(body: Json) -> None:
    """Fail where any Gemini would answer 400."""
    check_request(body, is_strict=False)


def check_part(part: Json) -> None:
    """Fail over a part that says nothing, or several things."""
    kinds = PARTS & set(part)
    assert len(kinds) == 1, part
    assert set(part) <= PARTS | {"thought", "thoughtSignature"}
    if "text" in part:
        assert part["text"] or part.get("thoughtSignature"), "a text is empty"
    if "inlineData" in part:
        assert base64.b64decode(part["inlineData"]["data"], validate=True)
        assert "/" in part["inlineData"]["mimeType"]
    if "functionCall" in part:
        assert isinstance(part["functionCall"]["args"], dict)


def check_calls(asked: list[Json], answered: list[Json], *, is_strict: bool) -> None:
    """Fail unless each call has its result in the turn right after it, and no other has one."""
    calls = [part["functionCall"] for part in asked if "functionCall" in part]
    results = [part["functionResponse"] for part in answered if "functionResponse" in part]
    assert [(each["id"], each["name"]) for each in calls] == [(each["id"], each["name"]) for each in results]
    assert len({each["id"] for each in calls}) == len(calls)
    assert all(isinstance(each["response"], dict) and each["response"] for each in results)
    signed = [bool(part.get("thoughtSignature")) for part in asked if "functionCall" in part]
    assert not is_strict or not signed or signed[0], "function call is missing a thought_signature"


def check_schema(schema: Any, *, is_top: bool = False) -> None:
    """Fail over a keyword that is not read, and over names that nothing has."""
    assert isinstance(schema, dict)
    assert set(schema) <= KEYWORDS, set(schema) - KEYWORDS
    assert not is_top or schema["type"] == "object"
    properties = schema.get("properties", {})
    assert set(schema.get("required", [])) <= set(properties)
    assert all(isinstance(each, str | int | float) for each in schema.get("enum", [""]))
    assert schema.get("enum", [""]) != []
    for inner in [*properties.values(), *schema.get("anyOf", []), *schema.get("prefixItems", [])]:
        check_schema(inner)
    for key in ("items", "additionalProperties"):
        if not isinstance(schema.get(key, True), bool):
            check_schema(schema[key])


def send_through_sdk(body: Json, model: str) -> Json:
    """Return the body that google-genai sends when it is asked for the same."""
    config: Json = dict(body.get("generationConfig", {}))
    for key in ("tools", "systemInstruction"):
        if key in body:
            config[key] = body[key]
    asked = types._GenerateContentParameters(
        model=model,
        contents=[types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]],
        config=types.GenerateContentConfig.model_validate(config),
    )
    made: Json = models._GenerateContentParameters_to_mldev(CLIENT._api_client, asked)
    made.pop("_url")
    return _plain(made)


def read_through_sdk(chunk: Json) -> Any:
    """Return a chunk of an answer as google-genai parses it."""
    made = models._GenerateContentResponse_from_mldev(chunk)
    return types.GenerateContentResponse._from_response(response=made, kwargs={})


def _plain(value: Any) -> Any:
    """Return plain JSON; bytes as base64, enumerations as their names."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(exclude_none=True, by_alias=True))
    return getattr(value, "value", value)

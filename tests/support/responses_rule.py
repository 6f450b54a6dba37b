"""What OpenAI's Responses API refuses, written down from its documentation and its error messages."""

from __future__ import annotations

import base64
import re
from typing import Any

from tests.support.anthropic_rule import MAGIC

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check_responses(body: dict[str, Any]) -> None:
    """Fail with what the API would say."""
    assert len(body.get("prompt_cache_key", "x")) <= 64, "prompt_cache_key: string too long"
    assert body.get("max_output_tokens", 16) >= 16, "max_output_tokens: integer below minimum value"
    names = [tool["name"] for tool in body.get("tools", [])]
    assert len(names) == len(set(names)), "tools: names must be unique"
    for tool in body.get("tools", []):
        assert NAME.fullmatch(tool["name"]), "tools.name: string does not match pattern"
        schema = tool["parameters"]
        assert schema["type"] == "object", "schema must be of type object"
        assert "properties" in schema, "object schema missing properties"
        refused = {"anyOf", "oneOf", "allOf", "enum", "not"} & set(schema)
        assert not refused, "schema must not have 'oneOf'/'anyOf' at the top level"
    assert body["input"], "input: array too short"
    _check_items(body["input"])


def _check_items(items: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    calls: set[str] = set()
    for place, item in enumerate(items):
        kind = item.get("type", "message")
        if kind not in ("function_call_output", "function_call"):
            follows = kind == "reasoning" or item["role"] == "assistant"
            assert not open_calls or follows, "No tool output found for function call"
        match kind:
            case "function_call":
                assert item["call_id"] not in calls, "Duplicate item"
                assert 0 < len(item["call_id"]) <= 64, "call_id: string too long"
                assert NAME.fullmatch(item["name"]), "name: string does not match pattern"
                assert isinstance(item["arguments"], str)
                assert item.get("id", "fc_").startswith("fc_"), (
                    "Invalid 'id': expected an ID that begins with 'fc'"
                )
                calls.add(item["call_id"])
                open_calls.append(item["call_id"])
            case "function_call_output":
                assert item["call_id"] in open_calls, "No tool call found for function call output"
                open_calls.remove(item["call_id"])
            case "reasoning":
                _check_reasoning(item, items[place + 1] if place + 1 < len(items) else {})
            case _:
                _check_message(item)
    assert not open_calls, "No tool output found for function call"


def _check_reasoning(item: dict[str, Any], follower: dict[str, Any]) -> None:
    assert item["id"].startswith("rs_"), "Invalid 'id': expected an ID that begins with 'rs'"
    assert item.get("encrypted_content") or item.get("content"), "Item not found: items are not persisted"
    leads = follower.get("type") in ("reasoning", "function_call") or follower.get("role") == "assistant"
    assert leads, "reasoning was provided without its required following item"


def _check_message(item: dict[str, Any]) -> None:
    assert "id" not in item or item["id"].startswith("msg_")
    if item["role"] == "assistant":
        assert item["content"].strip()
        return
    assert item["role"] in ("user", "system", "developer")
    assert item["content"]
    if isinstance(item["content"], str):
        return
    for part in item["content"]:
        match part["type"]:
            case "input_text":
                assert part["text"].strip()
            case "input_image":
                _check_data(part["image_url"], "image/")
            case "input_file":
                assert part["filename"].strip(), "filename: missing"
                _check_data(part["file_data"], "application/pdf")
            case kind:
                raise AssertionError(f"Invalid value: {kind!r}")


def _check_data(url: str, kind: str) -> None:
    head, _, data = url.partition(";base64,")
    media_type = head.removeprefix("data:")
    assert media_type.startswith(kind), "unsupported file"
    assert media_type in MAGIC, "unsupported image"
    assert base64.b64decode(data, validate=True).startswith(MAGIC[media_type]), "The image data is not valid"

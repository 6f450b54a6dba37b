"""What Anthropic's Messages API refuses, written down from its documentation and its error messages."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from typing import Any

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
USER = ("text", "image", "document", "tool_result")
ASSISTANT = ("text", "thinking", "redacted_thinking", "tool_use")
THINKING = ("thinking", "redacted_thinking")
MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}


def check_anthropic(body: dict[str, Any]) -> None:
    """Fail with what the API would say."""
    assert len(json.dumps(body)) < 32 * 1024 * 1024, "request_too_large"
    assert body["max_tokens"] > 0, "max_tokens: must be at least 1"
    assert str(body).count("'cache_control'") <= 4, "a maximum of 4 blocks with cache_control may be provided"
    for stop in body.get("stop_sequences", []):
        assert stop.strip(), "stop_sequences: each stop sequence must contain non-whitespace"
    for block in _blocks(body.get("system", [])):
        assert block["text"].strip(), "system: text content blocks must be non-empty"
    _check_tools(body.get("tools", []))
    messages = [{**message, "content": _blocks(message["content"])} for message in body["messages"]]
    used = any(block["type"] == "tool_use" for message in messages for block in message["content"])
    assert body.get("tools") or not used, "Requests which include tool_use blocks must define tools."
    _check_turns(messages)
    _check_calls(messages)
    _check_thinking({**body, "messages": messages})


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_tools(tools: list[dict[str, Any]]) -> None:
    names = [tool["name"] for tool in tools]
    assert len(names) == len(set(names)), "tools: Tool names must be unique."
    for tool in tools:
        assert NAME.fullmatch(tool["name"]), "tools.name: String should match pattern"
        schema = tool["input_schema"]
        assert schema["type"] == "object", "tools.input_schema.type: Field required"
        assert not {"anyOf", "oneOf", "allOf"} & set(schema), "input_schema does not support oneOf at the top"


def _check_turns(messages: list[dict[str, Any]]) -> None:
    assert messages, "messages: at least one message is required"
    roles = [message["role"] for message in messages]
    assert roles[0] == "user", "messages: first message must use the user role"
    assert all(one != other for one, other in pairwise(roles)), "roles must alternate"
    assert roles[-1] == "user", "This model does not support assistant message prefill."
    for message in messages:
        assert message["content"], "all messages must have non-empty content"
        for block in message["content"]:
            allowed = USER if message["role"] == "user" else ASSISTANT
            assert block["type"] in allowed, f"{block['type']} is not allowed in {message['role']}"
            _check_block(block)


def _check_block(block: dict[str, Any]) -> None:
    match block["type"]:
        case "text":
            assert block["text"].strip(), "text content blocks must contain non-whitespace text"
        case "tool_result":
            assert block["content"], "tool_result: content cannot be empty if is_error is true"
        case "image" | "document":
            source = block["source"]
            assert source["media_type"] in MAGIC, "media_type: Input should be 'image/jpeg', …"
            data = base64.b64decode(source["data"], validate=True)
            assert data.startswith(MAGIC[source["media_type"]]), "does not match the provided media type"
            assert block["type"] == "document" or len(source["data"]) <= 5 * 1024 * 1024, "image exceeds 5 MB"
            assert block.get("title", "x").strip(), "title: must not be empty"
        case _:
            pass


def _check_calls(messages: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    asked: list[str] = []
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user":
            results = kinds.count("tool_result")
            assert kinds[:results] == ["tool_result"] * results, "tool_result blocks must come first"
            answered = [block["tool_use_id"] for block in message["content"][:results]]
            assert sorted(answered) == sorted(asked), "tool_use ids were found without tool_result blocks"
            continue
        asked = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        for block in message["content"]:
            if block["type"] == "tool_use":
                assert ID.fullmatch(block["id"]), "tool_use.id: String should match pattern"
                assert block["id"] not in seen, "`tool_use` ids must be unique"
                assert NAME.fullmatch(block["name"]), "tool_use.name: String should match pattern"
                assert isinstance(block["input"], dict), "tool_use.input: Input should be a valid dictionary"
                seen.add(block["id"])
    assert not set(asked) - seen


def _check_thinking(body: dict[str, Any]) -> None:
    thinking = body.get("thinking", {"type": "none"})
    messages = body["messages"]
    answers = [message["content"] for message in messages if message["role"] == "assistant"]
    for content in answers:
        assert content[-1]["type"] not in THINKING, (
            "The final block in an assistant message cannot be `thinking`"
        )
        for block in content:
            if block["type"] in THINKING:
                signed = block.get("signature") or block.get("data")
                assert signed, "Invalid `signature` in `thinking` block"
    if thinking["type"] == "enabled":
        assert 1024 <= thinking["budget_tokens"] < body["max_tokens"], (
            "budget_tokens: must be less than max_tokens"
        )
        assert body.get("temperature", 1) == 1, "`temperature` may only be set to 1 when thinking is enabled"
        began = _loop(messages)
        assert not began or began[0]["content"][0]["type"] in THINKING, (
            "Expected `thinking`, but found `tool_use`"
        )
    if thinking["type"] == "disabled" and answers:
        held = {block["type"] for block in answers[-1]}
        assert not held & set(THINKING), (
            "When `thinking` is disabled, a final message cannot contain `thinking`"
        )


def _loop(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers of the turn whose calls are being answered, none when a person has spoken since."""
    loop: list[dict[str, Any]] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            loop.insert(0, message)
        elif message["content"][0]["type"] != "tool_result":
            break
    return loop if messages[-1]["content"][0]["type"] == "tool_result" else []

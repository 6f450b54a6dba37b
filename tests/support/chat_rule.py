"""What OpenAI's Chat protocol refuses, and what some of the servers that speak it refuse beyond that."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

Json = dict[str, Any]
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


def check_chat(body: Json, *, is_strict: bool = True) -> None:
    """Fail where a server would answer 400; `is_strict` adds what only some of them refuse."""
    messages = body["messages"]
    assert messages, "messages are missing"
    assert all(message["role"] != "system" for message in messages[1:]), "a system text stands further down"
    for message in messages:
        _check_message(message)
    _check_calls(messages)
    if is_strict:
        _check_turns(messages)
    assert body.get("tools") != [], "tools are empty"
    for tool in body.get("tools", []):
        assert NAME.fullmatch(tool["function"]["name"])
        assert tool["function"]["parameters"]["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "enum", "not"} & set(tool["function"]["parameters"])


def _check_message(message: Json) -> None:
    role, content = message["role"], message["content"]
    if role == "assistant":
        assert content is None or (isinstance(content, str) and content.strip()), "an answer is blank"
        assert content is not None or message.get("tool_calls"), "an answer holds nothing"
        assert message.get("tool_calls") != []
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict), "arguments are no object"
            assert NAME.fullmatch(call["function"]["name"])
            assert CALL_ID.fullmatch(call["id"])
    elif role == "user" and isinstance(content, list):
        assert content, "a message has no parts"
        for part in content:
            _check_part(part)
    else:
        assert isinstance(content, str)
        assert content.strip(), "a message is blank"


def _check_part(part: Json) -> None:
    if part["type"] == "text":
        assert part["text"].strip(), "a text is blank"
    elif part["type"] == "image_url":
        assert PICTURE.fullmatch(part["image_url"]["url"]), "a picture is none"
    else:
        if part["type"] == "input_audio":
            assert part["input_audio"]["format"] in ("wav", "mp3")
            assert part["input_audio"]["data"], "a recording is none"
            return
        assert part["type"] == "file"
        assert part["file"]["filename"]
        assert part["file"]["file_data"].startswith("data:application/pdf;base64,")


def _check_calls(messages: list[Json]) -> None:
    """Fail unless every call is answered once, right behind it and in some order, and nothing else is."""
    open_calls: set[str] = set()
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls, "a result answers no call"
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls, "a call is not answered"
        ids = [call["id"] for call in message.get("tool_calls") or []]
        assert len(set(ids)) == len(ids)
        assert not seen & set(ids), "an id was used before"
        seen |= set(ids)
        open_calls = set(ids)
    assert not open_calls, "a call is not answered"


def _check_turns(messages: list[Json]) -> None:
    """Fail unless sides take turns, as the templates of many local models want it."""
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert roles[0] == "user"
    assert roles[-1] in ("user", "tool")
    for before, after in pairwise(roles):
        allowed = {
            "user": {"assistant"},
            "assistant": {"user", "tool"},
            "tool": {"tool", "user", "assistant"},
        }
        assert after in allowed[before], f"{after} follows {before}"

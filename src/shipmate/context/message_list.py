"""Join what a person said in a row: providers take turns, and some refuse two words of one side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shipmate.values.message import JsonObject


def join_prompts(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """Return messages in which neighbours of role `user` are one; those given stay as they are."""
    joined: list[JsonObject] = []
    for message in messages:
        last = joined[-1] if joined else {}
        if message.get("role") == "user" and last.get("role") == "user":
            joined[-1] = {**last, "content": _join(last.get("content"), message.get("content"))}
        else:
            joined.append(message)
    return joined


def _join(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}" if first and second else first or second
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []

"""Mend the openai SDK's slow parameter transform.

Before each request the SDK walks every message against its type hints, about 0.3 ms per message on the event
loop, to rename aliased keys and drop omitted values. Messages and tools have neither: pydantic-ai gives them
as plain JSON. So they bypass the walk, and everything else in the request still goes through it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

Transform = Callable[[object, object], Awaitable[Any]]

PLAIN = (str, int, float, bool, type(None))
NAME = "async_maybe_transform"


def mend_openai_transform() -> None:
    """Put the shortcut in front of the SDK's transform, once, for Chat and for Responses."""
    from openai.resources.chat.completions import completions
    from openai.resources.responses import responses
    from openai.types.chat import completion_create_params
    from openai.types.responses import response_create_params

    _mend(completions, completion_create_params.CompletionCreateParamsStreaming, {"messages", "tools"})
    _mend(responses, response_create_params.ResponseCreateParamsStreaming, {"input", "tools"})


def _mend(module: ModuleType, expected: object, keys: set[str]) -> None:
    original: Transform = getattr(module, NAME)
    if hasattr(original, "mended"):
        return

    async def transform(data: object, expected_type: object) -> Any:
        if expected_type is not expected or not isinstance(data, dict):
            return await original(data, expected_type)
        bulk = {key: data[key] for key in keys if key in data and is_plain(data[key])}
        rest = await original({key: data[key] for key in data if key not in bulk}, expected_type)
        # In the order of the request, so that the body is the same byte for byte.
        return {key: bulk[key] if key in bulk else rest[key] for key in data if key in bulk or key in rest}

    transform.__dict__["mended"] = original
    setattr(module, NAME, transform)


def is_plain(value: object) -> bool:
    """Return whether a value is made of JSON only, so that there is nothing to transform in it."""
    if isinstance(value, PLAIN):
        return True
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return isinstance(value, list) and all(map(is_plain, value))

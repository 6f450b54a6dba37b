"""Speak to /v1 as a program does, without a client's help."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec

from tests.support.server import Served

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a town.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
PATH = "/v1/chat/completions"


def said(text: str, **more: Any) -> dict[str, Any]:
    """Make a user's message."""
    return {"role": "user", "content": text, **more}


async def ask(
    served: Served, *messages: dict[str, Any], key: str | None = None, **more: Any
) -> httpx2.Response:
    """Send messages and return the whole response."""
    headers = {} if key is None else {"idempotency-key": key}
    headers |= more.pop("headers", {})
    return await served.client.post(PATH, json={"messages": list(messages), **more}, headers=headers)


def words(response: httpx2.Response) -> str:
    """Return what an answer says."""
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]["content"]


def events(response: httpx2.Response) -> list[Any]:
    """Return the events of a stream, the last of them "[DONE]" where it ended well."""
    lines = [line.removeprefix("data: ") for line in response.text.split("\n") if line.startswith("data: ")]
    return [line if line == "[DONE]" else msgspec.json.decode(line) for line in lines]


def problem(response: httpx2.Response) -> dict[str, Any]:
    """Return an error, which has OpenAI's shape whatever it is about."""
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}, error
    assert isinstance(error["message"], str)
    assert error["message"]
    return error

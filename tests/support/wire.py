"""Speak the chat protocol plainly: send what a client sends, read the chunks that come back."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import msgspec

from shipmate.values.message import JsonObject
from tests.support.server import Served
from tests.support.wait import LONG


def user(message_id: str, text: str) -> JsonObject:
    """Make a user message as `useChat` sends it."""
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def answer(message: JsonObject, approved: Any, reason: str | None = None) -> JsonObject:
    """Answer every waiting approval of an assistant message, as a client does."""
    parts: list[JsonObject] = []
    for part in message["parts"]:
        if part.get("state") == "approval-requested":
            approval: JsonObject = {"id": part["approval"]["id"], "approved": approved}
            if reason is not None:
                approval["reason"] = reason
            part = {**part, "state": "approval-responded", "approval": approval}
        parts.append(part)
    return {**message, "parts": parts}


def read_chunks(text: str) -> list[JsonObject]:
    """Read a whole stream; it must end as the protocol says."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [msgspec.json.decode(line) for line in lines[:-1]]


async def chat(
    client: httpx2.AsyncClient, thread: str, *messages: JsonObject, **extra: Any
) -> list[JsonObject]:
    """Post messages and read the stream to its end."""
    response = await client.post("/api/chat", json={"id": thread, "messages": list(messages), **extra})
    assert response.status_code == 200, response.text
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert response.headers["content-type"].startswith("text/event-stream")
    return read_chunks(response.text)


async def messages(client: httpx2.AsyncClient, thread: str) -> list[JsonObject]:
    """Read the stored messages of a thread."""
    response = await client.get(f"/api/threads/{thread}/messages")
    assert response.status_code == 200, response.text
    return response.json()["messages"]


def said(chunks: list[JsonObject]) -> str:
    """Join the words of a stream."""
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


def kinds(chunks: list[JsonObject]) -> list[str]:
    """List the types of chunks."""
    return [chunk["type"] for chunk in chunks]


async def running(served: Served, thread: str) -> None:
    """Wait until a run of the thread has said something."""
    ship = await served.ship()
    async with asyncio.timeout(LONG), ship.keeper.watch(f"web:room:{thread}") as queue:
        while (chunk := (await queue.get()).chunk) is None or chunk["type"] != "text-delta":
            pass


async def queued(served: Served, thread: str, count: int) -> list[JsonObject]:
    """Wait until so many messages wait for their turn; give them."""
    queue: list[JsonObject] = []
    async with asyncio.timeout(LONG):
        while len(queue) < count:
            queue = (await served.client.get(f"/api/threads/{thread}/queue")).json()["queue"]
    return queue

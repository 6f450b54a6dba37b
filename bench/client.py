"""Stream answers of a model over HTTP through the wire, beside the openai SDK."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bench.turn import provider
from shipmate.models.port import ModelRequest, ToolSpec
from shipmate.models.relay import relay
from shipmate.models.wire.chat.chat import ChatWire
from shipmate.models.wire.model import WireModel
from shipmate.models.wire.model_endpoint import Endpoint
from shipmate.models.wire.wire import WireSettings
from shipmate.values.message import UIMessage, user_message

ROUNDS = 150
IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def measure() -> list[dict[str, Any]]:
    """Time the CPU of one process for a short answer, after 0 and 200 messages."""
    with provider() as url:
        rows = asyncio.run(_measure(url))
    for name in ("httpcore2", "openai"):
        done = subprocess.run(
            [sys.executable, "-c", IMPORT.format(name)], capture_output=True, text=True, check=True
        )
        rows.append({"name": f"import of {name}, CPU", "value": float(done.stdout) * 1000, "unit": "ms"})
    return rows


async def _measure(url: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for length in (0, 200):
        wire, sdk = await _compare(f"{url}/v1", length)
        rows.append({"name": f"wire, {length} messages, CPU", "value": wire, "unit": "ms"})
        rows.append({"name": f"openai SDK, {length} messages, CPU", "value": sdk, "unit": "ms"})
    return rows


async def _compare(url: str, length: int) -> tuple[float, float]:
    from openai import AsyncOpenAI

    messages = _make_messages(length)
    tool = ToolSpec("read", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
    request = ModelRequest(system="Be brief.", messages=messages, tools=(tool,))
    settings = WireSettings(provider="openai", model="m")
    model = WireModel(ChatWire(), settings, Endpoint(base_url=url, key="k"))
    client = AsyncOpenAI(api_key="k", base_url=url)
    body: Any = msgspec.json.decode(model.write_body(request))

    async def ask_wire() -> None:
        async for _ in relay(model, request):
            pass

    async def ask_sdk() -> None:
        async for _ in await client.chat.completions.create(**body):
            pass

    try:
        return await _spend(ask_wire), await _spend(ask_sdk)
    finally:
        await model.close()
        await client.close()


async def _spend(ask: Callable[[], Awaitable[None]]) -> float:
    for _ in range(10):
        await ask()
    began = time.process_time()
    for _ in range(ROUNDS):
        await ask()
    return (time.process_time() - began) * 1000 / ROUNDS


def _make_messages(length: int) -> list[UIMessage]:
    found: list[UIMessage] = []
    for number in range(length // 2):
        found.append(user_message(f"u{number}", f"Question {number}, at some length."))
        parts = [{"type": "text", "text": f"Answer {number}, at some more length than that."}]
        found.append({"id": f"a{number}", "role": "assistant", "parts": parts})
    return [*found, user_message("last", "And now?")]

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

import pytest
from openai.resources.chat.completions import completions
from openai.resources.responses import responses

from shipmate.models.provider.openai_transform import NAME, is_plain, mend_openai_transform
from shipmate.values.message import UIMessage, user_message
from tests.models.provider.test_provider import representative_thread
from tests.support.provider_case import ask, collect, connect
from tests.support.provider_server import ProviderServer

MODULES: dict[str, tuple[ModuleType, str]] = {
    "chat": (completions, "messages"),
    "responses": (responses, "input"),
}
each_protocol = pytest.mark.parametrize("protocol", list(MODULES))


@pytest.fixture
async def server() -> AsyncIterator[ProviderServer]:
    async with ProviderServer() as server:
        yield server


def original(module: ModuleType) -> Any:
    """Give the SDK's own transform, which the mended one holds on to."""
    mend_openai_transform()
    return getattr(module, NAME).mended


@each_protocol
async def test_the_wire_body_is_the_same(
    protocol: str, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = MODULES[protocol]
    async with connect(protocol, server, temperature=0.5) as model:
        await collect(model, ask(*representative_thread()))
        monkeypatch.setattr(module, NAME, original(module))
        await collect(model, ask(*representative_thread()))
    mended, unmended = (json.dumps(request.body) for request in server.requests)
    assert mended == unmended


@each_protocol
async def test_messages_do_not_pass_through_the_slow_walk(
    protocol: str, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, key = MODULES[protocol]
    walked: list[set[str]] = []
    slow = original(module)

    async def watch(data: dict[str, Any], expected: object) -> Any:
        walked.append(set(data))
        return await slow(data, expected)

    # Mend anew, around a transform that notes what it is given.
    monkeypatch.setattr(module, NAME, watch)
    mend_openai_transform()
    async with connect(protocol, server) as model:
        await collect(model, ask(*representative_thread()))
    assert len(walked) == 1, "the SDK no longer calls the function that is mended"
    assert not {key, "tools"} & walked[0]
    assert "model" in walked[0]
    assert len(server.requests[0].body[key]) > 5


@each_protocol
async def test_a_long_history_is_sent_quickly(protocol: str, server: ProviderServer) -> None:
    turns: list[UIMessage] = []
    for number in range(200):
        said: UIMessage = {
            "id": f"a{number}",
            "role": "assistant",
            "parts": [{"type": "text", "text": "Yes."}],
        }
        turns += [user_message(f"u{number}", "Well?"), said]
    request = ask(*turns, user_message("last", "And now?"))
    async with connect(protocol, server) as model:
        await collect(model, request)
        spent: list[float] = []
        for _ in range(3):
            started = time.process_time()
            await collect(model, request)
            spent.append(time.process_time() - started)
    # Unmended, 400 messages cost 130 ms and more; the server of this test runs in the same process.
    assert min(spent) < 0.08


def test_only_plain_json_takes_the_short_way() -> None:
    assert is_plain([{"a": [1, 2.5, None, True, "x"]}])
    assert not is_plain([{"a": object()}])
    assert not is_plain(iter([1]))

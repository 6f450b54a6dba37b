"""The real AI SDK clients, v6 and v7, in node: what they hold is what is stored, and every row is valid."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.node import node_command
from tests.support.script import COUNT
from tests.support.server import Served

pytestmark = pytest.mark.node


@pytest.mark.parametrize("version", ["6", "7"])
async def test_the_client_holds_what_is_stored(served: Served, version: str) -> None:
    results = await run_client(served, version)
    assert {name: result["error"] for name, result in results.items() if "error" in result} == {}
    threads = {name: result["messages"] for name, result in results.items()}
    assert states(threads["tool"]) == ["output-available", "output-available"]
    assert states(threads["badTool"]) == ["output-error", "output-error"]
    assert states(threads["approve"]) == ["output-available"]
    assert states(threads["deny"]) == ["output-denied"]
    assert states(threads["approveTwo"]) == ["output-available", "output-denied"]
    assert states(threads["moveOn"]) == ["approval-requested"]
    assert f" {COUNT} " not in said(threads["stop"])
    counted = "".join(f"{number} " for number in range(1, COUNT + 1))
    assert said(threads["leaveAndResume"]) == counted
    assert said(threads["queue"]) == counted
    for name in (
        "resumeAfterApproval",
        "cutConnection",
        "cutAfterApproval",
        "repeatWhileRunning",
        "twoClients",
    ):
        assert said(threads[name]) == counted, name
    assert states(threads["decideAndGoOn"]) == ["output-denied", "approval-requested"]
    assert states(threads["decideLate"]) == ["output-available"]
    assert [message["role"] for message in threads["retryNamed"]] == ["user", *["assistant"] * 3]
    assert [message["role"] for message in threads["retry"]] == ["user", "assistant", "assistant"]
    assert threads["image"][0]["parts"][0]["filename"] == "dot.png"
    assert any(part["type"] == "data-error" for part in threads["failure"][1]["parts"])


async def run_client(served: Served, version: str) -> dict[str, Any]:
    node, folder = node_command()
    process = await asyncio.create_subprocess_exec(
        node,
        "client.mjs",
        version,
        served.address,
        served.site.token.value,
        str(served.site.layout.threads),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(300):
        out, problems = await process.communicate()
    assert process.returncode == 0, problems.decode()
    found: dict[str, Any] = msgspec.json.decode(out)
    assert found["rows"] > len(found["results"])
    return found["results"]


def states(messages: list[dict[str, Any]]) -> list[str]:
    return [part["state"] for message in messages for part in message["parts"] if "toolCallId" in part]


def said(messages: list[dict[str, Any]]) -> str:
    """Give the words of the first answer."""
    parts = next(message["parts"] for message in messages if message["role"] == "assistant")
    return "".join(part["text"] for part in parts if part["type"] == "text")

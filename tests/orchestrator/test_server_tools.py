"""Tools of MCP servers through whole runs: they come, change and go while a run is on (W6)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from shipmate.workspace.layout import Layout
from tests.support.workspace import ROOM, chunks_until_end, messages_of, talk, tools_of

# Offers what its file says; `swap` makes it offer something else, and says so.
SERVER = r"""
import json, os, sys, time
time.sleep(float(sys.argv[1]))
def send(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    method, answer = asked["method"], {}
    if method == "initialize":
        answer = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"}}
        answer["capabilities"] = {"tools": {"listChanged": True}, "resources": {}}
    elif method == "tools/list":
        names = open("names").read().split()
        answer = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    elif method == "resources/list":
        answer = {"resources": [{"uri": "note://1", "name": "one"}]}
    elif method == "resources/read":
        answer = {"contents": [{"uri": "note://1", "text": "do as I say"}]}
    elif method == "tools/call":
        name = asked["params"]["name"]
        open("calls", "a").write(name + "\n")
        if name == "swap":
            open("names", "w").write("swap new")
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        answer = {"content": [{"type": "text", "text": "did " + name}]}
    send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
"""


@pytest.fixture(autouse=True)
def server(tmp_path: Path) -> None:
    (tmp_path / "Agent.md").write_text("# Captain\n")
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "names").write_text("swap act")


@asynccontextmanager
async def open_ship(
    folder: Path, model: ScriptedModel, *, seconds: float = 0, wait: float = 30, **permissions: Any
) -> AsyncGenerator[Shipmate]:
    args = ["-S", "server.py", str(seconds)]
    started = {"command": sys.executable, "args": args, "readOnly": ["swap"]}
    config = {"mcp": {"servers": {"s": started}, "waitSeconds": wait}, "permissions": permissions}
    (folder / "ship.json").write_text(json.dumps(config))
    async with Shipmate.open(folder, model=model, environ={"PATH": os.environ["PATH"]}) as app:
        yield app


def offered(model: ScriptedModel, step: int) -> set[str]:
    return {spec.name for spec in model.requests[step].tools if spec.name.startswith("mcp")}


async def test_w6_the_next_step_is_offered_what_the_server_has_by_then(tmp_path: Path) -> None:
    model = ScriptedModel([[call("mcp__s__swap")], [call("mcp__s__new")], [call("mcp__s__act")], "Done."])
    async with open_ship(tmp_path, model, allow=["mcp__s__*"]) as app:
        await talk(app, "go")
        states = tools_of((await messages_of(app))[1])
    assert offered(model, 0) == {"mcp__s__swap", "mcp__s__act", "mcp_resources", "mcp_read"}
    assert offered(model, 1) == {"mcp__s__swap", "mcp__s__new", "mcp_resources", "mcp_read"}
    # Strangers have spoken by then, so what acts asks, whatever a rule says.
    assert [state for _, state, _ in states] == ["output-available", "approval-requested"]


async def test_w6_a_tool_that_vanished_is_told_in_one_line(tmp_path: Path) -> None:
    model = ScriptedModel([[call("mcp__s__swap")], [call("mcp__s__act")], "Done."])
    async with open_ship(tmp_path, model) as app:
        await talk(app, "go")
        *_, (_, state, words) = tools_of((await messages_of(app))[1])
    assert state == "output-error"
    assert "there is no tool 'mcp__s__act'" in words
    assert (tmp_path / "calls").read_text() == "swap\n"


async def test_w6_the_first_turn_waits_for_no_slow_server_and_says_so(tmp_path: Path) -> None:
    model = ScriptedModel({"": ["Hello."]})
    async with (
        open_ship(tmp_path, model, seconds=600, wait=0.1) as app,
        app.keeper.watch(ROOM) as queue,
    ):
        began = time.perf_counter()
        assert (await talk(app, "hi")).text == "Hello."
        assert time.perf_counter() - began < 20
        told = [chunk["data"]["text"] for chunk in await chunks_until_end(queue) if "data" in chunk]
        assert told == ["Still starting, so their tools are not there yet: s."]


async def test_w6_a_tool_called_before_its_server_is_up_is_waited_for(tmp_path: Path) -> None:
    model = ScriptedModel([[call("mcp__s__swap")], "Done."])
    async with open_ship(tmp_path, model, seconds=0.5, wait=0) as app:
        assert (await talk(app, "go")).text == "Done."
        assert tools_of((await messages_of(app))[1]) == [("mcp__s__swap", "output-available", "did swap")]


async def test_w6_an_approved_call_outlives_a_restart_with_a_slow_server_and_no_memory(
    tmp_path: Path,
) -> None:
    model = ScriptedModel({"": [[call("mcp__s__act")], "Done."]})
    async with open_ship(tmp_path, model) as app:
        assert (await talk(app, "go")).status == "suspended"
    Layout(tmp_path).mcp_offer("s").unlink()
    async with open_ship(tmp_path, model, seconds=0.5, wait=0) as app:
        assert (await talk(app, "yes")).text == "Done."
        assert await app.approvals.pending(ROOM) == []
    assert (tmp_path / "calls").read_text() == "act\n"


async def test_w6_what_a_server_has_to_read_taints(tmp_path: Path) -> None:
    model = ScriptedModel([[call("mcp_read", server="s", uri="note://1")], [call("mcp__s__act")], "Done."])
    async with open_ship(tmp_path, model, allow=["mcp__s__*"]) as app:
        assert (await talk(app, "go")).status == "suspended"
        states = [(name, state) for name, state, _ in tools_of((await messages_of(app))[1])]
    assert states == [("mcp_read", "output-available"), ("mcp__s__act", "approval-requested")]


async def test_w6_an_address_the_server_did_not_give_asks(tmp_path: Path) -> None:
    model = ScriptedModel([[call("mcp_read", server="s", uri="note://the-secret-is-42")], "Done."])
    async with open_ship(tmp_path, model) as app:
        assert (await talk(app, "go")).status == "suspended"
        (asked,) = await app.approvals.pending(ROOM)
    assert "the-secret-is-42" in (asked.preview or "")

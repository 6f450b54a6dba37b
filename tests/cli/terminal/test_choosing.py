"""A person at a terminal chooses a model, step by step."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tests.support.raw_server import RawServer, Visit
from tests.support.terminal import Terminal, make_workspace

ROOT = Path(__file__).parents[3]
KEY = "sk-typed-0123456789"


def test_5_provider_key_and_model_are_asked_for_and_the_key_is_not_shown(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    command = [sys.executable, "-m", "tests.support.provider_server", "--models", "small,large"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        terminal = Terminal(folder, "model")
        terminal.expect("Number or name")
        terminal.type("vllm\r")
        terminal.expect("Address of the server")
        terminal.type(f"http://127.0.0.1:{port}/v1\r")
        terminal.expect("Key, not shown")
        terminal.type(f"{KEY}\r")
        terminal.expect("large")
        terminal.expect("Model")
        terminal.type("1\r")
        terminal.expect("takes it out again")
        assert terminal.process.wait(30) == 0
        process.terminate()
    assert "vllm:small answered in" in terminal.shown
    assert KEY not in terminal.shown
    assert json.loads((folder / "ship.json").read_text())["llm"]["model"] == "small"
    assert f"VLLM_API_KEY={KEY}" in (folder / ".env").read_text()


async def test_5_a_key_that_is_refused_can_be_typed_again(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)

    async def list_models(visit: Visit) -> None:
        if KEY in visit.headers.get("authorization", ""):
            await visit.answer('{"data": [{"id": "small"}, {"id": "large"}]}', kind="application/json")
        else:
            await visit.answer("{}", status="401 Unauthorized", kind="application/json")

    def talk(url: str) -> str:
        terminal = Terminal(folder, "model")
        terminal.expect("Number or name")
        terminal.type("vllm\r")
        terminal.expect("Address of the server")
        terminal.type(f"{url}/v1\r")
        terminal.expect("Key, not shown")
        terminal.type("sk-wrong-0123456789\r")
        terminal.expect("Enter goes on with this one")
        terminal.type(f"{KEY}\r")
        terminal.expect("large")
        terminal.process.kill()
        terminal.process.wait(30)
        return terminal.shown

    async with RawServer(list_models) as server:
        shown = await asyncio.to_thread(talk, server.url)
    assert "refused the key (401)" in shown
    assert "sk-wrong" not in shown
    assert not (folder / ".env").exists()

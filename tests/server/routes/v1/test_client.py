"""Programs of others against a real `shipmate serve` with a model behind HTTP: `llm`, and aider on demand.

aider brings 700 MB along, so its test runs with `SHIPMATE_PROGRAMS=1` alone; `make proof` sets it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.foreign_program import install, run
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse, say
from tests.support.serve_process import Process, shipmate
from tests.support.server import make_workspace

LLM = "0.36"
AIDER = "0.86.2"
pytestmark = pytest.mark.crash


@asynccontextmanager
async def crew(folder: Path) -> AsyncGenerator[tuple[Process, ProviderServer]]:
    """Serve a workspace whose model is a loopback server."""
    async with ProviderServer() as models:
        folder.mkdir()
        make_workspace(folder)
        llm = {
            "provider": "openai",
            "model": "m",
            "apiKey": "k",
            "baseUrl": f"{models.url}/v1",
            "maxRetries": 0,
        }
        (folder / "ship.json").write_bytes(msgspec.json.encode({"llm": llm}))
        async with shipmate(folder) as served:
            yield served, models


def seen(models: ProviderServer) -> str:
    """Return what the model was sent last."""
    return msgspec.json.encode(models.requests[-1].body["messages"]).decode()


async def test_w5_llm_goes_on_with_its_own_history(tmp_path: Path) -> None:
    python = install("llm", LLM)
    async with crew(tmp_path / "ws") as (served, models):
        settings = tmp_path / "llm"
        settings.mkdir()
        model: dict[str, Any] = {
            "model_id": "mate",
            "model_name": "captain",
            "api_base": f"{served.address}/v1",
            "api_key_name": "mate",
            "supports_tools": True,
        }
        # JSON is YAML.
        (settings / "extra-openai-models.yaml").write_bytes(msgspec.json.encode([model]))
        (settings / "keys.json").write_bytes(msgspec.json.encode({"mate": served.token}))

        async def llm(*words: str) -> tuple[int, str]:
            return await run(python, "llm", *words, folder=tmp_path, environ={"LLM_USER_PATH": str(settings)})

        models.script(say("Pim, hello."))
        assert await llm("-m", "mate", "-s", "Be a parrot.", "My name is Pim.") == (0, "Pim, hello.\n")
        models.script(say("You are Pim."))
        assert await llm("-c", "What is my name?") == (0, "You are Pim.\n")
        for text in ("Be a parrot.", "My name is Pim.", "Pim, hello.", "What is my name?"):
            assert seen(models).count(text) == 1, text
        assert "Pim" not in msgspec.json.encode(models.requests[-1].body["messages"][0]).decode()
        models.script(say("Whole."))
        assert await llm("-m", "mate", "--no-stream", "-o", "temperature", "0.5", "hm") == (0, "Whole.\n")
        code, printed = await llm("-m", "mate", "-T", "llm_version", "call llm_version {}")
        assert code == 0
        assert LLM in printed
        models.script(refuse(429, "slow down", kind="rate_limit_error"), say("At last."))
        assert await llm("-m", "mate", "hm") == (0, "At last.\n")
        models.script(refuse(400, "that is too odd"))
        code, printed = await llm("-m", "mate", "hm")
        assert code != 0
        assert "that is too odd" in printed
        listed = (await served.client.get("/api/threads")).json()["threads"]
        assert listed == []


@pytest.mark.skipif(
    not os.environ.get("SHIPMATE_PROGRAMS"), reason="SHIPMATE_PROGRAMS=1 installs aider, 700 MB"
)
async def test_w5_aider_edits_a_file_and_sends_its_whole_history(tmp_path: Path) -> None:
    python = install("aider-chat", AIDER)
    async with crew(tmp_path / "ws") as (served, models):
        folder = tmp_path / "code"
        folder.mkdir()
        (folder / "a.py").write_text("x = 1\n")

        async def aider(*words: str) -> tuple[int, str]:
            options = "--no-git --yes-always --no-show-model-warnings --no-check-update --analytics-disable"
            plain = "--no-pretty --no-suggest-shell-commands --edit-format whole --model openai/captain"
            access = {"OPENAI_API_BASE": f"{served.address}/v1", "OPENAI_API_KEY": served.token}
            line = ["aider", *options.split(), *plain.split(), *words, "a.py"]
            return await run(python, *line, folder=folder, environ=access)

        models.script(say("a.py\n```\nx = 2\n```\n"))
        code, printed = await aider("--message", "Change x to 2.")
        assert (code, (folder / "a.py").read_text()) == (0, "x = 2\n"), printed
        models.script(say("a.py\n```\nx = 3\n```\n"))
        code, printed = await aider("--restore-chat-history", "--no-stream", "--message", "And now to 3.")
        assert (code, (folder / "a.py").read_text()) == (0, "x = 3\n"), printed
        assert "Change x to 2." in seen(models)
        assert "And now to 3." in seen(models)

"""Which model answers a command, and what does not have to wait for one (U11)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.provider_server import ProviderServer
from tests.support.terminal import make_workspace, shipmate

UNSET = {"llm": {"provider": "openai", "apiKey": "${NOT_SET_ANYWHERE}"}}


@pytest.fixture
def unset(tmp_path: Path) -> Path:
    """Make a workspace whose model names a variable nobody set."""
    folder = make_workspace(tmp_path)
    (folder / "ship.json").write_text(json.dumps(UNSET))
    return folder


def test_u11_an_unset_variable_does_not_block_the_context(unset: Path) -> None:
    done = shipmate(unset, "context")
    assert done.returncode == 0
    assert "NOT_SET_ANYWHERE, which is not set" in done.stderr


def test_u11_an_unset_variable_does_not_block_another_model(unset: Path) -> None:
    done = shipmate(unset, "ask", "--model", "rehearsal", "hello")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_u11_an_unset_variable_is_named_when_its_model_is_asked(unset: Path) -> None:
    done = shipmate(unset, "ask", "hello")
    assert done.returncode != 0
    assert "NOT_SET_ANYWHERE, which is not set" in done.stderr
    assert "Traceback" not in done.stderr
    assert "NOT_SET_ANYWHERE" in shipmate(unset, "doctor").stdout


async def test_u11_an_env_file_sends_the_prompt_where_it_says(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        (folder / ".env").write_text(f"OPENAI_API_KEY=sk-of-the-file\nOPENAI_BASE_URL={server.url}/v1\n")
        done = await asyncio.to_thread(shipmate, folder, "ask", "hello")
    assert done.returncode == 0, done.stderr
    assert server.requests[0].headers["authorization"] == "Bearer sk-of-the-file"

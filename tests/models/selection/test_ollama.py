"""Whatever listens where an Ollama is expected, every command gets by."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from shipmate.models.selection.ollama import Ollama, find_ollama
from tests.support.raw_server import RawServer, Visit


async def look(body: bytes) -> Ollama | None:
    async def answer(visit: Visit) -> None:
        await visit.answer(body, kind="application/json")

    async with RawServer(answer) as server:
        return await asyncio.to_thread(find_ollama, server.url)


async def test_lists_what_can_talk() -> None:
    names = ["qwen3:8b", "nomic-embed-text", "hf.co/org/Model-GGUF:Q4"]
    found = await look(json.dumps({"models": [{"name": each} for each in names]}).encode())
    assert found is not None
    assert found.models == ("qwen3:8b", "hf.co/org/Model-GGUF:Q4")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"null",
        b"[" * 10_000,
        b'{"models":5}',
        b'{"models":{"a":1}}',
        b'{"models":[{"name":"\xff"}]}',
        b'{"models":[{"name":"\\ud800"}]}',
    ],
)
async def test_rubbish_is_no_ollama(body: bytes) -> None:
    assert await look(body) is None


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\nb", "", "  ", 5, None, {"a": 1}, "y" * 10_000, "a\u202eb"])
async def test_what_can_be_no_name_is_left_out(name: object) -> None:
    found = await look(json.dumps({"models": [{"name": name}, {"name": "qwen3"}]}).encode())
    assert found is not None
    assert found.models == ("qwen3",)


@pytest.mark.parametrize("head", ["", "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"])
async def test_an_answer_that_comes_bit_by_bit_is_given_up(head: str) -> None:
    async def drip(visit: Visit) -> None:
        await visit.send(head or "HTTP/1.1 200 OK\r\nx: ")
        while not visit.writer.is_closing():
            await visit.send(" ", pause=0.05)

    async with RawServer(drip) as server:
        began = time.monotonic()
        assert await asyncio.to_thread(find_ollama, server.url) is None
        assert time.monotonic() - began < 10

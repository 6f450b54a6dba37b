"""Requests that go to a server without a proxy: where answers end, and which connections are used again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shipmate.models.wire.client import HttpClient
from shipmate.models.wire.http.http_answer import HttpAnswer
from shipmate.models.wire.http.trouble import HttpFault
from tests.support.raw_server import RawServer, Visit

CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


async def ask(asker: HttpClient, url: str) -> tuple[int, bytes]:
    async with asker.send("POST", url, content=b"{}") as answer:
        return answer.status, await answer.read(1_000_000)


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (f"{CHUNKED}2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nx-sum: 1\r\n\r\n", b"hello"),
        ("HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello", b"hello"),
        ("HTTP/1.1 200 OK\ncontent-length: 5\n\nhello", b"hello"),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + f"{CHUNKED}0\r\n\r\n", b""),
        ("HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
async def test_an_answer_that_says_where_it_ends_leaves_the_connection_free(reply: str, body: bytes) -> None:
    async def serve(visit: Visit) -> None:
        await visit.send(reply)

    asker = HttpClient()
    async with RawServer(serve) as server:
        assert [(await ask(asker, server.url))[1] for _ in range(3)] == [body] * 3
        assert server.connections == 1
    await asker.close()


@pytest.mark.parametrize(
    "reply",
    [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello, and nobody asked for this",
        f"{CHUNKED}5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged",
    ],
)
async def test_what_may_be_followed_by_another_answer_is_not_used_again(reply: str) -> None:
    async def serve(visit: Visit) -> None:
        await visit.send(reply)

    asker = HttpClient()
    async with RawServer(serve) as server:
        assert [await ask(asker, server.url) for _ in range(2)] == [(200, b"hello")] * 2
        assert server.connections == 2
    await asker.close()


async def test_an_answer_that_does_not_say_where_it_ends_lasts_until_the_connection_does() -> None:
    async def serve(visit: Visit) -> None:
        await visit.send("HTTP/1.1 200 OK\r\n\r\n", "hel", "lo", pause=0.01)
        visit.writer.close()

    asker = HttpClient()
    async with RawServer(serve) as server:
        assert await ask(asker, server.url) == (200, b"hello")
    await asker.close()


@pytest.mark.parametrize("rest", ["no number\r\n", "5\r\nhel"])
async def test_what_came_before_a_fault_is_given_first(rest: str) -> None:
    async def serve(visit: Visit) -> None:
        await visit.send(f"{CHUNKED}5\r\nhello\r\n{rest}")
        visit.writer.close()

    asker = HttpClient()
    said: list[bytes] = []
    async with RawServer(serve) as server, asker.send("POST", server.url) as answer:
        with pytest.raises(HttpFault) as caught:
            await collect(answer, said)
    await asker.close()
    assert b"".join(said).startswith(b"hello")
    assert caught.value.kind in ("protocol", "cut")


@pytest.mark.parametrize(
    "reply",
    [
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nhello",
        f"{CHUNKED[:-2]}content-length: 5\r\n\r\n0\r\n\r\n",
        f"{CHUNKED}0\r\nx: {'y' * 200_000}",
    ],
)
async def test_what_cannot_be_told_apart_is_refused(reply: str) -> None:
    async def serve(visit: Visit) -> None:
        await visit.send(reply)

    asker = HttpClient()
    async with RawServer(serve) as server:
        with pytest.raises(HttpFault) as caught:
            await ask(asker, server.url)
    await asker.close()
    assert caught.value.kind == "protocol"


def test_the_library_for_proxies_is_not_loaded_without_one() -> None:
    script = """
import asyncio, sys
from shipmate.models.wire.client import HttpClient
from tests.models.wire.http.test_direct import RawServer, ask, hello

async def main():
    async with RawServer(hello) as server:
        return await ask(HttpClient(), server.url)

print(asyncio.run(main()), [name for name in ('httpcore2', 'h11', 'anyio') if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(200, b'hello') []"


async def collect(answer: HttpAnswer, said: list[bytes]) -> None:
    async for piece in answer.pieces():
        said.append(piece)


async def hello(visit: Visit) -> None:
    await visit.answer("hello")

"""A connection knows whether anything was sent on it before it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpcore2
import pytest

from shipmate.models.wire.http.network import Network
from shipmate.models.wire.http.trouble import HttpFault

HEAD = b"POST / HTTP/1.1\r\nhost: x\r\n\r\n"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def connect(serve: Serve) -> tuple[asyncio.Server, httpcore2.AsyncNetworkStream]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, await Network().connect_tcp("127.0.0.1", server.sockets[0].getsockname()[1], 5)


@pytest.mark.parametrize("head", [HEAD, HEAD.replace(b"x\r", b"x" * 50_000 + b"\r")], ids=["short", "long"])
async def test_w6_what_is_written_after_the_end_was_not_sent(head: bytes) -> None:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server, stream = await connect(leave)
    assert await stream.read(100, 5) == b"", "it ended"

    async def ask() -> None:
        await stream.write(head, 5)
        await stream.write(b"body", 5)

    with pytest.raises(HttpFault) as caught:
        await ask()
    assert (caught.value.kind, caught.value.is_unsent) == ("unreachable", True)
    await stream.aclose()
    server.close()


async def test_w6_what_ends_after_something_was_written_may_have_arrived() -> None:
    async def read_and_leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()
        left.set()

    left = asyncio.Event()
    server, stream = await connect(read_and_leave)
    await stream.write(HEAD, 5)
    await stream.write(b"begin", 5)
    await left.wait()

    async def go_on() -> None:
        # Until the end has come to us.
        while True:
            await asyncio.sleep(0)
            await stream.write(b"more", 5)

    with pytest.raises(httpcore2.WriteError):
        await asyncio.wait_for(go_on(), 5)
    await stream.aclose()
    server.close()

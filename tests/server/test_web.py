"""The web server's own reading of requests, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from shipmate.server.web import MARGIN_LIMIT, WebProtocol


async def echo(scope: dict[str, object], receive: object, send: object) -> None:
    body, more = b"", True
    while more:
        message = await receive()  # pyright: ignore
        body, more = body + message.get("body", b""), message.get("more_body", False)
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]}
    await send(head)  # pyright: ignore
    await send({"type": "http.response.body", "body": body})  # pyright: ignore


@asynccontextmanager
async def serving() -> AsyncGenerator[int]:
    config = uvicorn.Config(echo, http=WebProtocol, ws="none", lifespan="off", log_config=None)  # pyright: ignore
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


async def ask(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        # Lets the server read what there is so far.
        await asyncio.sleep(0)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


HEAD = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"


@pytest.mark.parametrize("wish", [b"h2c", b"websocket"])
async def test_a_body_survives_the_wish_to_speak_otherwise(wish: bytes) -> None:
    head = (
        b"POST /a?b=c HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: " + wish
    )
    async with serving() as port:
        whole = await ask(port, head + b"\r\ncontent-length: 5\r\n\r\nhello")
        pieces = await ask(
            port, head + b"\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe", b"\r\n3\r\nllo\r\n0\r\n\r\n"
        )
    for answer in (whole, pieces):
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"\r\n\r\nhello")


@pytest.mark.parametrize(
    "request_",
    [
        b"CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere:443\r\n\r\n",
        b"no HTTP at all\r\n\r\n",
        HEAD + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"x: " + b"y" * (MARGIN_LIMIT * 20),
        HEAD + b"transfer-encoding: chunked\r\n\r\n1;" + b"y" * (MARGIN_LIMIT * 20),
        HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nx: " + b"y" * (MARGIN_LIMIT * 20),
    ],
    ids=["tunnel", "no HTTP", "two lengths", "endless head", "endless length", "endless end"],
)
async def test_what_is_no_request_is_refused(request_: bytes) -> None:
    async with serving() as port:
        try:
            assert (await ask(port, request_)).startswith(b"HTTP/1.1 400")
        except ConnectionError:
            # Nobody reads on for somebody who never ends.
            assert len(request_) > MARGIN_LIMIT


async def test_head_and_body_come_in_one_piece() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello")
        assert (await asyncio.wait_for(reader.read(65_536), 10)).endswith(b"\r\n\r\nhello")
        writer.close()

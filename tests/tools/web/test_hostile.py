"""Hostile servers and pages, through the tool as it ships: bounded, and nobody else waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import resource
import time
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from shipmate.decoding.worker import end_idle
from shipmate.errors import ToolError
from shipmate.tools.tool import ToolContext
from shipmate.tools.web import fetcher as module
from shipmate.tools.web.fetcher import Fetcher
from shipmate.tools.web.web_fetch import WebFetch

Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def local(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


async def fetch(context: ToolContext, serve: Serve) -> str:
    """Fetch what a server sends after one request."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await serve(writer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        tool = WebFetch(Fetcher(local))
        url = f"http://public.test:{server.sockets[0].getsockname()[1]}/"
        return (await tool.run(tool.parse({"url": url}), context)).output


def answering(body: bytes, kind: str = "text/html", more: str = "") -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode()
        )
        writer.write(body)

    return serve


PAGES = {
    "nested lists": b"<ul><li>",
    "nested blocks": b"<div>",
    "nested quotations": b"<blockquote><p>a",
    "headings": b"<h1>a</h1>",
    "short paragraphs": b"<p>a</p>",
    "links": b"<a href=x>y</a>",
    "attributes": b"<p a=1 b=2>",
    "comments": b"<!--",
    "references": b"&amp",
}


@pytest.mark.parametrize("shape", PAGES.values(), ids=PAGES.keys())
async def test_c5_a_page_of_ten_megabytes_holds_nobody_up(context: ToolContext, shape: bytes) -> None:
    body = shape * (10_000_000 // len(shape))
    # Children that other tests left waiting have a memory of their own.
    end_idle()
    before = resource.getrusage(resource.RUSAGE_SELF)
    longest = 0.0
    # What else the machine does can make others wait longer, never shorter.
    for _ in range(3):
        task = asyncio.create_task(fetch(context, answering(body)))
        longest = 0.0
        while not task.done():
            began = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - began)
        assert len(await task) < 17_000
        if longest < 1.5:
            break
    assert longest < 1.5
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 120_000
    assert all(peak < 250_000 for peak in _peaks_of_children())
    end_idle()


def _peaks_of_children() -> list[int]:
    """Return the most memory, in KB, that each child which takes pages apart has needed."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        children: list[str] = []
        # A thread or a child may end while it is looked at.
        with contextlib.suppress(OSError):
            children = (task / "children").read_text().split()
        for child in map(Path("/proc").joinpath, children):
            with contextlib.suppress(OSError):
                if b"decoding" in (child / "cmdline").read_bytes():
                    lines = (child / "status").read_text().splitlines()
                    found += [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return found


@pytest.mark.parametrize("count", [200, 2_000, 7_000])
async def test_c5_a_page_made_for_the_library_is_read_all_the_same(context: ToolContext, count: int) -> None:
    """The library that finds the content is slow by the number of tags; then our own reader is used."""
    output = await fetch(context, answering(b"<title>T</title><article>" + b"<h1>ahoy</h1>" * (count // 2)))
    assert "# T" in output
    assert "ahoy" in output


@pytest.mark.parametrize(
    "coding",
    ["gzip, gzip", "gzip,deflate", "br", "zstd", "compress", "deflate, gzip, gzip, gzip", "x" * 3000],
)
async def test_codings_that_were_not_asked_for_are_refused(context: ToolContext, coding: str) -> None:
    bomb = gzip.compress(gzip.compress(bytes(10_000_000)))
    with pytest.raises(ToolError, match="encoded as") as caught:
        await fetch(context, answering(bomb, "text/plain", f"Content-Encoding: {coding}\r\n"))
    assert len(str(caught.value)) < 500


async def test_a_bomb_is_unpacked_no_further_than_the_limit(context: ToolContext) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = gzip.compress(bytes(300_000_000))
    output = await fetch(context, answering(body, "text/css", "Content-Encoding: gzip\r\n"))
    assert "not text" in output
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120_000


async def test_compressed_data_that_holds_nothing_is_left(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WIRE_LIMIT", 1_000_000)
    packer = zlib.compressobj(wbits=31)
    body = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH) + b"\0\0\0\xff\xff" * 400_000
    with pytest.raises(ToolError, match="more than 1 MB came"):
        await fetch(context, answering(body, "text/plain", "Content-Encoding: gzip\r\n"))


async def test_headers_without_end_are_refused(context: ToolContext) -> None:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(100_000):
            writer.write(b"X-%d: " % number + b"a" * 1_000 + b"\r\n")
            await writer.drain()

    with pytest.raises(ToolError, match="could not be fetched"):
        await fetch(context, serve)


@pytest.mark.parametrize(
    "header",
    [
        'Content-Type: text/plain; a="' + ';"' * 40_000,
        "Set-Cookie: " + "a=b; " * 15_000,
        "Content-Type: " + "a" * 90_000,
    ],
    ids=["content-type", "set-cookie", "long kind"],
)
async def test_headers_made_to_be_slow_cost_nothing(context: ToolContext, header: str) -> None:
    before = time.process_time()
    kind = "text/plain" if header.startswith("Set") else ""
    head = f"HTTP/1.1 200 OK\r\n{header}\r\n" + (f"Content-Type: {kind}\r\n" if kind else "")

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + b"Content-Length: 4\r\n\r\nahoy")

    output = await fetch(context, serve)
    assert len(output) < 1_000
    assert time.process_time() - before < 3


async def test_a_page_that_drips_is_left(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.5)
    left = asyncio.Event()

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while not writer.transport.is_closing():
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(0.05)
        finally:
            left.set()

    with pytest.raises(ToolError, match="did not answer within"):
        await fetch(context, serve)
    await asyncio.wait_for(left.wait(), 10)


async def test_an_address_without_end_is_refused(context: ToolContext) -> None:
    tool = WebFetch(Fetcher(local))
    with pytest.raises(ToolError, match="too long: at most 8,000"):
        await tool.run(tool.parse({"url": "http://public.test/" + "a" * 9_000}), context)

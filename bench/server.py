"""Measure the server: how soon it answers, what it weighs, and how many live streams it holds."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

STREAMS = 200
RATE = 50
SECONDS = 4
MESSAGES = 10_000
STAMP = re.compile(rb"(\d{10,20}) ")
SERVE = "from shipmate.cli import main; main()"
AGENT = "# Mate\n\nYou are Mate.\n"


def measure() -> list[dict[str, Any]]:
    """Measure everything."""
    return [*_start(), *_open_long_thread(), *_streams()]


def _start() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text(AGENT)
        times: list[float] = []
        memory = 0.0
        for _ in range(4):
            began = time.perf_counter()
            with _running(SERVE, "-C", folder, "serve", "--no-open", "--port", "0") as (process, address):
                _get(address, "/healthz")
                times.append(time.perf_counter() - began)
                _get(address, "/api/session", _token(root))
                memory = memory_of(process.pid)
        # The first start reads everything from disk.
        yield {"name": "server ready, warm", "value": min(times[1:]), "unit": "s", "bar": "<= 1"}
        yield {"name": "idle memory, page only", "value": memory, "unit": "MB", "bar": "<= 90"}


def _open_long_thread() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text(AGENT)
        _write_thread(root)
        with _child(root) as (_, address):
            token = _token(root)
            _get(address, "/api/session", token)
            path = "/api/threads/web:room:long/messages?limit=50"
            first = _timed(address, path, token)
            again = min(_timed(address, path, token) for _ in range(5))
    name = f"last page of {MESSAGES:,} messages"
    yield {"name": f"{name}, never opened before", "value": first, "unit": "ms", "bar": "<= 300"}
    yield {"name": f"{name}, opened before", "value": again, "unit": "ms", "bar": "<= 300"}


def _streams() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "Agent.md").write_text(AGENT)
        with _child(root) as (process, address):
            delays, cpu = asyncio.run(_watch(address, _token(root), process.pid))
            memory = memory_of(process.pid)
    name = f"{STREAMS} streams at {RATE} chunks/s"
    yield {"name": f"{name}, chunks counted", "value": len(delays), "unit": "", "bar": None}
    for share, bar in ((0.5, None), (0.99, "<= 50"), (0.999, None)):
        value = delays[int(len(delays) * share)]
        yield {"name": f"{name}, p{share * 100:g} chunk delay", "value": value, "unit": "ms", "bar": bar}
    yield {"name": f"{name}, CPU of the server", "value": cpu, "unit": "% of a core", "bar": None}
    yield {"name": f"{name}, memory after", "value": memory, "unit": "MB", "bar": None}


async def _watch(address: str, token: str, pid: int) -> tuple[list[float], float]:
    """Open all streams; once all are live, take how late each chunk comes (in ms) and the CPU spent."""
    loop = asyncio.get_running_loop()
    place = urlsplit(address)
    watchers: list[_Watcher] = []
    for number in range(STREAMS):
        watcher = _Watcher(place.netloc, token, number)
        await loop.create_connection(lambda made=watcher: made, place.hostname or "", place.port or 0)
        watchers.append(watcher)
    await asyncio.gather(*(watcher.live for watcher in watchers))
    # Opening them all was a burst of its own; what is measured is the steady state.
    await asyncio.sleep(1)
    since, spent = time.monotonic_ns(), _cpu_seconds(pid)
    await asyncio.sleep(SECONDS)
    until = time.monotonic_ns()
    cpu = (_cpu_seconds(pid) - spent) / ((until - since) / 1e9) * 100
    delays = [delay for watcher in watchers for delay in watcher.delays(since, until)]
    return sorted(delays), cpu


class _Watcher(asyncio.Protocol):
    """Read one stream; what arrives is only stamped, and read when all is over."""

    def __init__(self, host: str, token: str, number: int) -> None:
        self.live: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        said = {"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": "go"}]}
        body = json.dumps({"id": f"bench-{number}", "messages": [said]})
        self._request = (
            f"POST /api/chat HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        )
        self._received: list[tuple[int, bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        self._received.append((time.monotonic_ns(), data))
        if not self.live.done() and STAMP.search(data):
            self.live.set_result(None)

    def delays(self, since: int, until: int) -> list[float]:
        """Give the delays of chunks spoken within a stretch of time."""
        stamps = ((at, int(stamp)) for at, data in self._received for stamp in STAMP.findall(data))
        return [(at - stamp) / 1e6 for at, stamp in stamps if since <= stamp < until]


@contextmanager
def _child(root: Path) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    code = "import runpy; runpy.run_module('bench.server_child', run_name='__main__')"
    # The words outlast the time it takes to open all streams.
    with _running(code, str(root), str(RATE), str(SECONDS * 10)) as running:
        yield running


@contextmanager
def _running(code: str, *arguments: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().decode().split()[-1]
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def _write_thread(root: Path) -> None:
    folder = root / ".ship" / "threads"
    folder.mkdir(parents=True)
    with (folder / "web%3Aroom%3Along.jsonl").open("w") as file:
        for number in range(MESSAGES):
            role = "assistant" if number % 2 else "user"
            part = {
                "type": "text",
                "text": f"Message {number}: " + "some ordinary words " * 12,
                "state": "done",
            }
            metadata = {"timestamp": "2026-01-01T00:00:00.000Z", "threadId": "web:room:long", "course": 1}
            file.write(
                json.dumps({"id": f"m{number}", "role": role, "metadata": metadata, "parts": [part]}) + "\n"
            )


def _get(address: str, path: str, token: str | None = None) -> bytes:
    place = urlsplit(address)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 200, body
    return body


def _timed(address: str, path: str, token: str) -> float:
    began = time.perf_counter()
    page = json.loads(_get(address, path, token))
    assert len(page["messages"]) == 50
    return (time.perf_counter() - began) * 1000


def _token(root: Path) -> str:
    return (root / ".ship" / "token").read_text().strip()


def memory_of(pid: int) -> float:
    """Give the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu_seconds(pid: int) -> float:
    """Give the processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

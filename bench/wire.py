"""What a whole HTTP turn costs: our server asked over HTTP, the model behind it asked over HTTP too.

CPU is that of the server's process alone, as the kernel counts it. nanobot is driven by the same client, with
the same model server, in the same run.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.peer import nanobot_python
from bench.turn import SHIPMATE, history, provider
from shipmate.thread.log import FileLog
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout

TURNS = 60
THREADS = 50
TURNS_EACH = 6
MANY = 1000
TICK = os.sysconf("SC_CLK_TCK")


def measure() -> list[dict[str, Any]]:
    """Measure ours, ours on a slow disk, and nanobot."""
    with provider() as url:
        rows = [*_ours(url), *_on_a_slow_disk(url), _ask_once(url)]
        return [*rows, *_nanobot(url), *_install()]


def _ours(url: str) -> list[dict[str, Any]]:
    with _workspace(url) as folder, _serving(folder) as (pid, port, token):
        client = Client(port, token)
        first = client.wall("first")
        later = statistics.median(client.wall(f"later-{number}") for number in range(5))
        fresh = _cpu_each(pid, [lambda n=n: client.ask(f"fresh-{n}") for n in range(TURNS)])
        long = _cpu_each(pid, [lambda: client.ask("long")] * TURNS)
        tool = _cpu_each(
            pid, [lambda n=n: client.ask(f"tool-{n}", 'call read {"path": "Agent.md"}') for n in range(TURNS)]
        )
        rate, busy = _load(pid, port, token)
        for number in range(MANY - 2 * TURNS - THREADS):
            client.ask(f"many-{number}")
        memory = _memory(pid)
    return [
        _row("HTTP turn, fresh thread, CPU", fresh, "ms", "<= 7"),
        _row("HTTP turn at 200 messages, CPU", long, "ms", "<= 7"),
        _row("HTTP turn with one tool, CPU", tool, "ms", "<= 9"),
        _row("HTTP, 50 threads at once, a CPU second", busy, "turns", ">= 160"),
        _row("HTTP, 50 threads at once", rate, "turns/s", ">= 150"),
        _row("HTTP, first turn of a server over a later one", first - later, "s", "<= 0.1"),
        _row(f"HTTP, memory after {MANY:,} threads", memory, "MB", "<= 72"),
    ]


def _on_a_slow_disk(url: str) -> list[dict[str, Any]]:
    """Let each sync take 5 ms: a preloaded module waits before it asks the kernel."""
    slow = "import os,time\n" + "".join(
        f"_{name} = os.{name}\n"
        f"def {name}(handle):\n    time.sleep(0.005)\n    return _{name}(handle)\nos.{name} = {name}\n"
        for name in ("fsync", "fdatasync")
    )
    with _workspace(url) as folder, tempfile.TemporaryDirectory() as site:
        (Path(site) / "sitecustomize.py").write_text(slow)
        with _serving(folder, PYTHONPATH=site) as (pid, port, token):
            Client(port, token).ask("first")
            rate, _ = _load(pid, port, token)
    return [_row("HTTP, 50 threads at once, each sync 5 ms", rate, "turns/s", ">= 100")]


def _ask_once(url: str) -> dict[str, Any]:
    with _workspace(url) as folder:
        spent: list[float] = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [str(SHIPMATE), "-C", str(folder), "ask", "ping"]
            subprocess.run(command, check=True, capture_output=True, env=_environ(folder))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return _row("`ask` with an HTTP model, CPU", statistics.median(spent), "s", "<= 0.45")


def _nanobot(url: str) -> list[dict[str, Any]]:
    python = nanobot_python()
    if python is None:
        return [{"name": "nanobot over HTTP", "value": "not installed", "unit": "", "bar": None}]
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        root = Path(folder)
        (root / "workspace").mkdir()
        custom = {"apiKey": "k", "apiBase": f"{url}/v1"}
        defaults = {"workspace": str(root / "workspace"), "model": "fake", "provider": "custom"}
        config = {"providers": {"custom": custom}, "agents": {"defaults": defaults}}
        (root / "config.json").write_text(json.dumps(config))
        command = [str(Path(python).with_name("nanobot")), "serve", "--config", str(root / "config.json")]
        with _started([*command, "--port", str(port)], root, port) as pid:
            client = Client(port, "", session="session_id")
            try:
                first = client.wall("first")
            except (OSError, RuntimeError) as error:
                return [{"name": "nanobot over HTTP", "value": str(error)[:60], "unit": "", "bar": None}]
            fresh = _cpu_each(pid, [lambda n=n: client.ask(f"fresh-{n}") for n in range(10)])
            rate, busy = _load(pid, port, "", session="session_id", turns=1)
            memory = _memory(pid)
    return [
        _row("nanobot: HTTP turn, fresh thread, CPU", fresh, "ms"),
        _row("nanobot: 50 threads at once, a CPU second", busy, "turns"),
        _row("nanobot: 50 threads at once", rate, "turns/s"),
        _row("nanobot: first turn of a server", first, "s"),
        _row("nanobot: memory after 60 threads", memory, "MB"),
    ]


def _install() -> list[dict[str, Any]]:
    """Install the core as a person does, into an empty place, and weigh it."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        before = _weigh(folder)
        command = [str(python), "-m", "pip", "install", "-q", "--no-compile", str(root)]
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            return [{"name": "core install", "value": "no package index", "unit": "", "bar": None}]
        listed = subprocess.run(
            [str(python), "-m", "pip", "list", "--format", "json"], check=True, capture_output=True
        )
        names = {each["name"] for each in json.loads(listed.stdout)} - {"pip", "setuptools"}
        size = _weigh(folder) - before
    return [
        _row("core install, packages", len(names), "packages", "<= 33"),
        _row("core install, size", size, "MB", "<= 65"),
    ]


def _weigh(folder: str) -> float:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


class Client:
    """One kept connection that asks turn after turn; so lean that what is measured is the server."""

    def __init__(self, port: int, token: str, session: str = "user") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._head = head(port, token)
        self._session = session

    def ask(self, thread: str, text: str = "ping") -> None:
        """Ask one turn and read its answer to the end."""
        self._socket.sendall(self._head + body(thread, text, self._session))
        data = b""
        while not is_whole(data):
            piece = self._socket.recv(65536)
            if not piece:
                raise RuntimeError("the server closed the connection")
            data += piece
        if b" 200 " not in data[:20]:
            raise RuntimeError(data[:300].decode(errors="replace"))

    def wall(self, thread: str) -> float:
        """Return the seconds a turn takes."""
        began = time.perf_counter()
        self.ask(thread)
        return time.perf_counter() - began


def head(port: int, token: str) -> bytes:
    """Write what every request begins with."""
    key = f"authorization: Bearer {token}\r\n" if token else ""
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{key}"
        "content-type: application/json\r\n"
    ).encode()


def body(thread: str, text: str, session: str) -> bytes:
    """Write the rest of a request."""
    content = json.dumps(
        {
            "model": "captain" if session == "user" else "fake",
            session: thread,
            "messages": [{"role": "user", "content": text}],
        }
    ).encode()
    return b"content-length: %d\r\n\r\n%s" % (len(content), content)


def is_whole(data: bytes) -> bool:
    """Return whether an answer has come to its end."""
    top, gap, rest = data.partition(b"\r\n\r\n")
    for line in top.lower().splitlines():
        if line.startswith(b"content-length:"):
            return bool(gap) and len(rest) >= int(line.split(b":")[1])
    return bool(gap) and rest.endswith(b"0\r\n\r\n")


def _load(
    pid: int, port: int, token: str, session: str = "user", turns: int = TURNS_EACH
) -> tuple[float, float]:
    """Ask 50 threads at once; return turns a second, and turns a second of CPU."""
    before, began = _cpu(pid), time.perf_counter()
    asyncio.run(_ask_all(port, token, session, turns))
    count = THREADS * turns
    return count / (time.perf_counter() - began), count / (_cpu(pid) - before)


async def _ask_all(port: int, token: str, session: str, turns: int) -> None:
    await asyncio.gather(*(_talk(port, token, f"load-{number}", session, turns) for number in range(THREADS)))


async def _talk(port: int, token: str, thread: str, session: str, turns: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(turns):
        writer.write(head(port, token) + body(thread, "ping", session))
        data = b""
        while not is_whole(data):
            piece = await reader.read(65536)
            if not piece:
                raise RuntimeError("the server closed the connection")
            data += piece
        if b" 200 " not in data[:20]:
            raise RuntimeError(data[:300].decode(errors="replace"))
    writer.close()


def _cpu_each(pid: int, turns: list[Any]) -> float:
    for turn in turns[:5]:
        turn()
    before = _cpu(pid)
    for turn in turns[5:]:
        turn()
    return (_cpu(pid) - before) / (len(turns) - 5) * 1000


@contextmanager
def _workspace(url: str) -> Generator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Agent.md").write_text("# Captain\n\nYou help.\n")
        settings = {"provider": "openai-compatible", "model": "fake", "baseUrl": f"{url}/v1", "apiKey": "k"}
        config = {"llm": settings, "permissions": {"allow": ["read(**)"]}}
        (folder / "ship.json").write_text(json.dumps(config))
        asyncio.run(FileLog(Layout(folder)).append(ThreadId("api", "user", "long"), history(200)))
        yield folder


@contextmanager
def _serving(folder: Path, **more: str) -> Generator[tuple[int, int, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(SHIPMATE), "-C", str(folder), "serve", "--port", str(port)]
    with _started(command, folder, port, **more) as pid:
        token = (folder / ".ship" / "token").read_text().strip()
        yield pid, port, token


@contextmanager
def _started(command: list[str], folder: Path, port: int, **more: str) -> Generator[int]:
    environ = {**_environ(folder), **more}
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _await_port(port, server)
            yield server.pid
        finally:
            server.terminate()


def _await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the server did not start")


def _environ(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "OLLAMA_HOST": "127.0.0.1:9"}


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _row(name: str, value: float, unit: str, bar: str | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar}

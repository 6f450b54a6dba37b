"""Host MCP servers for tests: real ones of the SDK, and scripted ones that break the rules."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from shipmate.tools.mcp.servers import McpServers
from tests.support.wait import LONG

Json = dict[str, Any]


class _Server(uvicorn.Server):
    """A server that tells when it listens, and leaves the signals of the test run alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@asynccontextmanager
async def host(app: Any, port: int = 0) -> AsyncGenerator[int]:
    """Serve an application on this machine; gives its port. Its connections are cut at the end."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, ws="none")
    server = _Server(config)
    task = asyncio.create_task(server.serve([sock]))
    await asyncio.wait(
        [task, waiting := asyncio.create_task(server.is_up.wait())], return_when="FIRST_COMPLETED"
    )
    waiting.cancel()
    try:
        yield sock.getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        await task
        sock.close()


class Asked:
    """One HTTP request."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def message(self) -> Json:
        return json.loads(self.body) if self.body else {}

    @property
    def rpc(self) -> str:
        return str(self.message.get("method", "")) if self.method == "POST" else self.method


class Reply:
    """Writes one answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    def send(self, status: int, body: bytes | Json | list[Any] = b"", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "text/plain" if isinstance(body, bytes) else "application/json"
        named = {"content-type": kind, **{key.replace("_", "-"): value for key, value in headers.items()}}
        lines = "".join(f"{key}: {value}\r\n" for key, value in named.items())
        head = f"HTTP/1.1 {status} Said\r\ncontent-length: {len(data)}\r\n{lines}\r\n"
        self.writer.write(head.encode() + data)

    def begin_stream(self) -> None:
        self.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")

    def event(self, message: Json | None, mark: str = "", retry: int | None = None) -> None:
        lines = [f"id: {mark}"] if mark else []
        lines += [f"retry: {retry}"] if retry is not None else []
        lines += [f"data: {json.dumps(message)}" if message is not None else "data: "]
        self.writer.write(("\n".join(lines) + "\n\n").encode())

    def cut(self) -> None:
        """End the connection without another word."""
        self.writer.transport.abort()


Handler = Callable[[Asked, Reply], Awaitable[None]]


@asynccontextmanager
async def script(handler: Handler, port: int = 0) -> AsyncGenerator[int]:
    """Serve HTTP by a function; gives the port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while not writer.transport.is_closing() and (asked := await _read(reader)):
                await handler(asked, Reply(writer))
                await writer.drain()
                if asked.method == "GET" and asked.headers.get("accept") == "text/event-stream":
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The other side left, or the test is over.
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines) if key}
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


def result(asked: Asked, value: Json) -> Json:
    """Answer a request."""
    return {"jsonrpc": "2.0", "id": asked.message["id"], "result": value}


def greeting(asked: Asked, **capabilities: Json) -> Json:
    """Answer the first request."""
    found = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"}}
    return result(asked, {**found, "capabilities": capabilities or {"tools": {}}})


def tool(name: str, **more: Any) -> Json:
    """Describe a tool."""
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def text(asked: Asked, words: str) -> Json:
    """Answer a call with words."""
    return result(asked, {"content": [{"type": "text", "text": words}]})


class Harbour:
    """A scripted server with sessions; what it does to a call can be changed."""

    def __init__(self, refusal: int | None = 404) -> None:
        self.sessions: set[str] = set()
        self.refusal = refusal
        self.calls: list[str] = []
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.tools: list[Json] = [tool("act"), tool("look")]
        self.on_call: Handler | None = None
        self.streams: list[Reply] = []
        self.opened = asyncio.Event()
        self._count = 0

    def forget(self) -> None:
        """Forget all sessions, as a restart does."""
        self.sessions.clear()

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        self.seen.append((asked.rpc, asked.headers))
        session = asked.headers.get("mcp-session-id", "")
        if asked.rpc == "initialize":
            self._count += 1
            self.sessions.add(f"s{self._count}")
            reply.send(200, greeting(asked), mcp_session_id=f"s{self._count}")
        elif session not in self.sessions:
            self._refuse(asked, reply)
        elif asked.rpc == "GET":
            await self._stream(reply)
        elif "id" not in asked.message:
            reply.send(202)
        elif asked.rpc == "tools/list":
            reply.send(200, result(asked, {"tools": self.tools}))
        elif asked.rpc == "tools/call":
            self.calls.append(asked.message["params"]["name"])
            if self.on_call is None:
                reply.send(200, text(asked, f"done {len(self.calls)}"))
            else:
                await self.on_call(asked, reply)
        else:
            reply.send(200, result(asked, {}))

    def _refuse(self, asked: Asked, reply: Reply) -> None:
        if self.refusal is None:
            error = {"code": -32600, "message": "Session not found"}
            reply.send(200, {"jsonrpc": "2.0", "id": asked.message.get("id"), "error": error})
        else:
            reply.send(self.refusal, b"no such session")

    async def _stream(self, reply: Reply) -> None:
        reply.begin_stream()
        self.streams.append(reply)
        self.opened.set()
        await asyncio.Event().wait()


async def wait_for_tools(servers: McpServers, *names: str) -> None:
    """Load, as each step of a run does, until these tools are among those that are offered."""
    async with asyncio.timeout(LONG):
        while True:
            if set(names) <= {each.name for each in await servers.load()}:
                return
            await asyncio.sleep(0.01)

"""Serve model providers on loopback: Anthropic Messages, OpenAI Chat and Responses, Google, all streaming.

In a test:

    async with ProviderServer() as server:
        server.script(ask_tools(Call("read", '{"path": "a.md"}')), say("Done."))
        ...                       # point a provider at server.url ("/v1" appended for OpenAI)
        assert server.requests[0].body["model"] == "m"

From a shell, `python -m tests.support.provider_server` prints its port and serves until it is ended.
Unscripted requests are answered by `answer`: `call <tool> <json>` in the person's last words calls that tool,
and anything else (a tool's result too) is echoed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from tests.support.provider_rule import find_breach
from tests.support.provider_wire import Call, Json, Reply, encode, error_body, refuse, say

CALL = re.compile(r"\bcall (\w+) (\{.*\})", re.DOTALL)
Answer = Callable[["Recorded"], Reply]


@dataclass(frozen=True)
class Recorded:
    """Keep one request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: Json
    method: str = "POST"
    query: str = ""

    @property
    def protocol(self) -> str:
        """Name the protocol this request speaks."""
        if self.path.endswith("/messages"):
            return "anthropic"
        if self.path.endswith("/chat/completions"):
            return "chat"
        return "responses" if self.path.endswith("/responses") else "google"

    @property
    def model(self) -> str:
        """Name the model that is asked for."""
        return str(self.body.get("model") or self.path.rpartition("/")[2].partition(":")[0])


def answer(request: Recorded, *, deltas: int = 4, pace: float = 0) -> Reply:
    """Answer a request nobody scripted: call the tool that was named, or echo."""
    last = last_item(request.body)
    words = words_in(last)
    if (named := CALL.search(words)) and not is_result(last):
        number = len(json.dumps(request.body))
        return Reply(calls=(Call(named[1], named[2], f"call_{number}"),), deltas=deltas, pace=pace)
    return say(f"You said: {words[:2000]}", deltas=deltas, pace=pace)


def last_item(body: Json) -> Json:
    """Give the newest message or item of a request."""
    items = body.get("messages") or body.get("input") or body.get("contents") or [{}]
    return items[-1] if isinstance(items, list) else {"content": items}


def is_result(item: Json) -> bool:
    """Tell whether an item carries a tool's result."""
    text = json.dumps(item)
    return any(
        mark in text for mark in ('"tool_result"', '"role": "tool"', "_call_output", "functionResponse")
    )


def words_in(value: Any) -> str:
    """Collect the words of an item, whatever its protocol."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(words_in, value)))
    if isinstance(value, dict):
        found = (
            value.get(key) for key in ("content", "parts", "text", "output", "functionResponse", "response")
        )
        return " ".join(filter(None, (words_in(part) for part in found if part is not None)))
    return ""


class ProviderServer:
    """Be every provider at once, on one loopback port."""

    def __init__(self, answer: Answer = answer, port: int = 0, *, is_strict: bool = True) -> None:
        self.requests: list[Recorded] = []
        # What was asked beside answers, and what such routes say: what is not here is not found.
        self.asides: list[Recorded] = []
        self.routes: dict[str, Any] = {}
        self._answer = answer
        self._port = port
        # Programs of others ask for more than our wires do, and know their providers better than we.
        self._is_strict = is_strict
        self._script: deque[Reply] = deque()
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def script(self, *replies: Reply) -> None:
        """Queue replies; each answers one request."""
        self._script.extend(replies)

    @property
    def port(self) -> int:
        """Give the port in use."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Give the address, without a version."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        serving = list(self._open.values())
        for writer in list(self._open):
            writer.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.get_running_loop().create_task(self._serve(reader, writer))

    def _reply(self, request: Recorded) -> Reply:
        """Answer as the provider would, who refuses what breaks its rules."""
        if self._is_strict and (breach := find_breach(request.protocol, request.body)):
            return refuse(400, breach)
        return self._script.popleft() if self._script else self._answer(request)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                if request.method == "GET" or request.path.startswith("/api/"):
                    self.asides.append(request)
                    await send_route(writer, request, self.routes)
                    continue
                self.requests.append(request)
                reply = self._reply(request)
                if not await send(writer, request, reply):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client went away, which is what some tests are about.
        finally:
            self._open.pop(writer, None)
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> Recorded | None:
    """Read one HTTP request, or None when the connection ends."""
    head = await reader.readline()
    if not head:
        return None
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).strip()) and b":" in line:
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target = head.split()[0].decode(), head.split()[1].decode()
    path, _, query = target.partition("?")
    return Recorded(path, headers, json.loads(raw) if raw else {}, method, query)


async def send_route(writer: asyncio.StreamWriter, request: Recorded, routes: dict[str, Any]) -> None:
    """Answer a request beside the answers: JSON, a status number, or what a function makes of it."""
    found = routes.get(request.path, 404)
    found = found(request) if callable(found) else found
    if asyncio.iscoroutine(found):
        found = await found
    status, said = (
        (found, {"error": {"message": "no such route"}}) if isinstance(found, int) else (200, found)
    )
    body = said.encode() if isinstance(said, str) else json.dumps(said).encode()
    kind = "text/html" if isinstance(said, str) else "application/json"
    writer.write(
        f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    )
    await writer.drain()


async def send(writer: asyncio.StreamWriter, request: Recorded, reply: Reply) -> bool:
    """Send a reply; tell whether the connection may be used again."""
    if reply.delay:
        await asyncio.sleep(reply.delay)
    if reply.status != 200:
        body = json.dumps(error_body(request.protocol, reply)).encode()
        extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        head = f"HTTP/1.1 {reply.status} Error\r\ncontent-type: application/json\r\n{extra}"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        return True
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    if reply.rubbish is not None:
        write_chunk(writer, reply.rubbish)
    else:
        for number, event in enumerate(encode(request.protocol, reply, request.model)):
            if number == reply.end_after:
                break
            if number == reply.cut_after:
                await writer.drain()
                return False
            write_chunk(writer, event)
            if reply.pace:
                await writer.drain()
                await asyncio.sleep(reply.pace)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write one piece of a chunked body."""
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def main() -> None:
    """Serve until ended, after printing the port."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--deltas", type=int, default=4, help="pieces an echoed text comes in")
    parser.add_argument("--pace", type=float, default=0, help="seconds between events")
    parser.add_argument("--models", default="", help="names that are listed, with commas between them")
    options = parser.parse_args()

    def reply(request: Recorded) -> Reply:
        return answer(request, deltas=options.deltas, pace=options.pace)

    async with ProviderServer(reply, options.port) as server:
        if options.models:
            server.routes["/v1/models"] = {"data": [{"id": name} for name in options.models.split(",")]}
        print(server.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

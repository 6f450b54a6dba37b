"""Speak MCP with one server over whichever wire: agree on a version, ask, and hear what changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, Protocol

import shipmate
from shipmate.errors import ToolError
from shipmate.tools.mcp.intake import IntakeError
from shipmate.tools.mcp.rpc import (
    METHOD_NOT_FOUND,
    NEW_VERSION,
    UNSUPPORTED_VERSION,
    VERSION,
    VERSIONS,
    AnswerError,
    RefusedError,
    UnsureError,
    notification,
    request,
    result_of,
)
from shipmate.values.message import JsonObject

PAGE_LIMIT = 20
# What is looked through of one list.
LISTED_LIMIT = 2_000
FAREWELL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 60.0
CLIENT = {"name": "shipmate", "version": shipmate.__version__}
META = "io.modelcontextprotocol"
WANTED = ("toolsListChanged", "resourcesListChanged", "promptsListChanged")
CHANGES = frozenset(f"notifications/{what}/list_changed" for what in ("tools", "resources", "prompts"))


class McpWire(Protocol):
    """How messages reach a server and its answers us."""

    @property
    def is_open(self) -> bool: ...
    async def open(self) -> None: ...
    def settle(self, version: str) -> None: ...
    def listen(self) -> None: ...
    async def exchange(self, message: JsonObject) -> JsonObject: ...
    async def tell(self, message: JsonObject) -> None: ...
    async def close(self, *, patient: bool = False) -> None: ...


class McpSession:
    """A server that has been greeted."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.capabilities: JsonObject = {}
        self._changed = changed
        self._wire: McpWire | None = None
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        # What every request says of us, where there is no session that knows it.
        self._meta: JsonObject = {}
        self._listening: asyncio.Task[None] | None = None

    async def open(self, wire: McpWire) -> None:
        """Greet the server and agree on a version."""
        self._wire = wire
        await wire.open()
        greeting = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": CLIENT}
        try:
            answer = await self.request("initialize", greeting)
        except (AnswerError, RefusedError) as error:
            if error.code not in (UNSUPPORTED_VERSION, METHOD_NOT_FOUND):
                raise
            await self._discover(wire)
            return
        if answer.get("protocolVersion") not in VERSIONS:
            spoken = str(answer.get("protocolVersion"))[:40]
            raise AnswerError(f"it speaks version {spoken!r} of MCP, which is not known here")
        self._take_capabilities(answer)
        await wire.tell(notification("notifications/initialized"))
        wire.listen()

    async def _discover(self, wire: McpWire) -> None:
        """Ask a server what it is that knows no greeting: each request then says who asks."""
        self._meta = {
            f"{META}/protocolVersion": NEW_VERSION,
            f"{META}/clientInfo": CLIENT,
            f"{META}/clientCapabilities": {},
        }
        wire.settle(NEW_VERSION)
        answer = await self.request("server/discover")
        self._take_capabilities(answer)
        self._listening = asyncio.create_task(self._listen())

    def _take_capabilities(self, answer: JsonObject) -> None:
        found = answer.get("capabilities")
        self.capabilities = found if isinstance(found, dict) else {}

    async def _listen(self) -> None:
        """Hear of changes from a server that tells of them in a long answer."""
        pause = 1.0
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self.request("subscriptions/listen", {"notifications": dict.fromkeys(WANTED, True)})
            except (AnswerError, RefusedError):
                return
            except ToolError:
                # Cut off, as everything is some day.
                pass
            lasted = asyncio.get_running_loop().time() - began
            pause = 1.0 if lasted > LONGEST_PAUSE_SECONDS else min(LONGEST_PAUSE_SECONDS, pause * 2)
            await asyncio.sleep(pause)
            # What was said meanwhile is not known.
            self._changed()

    @property
    def is_open(self) -> bool:
        """Return whether the session holds, as far as is known."""
        return self._wire is not None and self._wire.is_open

    def offers(self, what: str) -> bool:
        """Return whether the server says it has tools, resources or prompts."""
        return isinstance(self.capabilities.get(what), dict)

    async def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Ask for something and return what the server gave."""
        assert self._wire is not None
        number = next(self._numbers)
        if self._meta:
            params = {**(params or {}), "_meta": self._meta}
        try:
            return result_of(await self._wire.exchange(request(number, method, params)))
        except IntakeError as error:
            raise UnsureError(str(error)) from error
        except asyncio.CancelledError:
            # Nobody waits any more; a server that heeds it can stop.
            if method != "initialize":
                self._tell(notification("notifications/cancelled", {"requestId": number}))
            raise

    async def list_all(self, method: str, key: str) -> list[JsonObject]:
        """Return a whole list, page by page, up to what is looked through."""
        found: list[JsonObject] = []
        cursor: str | None = None
        for _ in range(PAGE_LIMIT):
            page = await self.request(method, {"cursor": cursor} if cursor is not None else None)
            entries: Any = page.get(key)
            found += [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(found) >= LISTED_LIMIT:
                break
            cursor = following
        return found[:LISTED_LIMIT]

    def hear(self, message: JsonObject) -> None:
        """Take what the server says unasked."""
        method = message.get("method")
        if "id" in message and isinstance(method, str):
            self._tell(_reply(message["id"], method))
        elif method in CHANGES:
            self._changed()

    async def close(self, *, patient: bool = False) -> None:
        """End the session and the server that was started for it; a patient one lets others finish."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._wire is not None:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._wire.close(patient=patient)

    def _tell(self, message: JsonObject) -> None:
        task = asyncio.create_task(self._tell_quietly(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_quietly(self, message: JsonObject) -> None:
        # Whoever does not hear this has other trouble, which the next request shows.
        with suppress(ToolError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                assert self._wire is not None
                await self._wire.tell(message)


def _reply(number: object, method: str) -> JsonObject:
    """Answer what a server asks of us: that we are here, and nothing else."""
    if method == "ping":
        return {"jsonrpc": "2.0", "id": number, "result": {}}
    error = {"code": METHOD_NOT_FOUND, "message": f"{method[:100]} is not offered here"}
    return {"jsonrpc": "2.0", "id": number, "error": error}

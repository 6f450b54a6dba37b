"""Answer programs that speak MCP over HTTP: a message a request, and its answer as JSON."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from typing import Any

import msgspec

from shipmate.app import Shipmate
from shipmate.cli.door.line_peer import CANCELLED, read_message, refusal, respond
from shipmate.cli.door.mcp_door import McpDoor
from shipmate.values.message import JsonObject


class HttpDoor:
    """All programs that ask over HTTP. Of a session only what is being answered is known here."""

    def __init__(self, ship: Shipmate) -> None:
        self._ship = ship
        self.tasks: dict[tuple[str, object], asyncio.Task[JsonObject]] = {}
        self.others: set[asyncio.Task[None]] = set()

    async def take(self, data: bytes, session: str) -> tuple[bytes | None, str]:
        """Take a message; return its answer, if it wants one, and the session to go on with."""
        heard = read_message(data)
        if heard.refusal is not None:
            return msgspec.json.encode(heard.refusal), session
        door = McpDoor(self._ship)
        door.peer = SessionPeer(self, session)
        if not heard.is_request:
            if heard.method:
                door.hear(heard.method, heard.params)
            return None, session
        place = (session, heard.key)
        task = self.tasks[place] = asyncio.ensure_future(respond(door.answer, heard))
        try:
            answer = await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            answer = refusal(heard.key, CANCELLED, "cancelled")
        finally:
            if self.tasks.get(place) is task:
                del self.tasks[place]
        is_begun = heard.method == "initialize" and "result" in answer
        return msgspec.json.encode(answer), secrets.token_hex(16) if is_begun else session


class SessionPeer:
    """One program, as far as it can be told from others: by the session it was given."""

    is_gone = False

    def __init__(self, door: HttpDoor, session: str) -> None:
        self._door = door
        self._session = session

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside."""
        task = asyncio.ensure_future(work)
        self._door.others.add(task)
        task.add_done_callback(self._door.others.discard)

    def cancel(self, key: object) -> None:
        """End what is being answered under an id; who has no session could end what another asked."""
        task = self._door.tasks.get((self._session, key)) if isinstance(key, int | str) else None
        if task is not None and self._session:
            task.cancel()

"""Speak JSON-RPC with the program that started this one: a message a line, over input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import msgspec

from shipmate.cli.terminal.tongue import say_error
from shipmate.errors import NotFoundError, ShipmateError, UserError
from shipmate.tools.mcp.rpc import METHOD_NOT_FOUND, encode, notification, request
from shipmate.values.message import JsonObject
from shipmate.values.nesting import check_nesting

log = logging.getLogger(__name__)
# A picture of 20 MB in the letters JSON has, and the words around it.
LINE_LIMIT = 32 * 1024 * 1024
# What may wait for a program that does not read; it is given up then.
HELD_LIMIT = 64 * 1024 * 1024
# How many lines are taken before the first of them is looked at.
AHEAD = 16
PIECE = 65_536
LEAVING_SECONDS = 2.0
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603
NOT_FOUND, CANCELLED = -32002, -32800


class UnknownMethodError(UserError):
    """A method was asked for that is not offered."""


class AskedError(ShipmateError):
    """The program on the other side refused what it was asked, or left."""


class PeerMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the other side, or what it is answered when it is none; an answer has no method."""

    message: JsonObject = {}
    key: object = None
    method: str = ""
    params: JsonObject = {}
    is_request: bool = False
    refusal: JsonObject | None = None


def read_message(data: bytes) -> PeerMessage:
    """Read a message."""
    try:
        found = msgspec.json.decode(check_nesting(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return PeerMessage(refusal=refusal(None, PARSE_ERROR, "a message is no JSON"))
    if not isinstance(found, dict):
        return PeerMessage(
            refusal=refusal(None, INVALID_REQUEST, "a message is a JSON object, one at a time")
        )
    message: JsonObject = found
    method, key, params = message.get("method"), message.get("id"), message.get("params")
    params = {} if params is None else params
    if method is None and ("result" in message or "error" in message):
        return PeerMessage(message=message, key=key)
    # Python takes `true` for 1.
    is_key = isinstance(key, int | str) and not isinstance(key, bool)
    if not isinstance(method, str) or not isinstance(params, dict) or ("id" in message and not is_key):
        words = "a request has a method, params that are an object, and an id that is a text or a number"
        return PeerMessage(refusal=refusal(key if is_key else None, INVALID_REQUEST, words))
    return PeerMessage(message=message, key=key, method=method, params=params, is_request="id" in message)


async def respond(answer: Callable[[str, JsonObject], Awaitable[Any]], heard: PeerMessage) -> JsonObject:
    """Return the message that answers a request, whatever comes of it."""
    try:
        result = await answer(heard.method, heard.params)
    except UnknownMethodError as error:
        return refusal(heard.key, METHOD_NOT_FOUND, say_error(error))
    except NotFoundError as error:
        return refusal(heard.key, NOT_FOUND, say_error(error))
    except UserError as error:
        return refusal(heard.key, INVALID_PARAMS, say_error(error))
    except ShipmateError as error:
        return refusal(heard.key, INTERNAL_ERROR, say_error(error))
    except Exception as error:
        # A bug ends one answer, not what else is going on here.
        log.exception("%s cannot be answered", heard.method)
        return refusal(heard.key, INTERNAL_ERROR, f"something went wrong here ({type(error).__name__})")
    return {"jsonrpc": "2.0", "id": heard.key, "result": result}


def refusal(key: object, code: int, words: str) -> JsonObject:
    """Return the message that refuses one."""
    return {"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": words}}


class LinePeer:
    """The program on the other side: what it asks is answered at once and side by side."""

    def __init__(
        self,
        answer: Callable[[str, JsonObject], Awaitable[Any]],
        hear: Callable[[str, JsonObject], None],
        *,
        input_: int = 0,
        output: int = 1,
    ) -> None:
        self._answer = answer
        self._hear = hear
        self._input, self._output = input_, output
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(AHEAD)
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._held = 0
        # Whether the other side has left.
        self.is_gone = False
        self._asked: dict[int, asyncio.Future[Any]] = {}
        # What is being answered, by the id it was asked under.
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[None]] = set()
        self._number = 0
        self._loop = asyncio.get_running_loop()

    async def serve(self) -> None:
        """Take what the other side says until it closes its end, or reads no more."""
        # Threads, since whatever was given as input and output may be a pipe, a terminal or a file. They end
        # with the process: one may wait for a program that never says anything again.
        writer = threading.Thread(target=self._write, daemon=True)
        writer.start()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            while not self.is_gone and (line := await self._lines.get()) is not None:
                self._take(line)
            if self._tasks and not self.is_gone:
                # Whoever says no more may still read: what is nearly answered is.
                await asyncio.wait(self._tasks.values(), timeout=LEAVING_SECONDS)
        finally:
            self._leave()
            tasks = [*self._tasks.values(), *self._others]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._outgoing.put(None)
            await asyncio.to_thread(writer.join, LEAVING_SECONDS)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside, for as long as the other side is there."""
        task = asyncio.ensure_future(work)
        self._others.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._others.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("something that went on beside has failed: %s", error, exc_info=error)

    async def ask(self, method: str, params: JsonObject) -> Any:
        """Ask the other side and wait for its answer; it is told when nobody waits any more."""
        self._number += 1
        number = self._number
        waiting = self._asked[number] = self._loop.create_future()
        try:
            if self.is_gone:
                raise AskedError("the other side has left")
            self._send(request(number, method, params))
            return await waiting
        except asyncio.CancelledError:
            self.tell("$/cancel_request", {"requestId": number})
            raise
        finally:
            del self._asked[number]

    def tell(self, method: str, params: JsonObject) -> None:
        """Tell the other side something."""
        self._send(notification(method, params))

    def cancel(self, key: object) -> None:
        """End what is being answered under an id."""
        task = self._tasks.get(key) if isinstance(key, int | str) else None
        if task is not None:
            task.cancel()

    def _take(self, line: bytes) -> None:
        if len(line) > LINE_LIMIT:
            return self._send(refusal(None, PARSE_ERROR, f"a line has more than {LINE_LIMIT:,} bytes"))
        if not line.strip():
            return None
        heard = read_message(line)
        if heard.refusal is not None:
            return self._send(heard.refusal)
        if not heard.method:
            return self._settle(heard.key, heard.message)
        if not heard.is_request:
            return self._hear(heard.method, heard.params)
        key = heard.key
        if key in self._tasks:
            return self._send(refusal(key, INVALID_REQUEST, "a request of this id is being answered"))
        task = self._tasks[key] = asyncio.ensure_future(self._respond(heard))
        task.add_done_callback(lambda _: self._tasks.pop(key, None))
        return None

    def _settle(self, key: object, message: JsonObject) -> None:
        waiting = self._asked.get(key) if type(key) is int else None
        if waiting is None or waiting.done():
            return
        if "error" in message:
            waiting.set_exception(AskedError("the other side refused what it was asked"))
        else:
            waiting.set_result(message["result"])

    async def _respond(self, heard: PeerMessage) -> None:
        try:
            self._send(await respond(self._answer, heard))
        except asyncio.CancelledError:
            self._send(refusal(heard.key, CANCELLED, "cancelled"))
            raise

    def _send(self, message: JsonObject) -> None:
        if self.is_gone:
            return
        data = encode(message) + b"\n"
        self._held += len(data)
        if self._held > HELD_LIMIT:
            self._leave()
        self._outgoing.put(data)

    def _leave(self) -> None:
        """Part from the other side: nothing is sent any more, and nothing waited for."""
        self.is_gone = True
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(AskedError("the other side has left"))
        with suppress(asyncio.QueueFull):
            self._lines.put_nowait(None)

    def _write(self) -> None:
        while (data := self._outgoing.get()) is not None:
            size = len(data)
            try:
                while data:
                    data = data[os.write(self._output, data) :]
            except OSError:
                self._call(self._leave)
                return
            self._call(self._release, size)

    def _release(self, size: int) -> None:
        self._held -= size

    def _call(self, function: Callable[..., None], *given: Any) -> None:
        # The loop may have ended meanwhile.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *given)

    def _read(self) -> None:
        """Cut what comes into lines; of one that is too long only the beginning is kept."""
        kept = bytearray()
        while data := self._read_piece():
            *lines, rest = data.split(b"\n")
            for line in lines:
                if not self._pass_on(bytes(kept + line)):
                    return
                kept = bytearray()
            # A piece more than may be is enough to refuse it.
            if len(kept) <= LINE_LIMIT:
                kept += rest
        self._pass_on(None)

    def _read_piece(self) -> bytes:
        try:
            return os.read(self._input, PIECE)
        except OSError:
            return b""

    def _pass_on(self, line: bytes | None) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
        except (RuntimeError, asyncio.CancelledError):
            # Nobody listens any more.
            return False
        return True

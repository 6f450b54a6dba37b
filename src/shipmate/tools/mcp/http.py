"""Talk to an MCP server over streamable HTTP: what is posted, and the stream on which it speaks by itself."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol
from urllib.parse import urljoin

from shipmate.errors import ToolError
from shipmate.models.wire.sse import EventParser, EventTooLongError, ServerEvent
from shipmate.tools.mcp.http_request import HttpReply, open_client, origin_of, send_request
from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake, IntakeError
from shipmate.tools.mcp.rpc import (
    NEW_VERSION,
    LoginNeededError,
    NotSentError,
    RefusedError,
    UnsureError,
    answers,
    decode,
    encode,
    first_line,
    result_of,
)
from shipmate.values.message import JsonObject

# An answer can be a stream of many events; each of them is a message and counted as one.
STREAM_LIMIT = 64_000_000
HOP_LIMIT = 4
# How long is waited before a broken stream is taken up again, when the server does not say.
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0
# A broken answer is asked for again so often in a row before it counts as lost.
RESUME_LIMIT = 5
PEEK_LIMIT = 4_000
FAREWELL_SECONDS = 2.0
# What is named in a header of its own, by method.
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# A stream that lasted so long did not fail, though it ended.
STEADY_SECONDS = 5.0


class Credential(Protocol):
    """What lets us in at a server."""

    async def header(self, url: str) -> str | None:
        """Return the value of the Authorization header for an address, if there is one to send there."""
        ...

    async def renew(self, refused: str | None) -> bool:
        """Get another after the server refused this one; return whether there is another."""
        ...

    def refusal(self, status: int, challenge: str) -> str:
        """Return what a person has to do when the server does not let us in."""
        ...


class HttpWire:
    """One session with a server."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        intake: Intake,
        hear: Callable[[JsonObject], None],
        credential: Credential,
        # Called when the stream was away for a while: what was said meanwhile is not known.
        missed: Callable[[], None],
    ) -> None:
        self._url = url
        self._own = dict(headers)
        self._intake = intake
        self._hear = hear
        self._credential = credential
        self._missed = missed
        self._client = open_client()
        self._session_id = ""
        self._version = ""
        self._listening: asyncio.Task[None] | None = None
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_refused = False

    async def open(self) -> None:
        """Do nothing: a session begins with the first request."""

    @property
    def is_open(self) -> bool:
        """Return whether the session holds, as far as is known."""
        return not self._is_refused

    def settle(self, version: str) -> None:
        """Speak a version from now on."""
        self._version = version

    def listen(self) -> None:
        """Begin to hear what the server says by itself."""
        self._listening = asyncio.create_task(self._listen())

    async def exchange(self, message: JsonObject) -> JsonObject:
        """Send a request and return the message that answers it."""
        number = message["id"]
        async with self._flight(), self._send("POST", encode(message), self._route(message)) as reply:
            if message["method"] == "initialize":
                self._take_session(reply)
            found = await self._find_answer(reply, number)
        if message["method"] == "initialize":
            self.settle(str(result_of(found).get("protocolVersion", "")))
        return found

    async def tell(self, message: JsonObject) -> None:
        """Send a message that wants no answer."""
        async with self._flight(), self._send("POST", encode(message)):
            pass

    async def close(self, *, patient: bool = False) -> None:
        """End the session; a patient one waits for all that is on its way."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(None if patient else FAREWELL_SECONDS):
                await self._idle.wait()
        if self._session_id and not self._is_refused:
            # The server may be gone: a session ends without our word as well.
            with suppress(ToolError, TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS), self._send("DELETE"):
                    pass
        await self._client.close()

    @asynccontextmanager
    async def _flight(self) -> AsyncGenerator[None]:
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    def _take_session(self, reply: HttpReply) -> None:
        given = reply.headers.get("mcp-session-id", "")
        if given.isascii() and given.isprintable() and len(given) <= PEEK_LIMIT:
            self._session_id = given

    @asynccontextmanager
    async def _send(
        self, method: str, body: bytes = b"", more: Mapping[str, str] | None = None
    ) -> AsyncGenerator[HttpReply]:
        """Send a request of the session; raises RefusedError for whatever is not let through."""
        url, has_renewed = self._url, False
        for _ in range(HOP_LIMIT):
            token = await self._credential.header(url)
            headers = self._headers(method, token, more or {})
            async with send_request(self._client, self._intake, method, url, headers, body) as reply:
                if reply.status in (307, 308):
                    url = _follow(url, reply)
                    continue
                if reply.status == 401 and not has_renewed and await self._credential.renew(token):
                    has_renewed = True
                    continue
                await self._check(reply)
                yield reply
                return
        raise RefusedError("it redirects without end")

    def _route(self, message: JsonObject) -> dict[str, str]:
        """Return the headers that say what a message asks for, where a version wants them."""
        if self._version != NEW_VERSION:
            return {}
        named = message["params"].get(NAMES.get(message["method"], ""))
        more = {"mcp-name": _plain(named)} if isinstance(named, str) else {}
        return {"mcp-method": message["method"], **more}

    def _headers(self, method: str, token: str | None, more: Mapping[str, str]) -> dict[str, str]:
        headers = {name.lower(): value for name, value in self._own.items()} | dict(more)
        headers["accept"] = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        if method == "POST":
            headers["content-type"] = "application/json"
        if token is not None:
            headers["authorization"] = token
        if self._session_id:
            headers["mcp-session-id"] = self._session_id
        if self._version:
            headers["mcp-protocol-version"] = self._version
        return headers

    async def _check(self, reply: HttpReply) -> None:
        """Raise for what is no success: a refusal did not run, trouble inside the server may have."""
        status = reply.status
        if 200 <= status < 300:
            return
        challenge = reply.headers.get("www-authenticate", "")
        if status == 401 or (status == 403 and "insufficient_scope" in challenge):
            raise LoginNeededError(self._credential.refusal(status, challenge), status)
        words, code = await _words_of(reply)
        if 400 <= status < 500 and status != 408:
            raise RefusedError(f"it answered {status}{words}", status, code)
        raise UnsureError(f"it answered {status}{words}")

    async def _find_answer(self, reply: HttpReply, number: int) -> JsonObject:
        if reply.media_type == "text/event-stream":
            return await self._find_in_stream(reply, number)
        if reply.media_type != "application/json":
            what = reply.media_type[:80] or "nothing"
            raise UnsureError(f"it answered with {what} in place of a message")
        data = await reply.read(self._intake, MESSAGE_LIMIT)
        for message in decode(data, self._intake):
            if answers(message, number):
                return message
            self._hear(message)
        raise UnsureError("its answer cannot be read")

    async def _find_in_stream(self, reply: HttpReply, number: int) -> JsonObject:
        """Read events until one answers; a stream that breaks off is taken up where the server lets us."""
        events, failures = EventParser(MESSAGE_LIMIT), 0
        messages = self._messages(reply, events, STREAM_LIMIT)
        while True:
            try:
                async for message in messages:
                    failures = 0
                    if answers(message, number):
                        return message
                    self._hear(message)
                trouble = "the connection was closed before it answered"
            except UnsureError as error:
                trouble = str(error)
            failures += 1
            if not events.mark or failures > RESUME_LIMIT:
                raise UnsureError(trouble)
            await asyncio.sleep(_pause(events, failures))
            messages = self._resume(events)

    async def _resume(self, events: EventParser) -> AsyncIterator[JsonObject]:
        events.restart()
        try:
            async with self._send("GET", more=_resumption(events)) as reply:
                async for message in self._messages(reply, events, STREAM_LIMIT):
                    yield message
        except (RefusedError, NotSentError) as error:
            # What was asked for is on its way already: that the way back is closed says nothing of it.
            raise UnsureError(str(error)) from error

    async def _messages(self, reply: HttpReply, events: EventParser, limit: int) -> AsyncIterator[JsonObject]:
        size = 0
        async for piece in reply.pieces:
            size += len(piece)
            if limit and size > limit:
                raise self._intake.refuse_size()
            if not limit:
                self._intake.count_bytes(len(piece))
            for event in self._events(events, piece):
                if event.data and event.name in ("", "message"):
                    for message in decode(event.data, self._intake):
                        yield message

    def _events(self, events: EventParser, piece: bytes) -> Iterator[ServerEvent]:
        try:
            yield from events.feed(piece)
        except EventTooLongError:
            raise self._intake.refuse_size() from None

    async def _listen(self) -> None:
        """Hear what the server says by itself, for as long as it offers a stream for that."""
        events, failures, has_heard = EventParser(MESSAGE_LIMIT), 0, False
        while True:
            try:
                async with self._send("GET", more=_resumption(events)) as reply:
                    if reply.media_type != "text/event-stream":
                        return
                    if has_heard:
                        self._missed()
                    has_heard = True
                    is_steady = await self._hear_all(reply, events)
                    failures = 0 if is_steady else failures + 1
            except RefusedError as error:
                # One that once had such a stream for us, and has none now, has forgotten the session.
                self._is_refused = has_heard and error.status in (400, 404, 410)
                return
            except IntakeError:
                return
            except (NotSentError, UnsureError):
                failures += 1
            await asyncio.sleep(_pause(events, failures))

    async def _hear_all(self, reply: HttpReply, events: EventParser) -> bool:
        """Hear one stream to its end; return whether it lasted."""
        events.restart()
        began = asyncio.get_running_loop().time()
        try:
            async for message in self._messages(reply, events, 0):
                self._hear(message)
        except UnsureError:
            # It ended, whichever way.
            pass
        return asyncio.get_running_loop().time() - began >= STEADY_SECONDS


def _resumption(events: EventParser) -> dict[str, str]:
    return {"last-event-id": events.mark} if events.mark else {}


def _plain(value: str) -> str:
    """Return a text as a header can hold it."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _pause(events: EventParser, failures: int) -> float:
    wanted = RETRY_SECONDS if events.retry_seconds is None else max(0.1, events.retry_seconds)
    return min(LONGEST_RETRY_SECONDS, wanted * 2 ** min(10, max(0, failures - 1)))


def _follow(url: str, reply: HttpReply) -> str:
    """Return where a redirect leads; keys are sent nowhere but to the server they are for."""
    target = urljoin(url, reply.headers.get("location", ""))
    try:
        is_same = origin_of(target) == origin_of(url)
    except ValueError:
        is_same = False
    if not is_same:
        raise RefusedError(f"it redirects to {first_line(target)[:100]!r}; name that address in ship.json")
    return target


async def _words_of(reply: HttpReply) -> tuple[str, int]:
    """Return what an error says, to be put behind its status, and its code."""
    with suppress(ToolError):
        data = await reply.peek(PEEK_LIMIT)
        for message in decode(data, Intake()):
            if isinstance(error := message.get("error"), dict) and error.get("message"):
                code = error.get("code")
                return f": {first_line(str(error['message']))}", code if isinstance(code, int) else 0
        if reply.media_type == "text/plain" and data:
            return f": {first_line(data.decode('utf-8', 'replace'))}", 0
    return "", 0

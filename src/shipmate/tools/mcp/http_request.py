"""Send requests to MCP servers and to those of their logins, and tell what can have become of each."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from shipmate import __version__
from shipmate.models.wire.http.trouble import HttpFault
from shipmate.tools.mcp.intake import Intake
from shipmate.tools.mcp.rpc import NotSentError, UnsureError, first_line

if TYPE_CHECKING:
    from shipmate.models.wire.client import HttpClient
    from shipmate.models.wire.http.http_answer import HttpAnswer

CONNECT_SECONDS = 15.0
# Shorter than servers keep theirs: a connection that is closed while a call is on its way leaves it unknown
# whether the call ran.
KEEP_SECONDS = 2.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class HttpReply(msgspec.Struct, frozen=True):
    """An answer whose body is still to be read; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, intake: Intake, limit: int) -> bytes:
        """Return the whole body; raises IntakeError when it is longer than the limit."""
        data = bytearray()
        async for piece in self.pieces:
            data += piece
            if len(data) > limit:
                raise intake.refuse_size()
        return bytes(data)

    async def peek(self, limit: int) -> bytes:
        """Return the beginning of the body."""
        data = bytearray()
        async for piece in self.pieces:
            data += piece
            if len(data) >= limit:
                break
        return bytes(data[:limit])


def open_client() -> HttpClient:
    """Return a client for servers that may take their time: whoever asks says how long."""
    from shipmate.models.wire.client import HttpClient, Patience

    patience = Patience(connect=CONNECT_SECONDS, write=None, first=None, stall=None)
    return HttpClient(os.environ, patience, idle_seconds=KEEP_SECONDS)


@asynccontextmanager
async def send_request(
    client: HttpClient, intake: Intake, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> AsyncGenerator[HttpReply]:
    """Send a request once; raises NotSentError when nothing of it left, UnsureError when some may have."""
    headers = {"user-agent": f"Shipmate/{__version__}", **headers}
    content = body if body or method == "POST" else None
    try:
        async with (
            client.send(method, url, headers=headers, content=content, takes_redirects=True) as answer,
            aclosing(_read_pieces(answer, intake)) as pieces,
        ):
            yield HttpReply(answer.status, answer.headers, pieces)
    except HttpFault as fault:
        if fault.is_unsent:
            raise NotSentError(f"it cannot be reached ({first_line(fault.words)})") from fault
        raise UnsureError(f"the connection was cut ({first_line(fault.words)})") from fault


async def _read_pieces(answer: HttpAnswer, intake: Intake) -> AsyncGenerator[bytes]:
    # Compressed answers would be small here and large behind.
    if answer.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise intake.refuse("a compressed answer, which was not asked for")
    try:
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                yield piece
    except HttpFault as fault:
        raise UnsureError(f"the connection was cut ({first_line(fault.words)})") from fault


def origin_of(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address; raises ValueError where there are none."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    if scheme not in ("http", "https") or not host:
        raise ValueError(f"{url[:200]!r} is no http or https address")
    return scheme, host, parts.port or (443 if scheme == "https" else 80)


def is_loopback(url: str) -> bool:
    """Return whether an address names this machine itself."""
    return origin_of(url)[1] in LOOPBACK

"""Send HTTP requests and read answers piece by piece; no other module here knows the library for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from shipmate.tools.mcp.intake import Intake
from shipmate.tools.mcp.rpc import NotSentError, UnsureError, first_line

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 15.0
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


class HttpClient:
    """Connections to servers; no redirect is followed and no cookie kept."""

    def __init__(self, intake: Intake) -> None:
        import httpx2

        self._intake = intake
        self._client = httpx2.AsyncClient(
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
            # Kept for a shorter time than servers keep theirs: one that is closed while a call is on its way
            # leaves it unknown whether the call ran.
            limits=httpx2.Limits(keepalive_expiry=KEEP_SECONDS),
            # What is on this machine is not asked for at a proxy.
            mounts={f"all://{f'[{name}]' if ':' in name else name}": None for name in LOOPBACK},
        )

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncGenerator[HttpReply]:
        """Send a request; raises NotSentError when it did not arrive, UnsureError when it may have."""
        import httpx2

        # Compressed answers would be small here and large behind.
        headers = {**headers, "accept-encoding": "identity"}
        never_sent = (
            httpx2.ConnectError,
            httpx2.ConnectTimeout,
            httpx2.PoolTimeout,
            httpx2.ProxyError,
            httpx2.UnsupportedProtocol,
            httpx2.LocalProtocolError,
            httpx2.InvalidURL,
        )
        self._client.cookies.clear()
        try:
            async with self._client.stream(method, url, headers=headers, content=body or None) as response:
                yield HttpReply(response.status_code, _plain(response.headers), self._pieces(response))
        except never_sent as error:
            raise NotSentError(f"it cannot be reached ({_cause(error)})") from error
        except httpx2.HTTPError as error:
            raise UnsureError(f"the connection was cut ({_cause(error)})") from error

    async def _pieces(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise self._intake.refuse("a compressed answer, which was not asked for")
        async for piece in response.aiter_raw():
            yield piece

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _plain(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _cause(error: Exception) -> str:
    return first_line(str(error)) or type(error).__name__


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

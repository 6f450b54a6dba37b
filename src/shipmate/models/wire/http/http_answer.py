"""An answer over HTTP while it comes in."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Protocol

from shipmate.models.wire.http.trouble import HttpFault
from shipmate.models.wording import say

# What may still come after all that was wanted, so that the connection can be used again.
REST_SECONDS = 0.25
REST_LIMIT = 65_536
PIECE = 65_536
GZIP_OR_ZLIB = 47


class Response(Protocol):
    """What is known of an answer before its body, and where that comes from."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def stream(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class HttpAnswer:
    """Status, headers and body of one answer."""

    def __init__(self, response: Response, host: str) -> None:
        self.status = response.status
        self.headers = _read_headers(response.headers)
        self._response = response
        self._host = host
        self._body = response.stream

    async def pieces(self, wire_limit: int | None = None) -> AsyncGenerator[bytes]:
        """Go over the body as it comes; raise `HttpFault` when it breaks off, stalls or cannot be read.

        `wire_limit` counts what comes before it is unpacked: that can be long and hold nothing.
        """
        coding = _find_coding(self.headers, self._host)
        size = 0
        while (piece := await self._next()) is not None:
            size += len(piece)
            if wire_limit is not None and size > wire_limit:
                raise HttpFault("too-large", say("too-many-bytes", host=self._host, limit=wire_limit))
            if coding is None:
                yield piece
            else:
                for decoded in coding.decode(piece):
                    yield decoded
        if coding is not None and not coding.is_over:
            raise HttpFault("cut", say("ended", host=self._host))

    async def read(self, limit: int, *, cut: bool = False, wire_limit: int | None = None) -> bytes:
        """Return the body; one past the limit is cut there, or raises `HttpFault`."""
        found: list[bytes] = []
        size = 0
        async with aclosing(self.pieces(wire_limit)) as pieces:
            async for piece in pieces:
                found.append(piece)
                size += len(piece)
                if size > limit and not cut:
                    raise HttpFault("too-large", say("too-many-bytes", host=self._host, limit=limit))
                if size > limit:
                    break
        return b"".join(found)[:limit]

    async def close(self) -> None:
        """Free the connection when the answer was read to its end, else close it."""
        await self._response.aclose()

    async def rest(self) -> None:
        """Read the little that may follow all that was wanted; the connection is then free for others."""
        size = 0
        try:
            async with asyncio.timeout(REST_SECONDS):
                while size < REST_LIMIT and (piece := await self._next()) is not None:
                    size += len(piece)
        except (TimeoutError, HttpFault):
            return

    async def _next(self) -> bytes | None:
        try:
            return await anext(self._body, None)
        except HttpFault as fault:
            raise HttpFault("stalled" if fault.kind == "timeout" else fault.kind, fault.words) from None


class _Coding:
    """A body that was packed although nobody asked for it, as some proxies do."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._inflate = zlib.decompressobj(GZIP_OR_ZLIB)
        self._is_begun = False

    @property
    def is_over(self) -> bool:
        """Return whether the end came, or nothing at all."""
        return self._inflate.eof or not self._is_begun

    def decode(self, piece: bytes) -> Iterator[bytes]:
        """Unpack a piece bit by bit: a few bytes can stand for gigabytes."""
        try:
            if not self._is_begun and piece:
                self._is_begun = True
                self._choose(piece)
            while piece and not self._inflate.eof:
                unpacked = self._inflate.decompress(piece, PIECE)
                piece = self._inflate.unconsumed_tail
                if not unpacked and not piece:
                    return
                yield unpacked
        except zlib.error:
            raise HttpFault("encoding", say("packed-badly", host=self._host)) from None

    def _choose(self, piece: bytes) -> None:
        # `deflate` comes with and without its header.
        if piece[:1] not in (b"\x1f", b"\x78"):
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)


def _find_coding(headers: Mapping[str, str], host: str) -> _Coding | None:
    named = headers.get("content-encoding", "").strip().lower()
    if named in ("", "identity"):
        return None
    if named in ("gzip", "x-gzip", "deflate"):
        return _Coding(host)
    raise HttpFault("encoding", say("packed-oddly", host=host, coding=repr(named[:40])))


def _read_headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in raw:
        # The first one counts; no header that is read here may come twice.
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found

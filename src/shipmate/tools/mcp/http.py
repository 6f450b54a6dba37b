"""Reach an MCP server over HTTP, with limits on what an answer holds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake, IntakeError, count_values

# An answer can be a stream of many events; each of them is a message and counted as one by the client.
STREAM_LIMIT = 64_000_000


class BoundedTransport(httpx2.AsyncBaseTransport):
    """A transport whose answers end when they hold too much."""

    def __init__(self, intake: Intake, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._inner = inner or httpx2.AsyncHTTPTransport()
        self._intake = intake

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # Compressed answers would be small here and large behind.
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            await response.aclose()
            raise httpx2.ReadError(str(self._intake.refuse("a compressed answer, which was not asked for")))
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        stream = _BoundedBytes(response.stream, self._intake, is_stream=is_stream)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedBytes(httpx2.AsyncByteStream):
    """The bytes of one answer."""

    def __init__(self, inner: httpx2.AsyncByteStream, intake: Intake, *, is_stream: bool) -> None:
        self._inner = inner
        self._intake = intake
        self._is_stream = is_stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = values = 0
        async for data in self._inner:
            size += len(data)
            values += count_values(data)
            try:
                self._check(size, values)
            except IntakeError as error:
                raise httpx2.ReadError(str(error)) from error
            if self._is_stream and (ended := max(data.rfind(b"\n\n"), data.rfind(b"\r\n\r\n"))) >= 0:
                # A blank line ends a message; what stands behind it belongs to the next.
                values = count_values(data[ended:])
            yield data

    def _check(self, size: int, values: int) -> None:
        if size > (STREAM_LIMIT if self._is_stream else MESSAGE_LIMIT):
            raise self._intake.refuse_size()
        self._intake.check(values)

    async def aclose(self) -> None:
        await self._inner.aclose()

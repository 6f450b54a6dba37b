"""Bound what an MCP server sends: the size of a message, what it unpacks to, and how many come."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from shipmate.errors import ToolError

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

MESSAGE_LIMIT = 8_000_000
# Values of one message, by the marks between them: each becomes an object many times the size of its text.
VALUE_LIMIT = 1_000_000
MARKS = (b",", b"[", b"{")
# Messages at once, and for each second after that; one that sends more keeps us busy with nothing.
BURST_LIMIT = 2_000
RATE_LIMIT = 50


class IntakeError(ToolError):
    """The server sent more than is taken from it."""


class Intake:
    """What one server has sent over one connection; `trouble` says why it was ended."""

    def __init__(self) -> None:
        self.trouble = ""
        self._room = float(BURST_LIMIT)
        self._counted = time.monotonic()

    def refuse(self, what: str) -> IntakeError:
        """Remember and return what was too much."""
        self.trouble = f"it sent {what}"
        return IntakeError(self.trouble)

    def refuse_size(self) -> IntakeError:
        """Return the error for a message that is too long."""
        return self.refuse(
            f"a message of more than {MESSAGE_LIMIT // 1_000_000} MB; let its tool give less at once"
        )

    def check(self, values: int) -> None:
        """Raise IntakeError for a message of so many values."""
        if values > VALUE_LIMIT:
            raise self.refuse(
                f"a message of more than {VALUE_LIMIT:,} values; let its tool give less at once"
            )

    def count(self) -> None:
        """Count a message; raises IntakeError when too many come."""
        now = time.monotonic()
        self._room = min(BURST_LIMIT, self._room + (now - self._counted) * RATE_LIMIT) - 1
        self._counted = now
        if self._room < 0:
            raise self.refuse(f"more than {BURST_LIMIT:,} messages at once")


def count_values(data: bytes) -> int:
    """Return how many values a text of JSON can have at most."""
    return sum(data.count(mark) for mark in MARKS)


@asynccontextmanager
async def bound(
    transport: AbstractAsyncContextManager[TransportStreams], intake: Intake
) -> AsyncGenerator[TransportStreams, None]:
    """Open a transport whose incoming messages are counted and cleaned."""
    async with transport as (reading, writing):
        yield _Bounded(reading, intake), writing


class _Bounded:
    """A stream of messages, without what a server could keep the client busy with."""

    def __init__(self, stream: Any, intake: Intake) -> None:
        self._stream = stream
        self._intake = intake

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        import anyio

        try:
            return self._take(await self._stream.receive())
        except IntakeError as error:
            raise anyio.EndOfStream from error

    async def aclose(self) -> None:
        await self._stream.aclose()

    def close(self) -> None:
        self._stream.close()

    def __aiter__(self) -> _Bounded:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return self._take(await self._stream.__anext__())
        except IntakeError as error:
            # The end of the stream is the end of the connection.
            raise StopAsyncIteration from error

    async def __aenter__(self) -> _Bounded:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)

    def _take(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        self._intake.count()
        return message if isinstance(message, Exception) else _without_output_schemas(message)


def _without_output_schemas(message: SessionMessage) -> SessionMessage:
    """Drop the schemas the client would check results with: a pattern in one can take it years."""
    result = getattr(message.message, "result", None)
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            tool.pop("outputSchema", None)
    return message

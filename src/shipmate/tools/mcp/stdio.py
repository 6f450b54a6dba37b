"""Start an MCP server and talk to it line by line, with a limit on the length of a line."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake, IntakeError, count_values

if TYPE_CHECKING:
    from mcp import StdioServerParameters
    from mcp.client._transport import TransportStreams

# What of a server's complaints is kept, for each time it is started.
LOG_LIMIT = 10_000_000
# A server told to end gets so long, twice.
GRACE_SECONDS = 2.0


@asynccontextmanager
async def open_stdio(
    server: StdioServerParameters, log: Path, intake: Intake
) -> AsyncGenerator[TransportStreams, None]:
    """Start a server; it and all it started end with the block."""
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=server.cwd,
        env=get_default_environment() | (server.env or {}),
        start_new_session=True,
        # The reader stops at twice its limit, and raises at once.
        limit=MESSAGE_LIMIT,
    )
    arriving, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_receive(process, arriving, intake)),
        asyncio.create_task(_send(process, leaving, arriving)),
        asyncio.create_task(_complain(process, log)),
    ]
    try:
        yield reading, writing
    finally:
        await asyncio.shield(_end(process, tasks))
        for stream in (arriving, reading, writing, leaving):
            stream.close()


async def _receive(process: Process, arriving: Any, intake: Intake) -> None:
    """Hand the server's messages on until it ends, or sends what is too much."""
    import anyio

    assert process.stdout is not None
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, IntakeError):
        async with arriving:
            while line := await _read_line(process.stdout, intake):
                await arriving.send(_parse(line))


async def _read_line(stdout: asyncio.StreamReader, intake: Intake) -> bytes:
    try:
        line = await stdout.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return b""
    except asyncio.LimitOverrunError as error:
        raise intake.refuse_size() from error
    intake.check(count_values(line))
    return line


def _parse(line: bytes) -> Any:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _send(process: Process, leaving: Any, arriving: Any) -> None:
    assert process.stdin is not None
    try:
        async with leaving:
            async for each in leaving:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
    except OSError:
        # It no longer reads: nothing it still says answers us.
        await arriving.aclose()


async def _complain(process: Process, log: Path) -> None:
    """Keep the first of what the server writes to its error output, and drop the rest."""
    assert process.stderr is not None
    with log.open("ab") as file:
        left = LOG_LIMIT
        while data := await process.stderr.read(65_536):
            if left > 0:
                _write(file, data[:left])
                left -= len(data)


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()


async def _end(process: Process, tasks: list[asyncio.Task[None]]) -> None:
    """Close the server's input, wait a little, and end what is left of its group."""
    assert process.stdin is not None
    receiving, sending, complaining = tasks
    for task in (receiving, sending):
        task.cancel()
    await asyncio.gather(receiving, sending, return_exceptions=True)
    process.stdin.close()
    draining = asyncio.create_task(_drain(process))
    for sign in (None, signal.SIGTERM, signal.SIGKILL):
        if sign is not None:
            _signal(process.pid, sign)
        if await _has_ended(process):
            break
    # Its own end says nothing of what it started.
    _signal(process.pid, signal.SIGKILL)
    _, held = await asyncio.wait([draining, complaining], timeout=GRACE_SECONDS)
    for task in held:
        task.cancel()
    await asyncio.gather(draining, complaining, return_exceptions=True)


async def _has_ended(process: Process) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_SECONDS):
            await process.wait()
            return True
    return False


async def _drain(process: Process) -> None:
    """Throw away what the server still prints: with a full pipe it could not end."""
    assert process.stdout is not None
    while await process.stdout.read(65_536):
        pass


def _signal(group: int, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, sign)

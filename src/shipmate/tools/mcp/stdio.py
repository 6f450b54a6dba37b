"""Start an MCP server and talk to it line by line, with a limit on the length of a line."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from shipmate.tools.mcp.intake import MESSAGE_LIMIT, Intake, IntakeError
from shipmate.tools.mcp.rpc import NotSentError, UnsureError, decode, encode
from shipmate.values.message import JsonObject
from shipmate.workspace.config import McpServer
from shipmate.workspace.layout import make_private

# What of a server's complaints is kept, for each time it is started.
LOG_LIMIT = 10_000_000
# A server told to end gets so long, twice.
GRACE_SECONDS = 2.0
# What a started server knows of ours; keys are none of it.
INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")


class StdioWire:
    """A started server; it and all it started end with `close`."""

    def __init__(
        self, server: McpServer, folder: Path, log: Path, intake: Intake, hear: Callable[[JsonObject], None]
    ) -> None:
        self._server = server
        self._folder = folder
        self._log = log
        self._intake = intake
        self._hear = hear
        self._process: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._has_ended = False

    async def open(self) -> None:
        """Start the server."""
        command = self._server.command
        assert command is not None
        own = {name: os.environ[name] for name in INHERITED if name in os.environ}
        make_private(self._log.parent)
        try:
            process = await asyncio.create_subprocess_exec(
                command,
                *self._server.args,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=self._folder,
                env=own | self._server.env,
                start_new_session=True,
                # The reader stops at twice its limit, and raises at once.
                limit=MESSAGE_LIMIT,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise NotSentError(f"{command!r} cannot be started: {why}") from error
        self._process = process
        self._tasks = [
            asyncio.create_task(self._receive(process)),
            asyncio.create_task(_complain(process, self._log)),
        ]

    def settle(self, version: str) -> None:
        """Do nothing: each message says which version it speaks."""

    def listen(self) -> None:
        """Do nothing: all that a started server says is heard."""

    @property
    def is_open(self) -> bool:
        """Return whether the server still runs and can hear us."""
        return self._process is not None and not self._has_ended and not _has_died(self._process.pid)

    async def exchange(self, message: JsonObject) -> JsonObject:
        """Send a request and return the message that answers it."""
        if not self.is_open:
            raise NotSentError("it has ended")
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[message["id"]] = waiting
        try:
            await self._write(message)
            return await waiting
        finally:
            self._waiting.pop(message["id"], None)

    async def tell(self, message: JsonObject) -> None:
        """Send a message that wants no answer."""
        if self.is_open:
            await self._write(message)

    async def close(self, *, patient: bool = False) -> None:
        """Close the server's input, wait a little, and end what is left of its group."""
        if self._process is not None:
            process, self._process = self._process, None
            await asyncio.shield(_end(process, *self._tasks))

    async def _write(self, message: JsonObject) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode(message) + b"\n")
            await self._process.stdin.drain()
        except OSError as error:
            raise UnsureError("it ended while it was spoken to") from error

    async def _receive(self, process: Process) -> None:
        """Hand the server's messages on until it ends, or sends what is too much."""
        assert process.stdout is not None
        try:
            while line := await _read_line(process.stdout, self._intake):
                for message in decode(line, self._intake):
                    self._take(message)
        except IntakeError:
            # What it still says is no longer read: the connection is over.
            pass
        finally:
            self._has_ended = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(UnsureError(self._intake.trouble or "it ended before it answered"))

    def _take(self, message: JsonObject) -> None:
        number = message.get("id")
        # Python takes `true` for 1.
        waiting = None
        if isinstance(number, int) and number is not True and "method" not in message:
            waiting = self._waiting.get(number)
        if waiting is None:
            self._hear(message)
        elif not waiting.done():
            waiting.set_result(message)


async def _read_line(stdout: asyncio.StreamReader, intake: Intake) -> bytes:
    try:
        return await stdout.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return b""
    except asyncio.LimitOverrunError as error:
        raise intake.refuse_size() from error


def _has_died(pid: int) -> bool:
    """Ask the system, which knows before the loop has heard of it."""
    if not hasattr(os, "waitid"):
        # Not on every system; there the end of its output tells.
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


async def _complain(process: Process, log: Path) -> None:
    """Keep the first of what the server writes to its error output, and drop the rest."""
    assert process.stderr is not None
    is_full = log.exists() and log.stat().st_size > LOG_LIMIT
    with log.open("wb" if is_full else "ab") as file:
        left = LOG_LIMIT
        while data := await process.stderr.read(65_536):
            if left > 0:
                _write_log(file, data[:left])
                left -= len(data)


def _write_log(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()


async def _end(process: Process, receiving: asyncio.Task[None], complaining: asyncio.Task[None]) -> None:
    assert process.stdin is not None
    receiving.cancel()
    await asyncio.gather(receiving, return_exceptions=True)
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

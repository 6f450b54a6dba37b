"""Run one command as a process group of its own, its output going to a spool."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

CHUNK = 65_536
GRACE_SECONDS = 2.0
# What a finished command's children may still print before they are ended.
LINGER_SECONDS = 0.5
# A command gives way to Shipmate when both want the processor.
NICENESS = 5

# Clears up after a command that ended with a code; returns lines for who reads its output.
Leave = Callable[[int | None], list[str]]


class Sink(Protocol):
    """Where what a command prints goes."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


SinkT = TypeVar("SinkT", bound=Sink)


class Process(Generic[SinkT]):
    """A running command."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        output: asyncio.StreamReader,
        pipe: asyncio.ReadTransport,
        spool: SinkT,
        leave: Leave,
        kill_signal: signal.Signals,
    ) -> None:
        self._process = process
        self._output = output
        self._pipe = pipe
        self._leave = leave
        self._kill_signal = kill_signal
        self.spool = spool
        # What there is to say of its end beside its output: a limit it ran into, what was taken away.
        self.notes: list[str] = []
        self.started = time.monotonic()
        self.ended: float | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        spool: SinkT,
        *,
        leave: Leave = lambda _: [],
        kill_signal: signal.Signals = signal.SIGKILL,
        stdin: int = asyncio.subprocess.DEVNULL,
        stderr: int | None = None,
    ) -> Process[SinkT]:
        """Start a command; what it prints goes to the spool in order, and `leave` is called after its end.

        What it reads, and where its complaints go when not to the spool, are open files.
        """
        # asyncio's own pipes would make it wait for children that outlive the command and hold them open.
        read_end, write_end = os.pipe()
        output = asyncio.StreamReader(limit=CHUNK)
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(read_end, "rb", buffering=0)
        )
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env=environment,
                stdin=stdin,
                stdout=write_end,
                stderr=write_end if stderr is None else stderr,
                start_new_session=True,
            )
        except OSError:
            pipe.close()
            raise
        finally:
            os.close(write_end)
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        return cls(process, output, pipe, spool, leave, kill_signal)

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started

    @property
    def exit_code(self) -> int | None:
        """Return the exit code once the command has ended; negative for a signal."""
        return self._process.returncode

    async def wait(self, seconds: float) -> bool:
        """Wait for the end; False when the time was up first."""
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return False
        await self._finish()
        return True

    async def stop(self) -> None:
        """End the command and all it started: politely, then by force."""
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
        except TimeoutError:
            await self.end()
        else:
            await self._finish()

    def kill(self) -> None:
        """End the command and all it started at once; its number may be another's once it has ended."""
        if self.ended is None:
            self._signal(self._kill_signal)

    async def end(self) -> None:
        """End the command and all it started at once, and wait until it is so."""
        self.kill()
        try:
            await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
        except TimeoutError:
            # Who was to end it hangs itself; what it leaves behind is ended with its group.
            self._signal(signal.SIGKILL)
            await self._process.wait()
        await self._finish()

    async def _finish(self) -> None:
        """Take what is left to read, and end what the command left behind."""
        if self.ended is not None:
            return
        self.ended = time.monotonic()
        done, _ = await asyncio.wait([self._reading], timeout=LINGER_SECONDS)
        self._signal(signal.SIGKILL)
        self.notes = await asyncio.to_thread(self._leave, self.exit_code)
        if not done:
            # Someone who left the group may still hold the pipe; nobody waits for it.
            self._reading.cancel()
        await asyncio.wait([self._reading])
        self._pipe.close()
        self.spool.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        while data := await self._output.read(CHUNK):
            self.spool.write(data)

"""Call functions on strangers' bytes in child processes that can be ended."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec

from shipmate.decoding import child
from shipmate.errors import DecodingError, DecodingLimitError

# What one answer may hold.
ANSWER_LIMIT = 64 * 1024 * 1024
# Calls that run at once; the others wait. Each may take its memory.
AT_ONCE = 2

Option = str | int | bool | None


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A function that takes bytes apart, and what it may spend on one call."""

    # Named as `module:function`: only the child process imports it.
    function: str
    # What errors call the bytes: "the page".
    subject: str
    seconds: float
    memory: int
    # A process that waits for its turn on a busy machine spends none of its seconds; this bounds that too.
    wall_seconds: float = 20.0


class WorkerCall:
    """One call of a work: it can be made once, and stopped from another thread."""

    def __init__(self, work: Work, data: bytes, options: dict[str, Option]) -> None:
        self._work = work
        self._data = data
        self._options = options
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def make(self) -> bytes:
        """Return what the function made of the bytes; raises DecodingError when it refused or was ended."""
        for is_last in (False, True):
            process = self._begin(fresh=is_last)
            watch = threading.Timer(self._work.wall_seconds, process.kill)
            watch.start()
            try:
                answer = self._exchange(process)
            finally:
                watch.cancel()
                watch.join()
            if answer is not None:
                _keep(self._work.function, process)
                return self._judge(*answer)
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
            _end(process)
            # A process that ended by itself did so before it was called.
            if self._is_stopped or process.returncode != 0:
                break
        raise DecodingLimitError(
            f"{self._work.subject} could not be read within {self._work.seconds:g} s of work and "
            f"{self._work.memory // 1_000_000} MB of memory."
        )

    def stop(self) -> None:
        """End the call's process; the call fails."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _begin(self, *, fresh: bool) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_stopped:
                raise DecodingError(f"{self._work.subject} was given up.")
            self._process = (None if fresh else _take(self._work.function)) or _start()
            return self._process

    def _exchange(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes] | None:
        """Send the call and read the answer; None when the process ended instead."""
        assert process.stdin is not None
        assert process.stdout is not None
        head = json.dumps(
            {
                "function": self._work.function,
                "seconds": self._work.seconds,
                "memory": self._work.memory,
                "options": self._options,
            }
        ).encode()
        try:
            process.stdin.write(child.HEADER.pack(len(head), len(self._data)) + head)
            process.stdin.write(self._data)
            process.stdin.flush()
            sizes = process.stdout.read(child.ANSWER.size)
            if len(sizes) < child.ANSWER.size:
                return None
            status, size = child.ANSWER.unpack(sizes)
            if size > ANSWER_LIMIT:
                return None
            answer = process.stdout.read(size)
        except OSError:
            return None
        return (status, answer) if len(answer) == size else None

    def _judge(self, status: bytes, answer: bytes) -> bytes:
        if status == child.OK:
            return answer
        said = answer.decode("utf-8", "replace")
        if status == child.REFUSED:
            raise DecodingError(said)
        kind = DecodingLimitError if said == "MemoryError" else DecodingError
        raise kind(f"{self._work.subject} could not be read: {said}.")


def call(work: Work, data: bytes, **options: Option) -> bytes:
    """Make a call and wait for it."""
    return WorkerCall(work, data, options).make()


async def call_aside(work: Work, data: bytes, **options: Option) -> bytes:
    """Make a call while the event loop goes on; a cancelled one is ended."""
    made = WorkerCall(work, data, options)
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads(), made.make)
    except asyncio.CancelledError:
        made.stop()
        raise


_pool: list[ThreadPoolExecutor] = []
# One process of each function waits to be called again: its libraries are loaded.
_idle: dict[str, subprocess.Popen[bytes]] = {}
_idle_lock = threading.Lock()


def _threads() -> ThreadPoolExecutor:
    # Its own threads: hostile pages must not take those that read files.
    if not _pool:
        _pool.append(ThreadPoolExecutor(AT_ONCE, thread_name_prefix="decoding"))
    return _pool[0]


def _start() -> subprocess.Popen[bytes]:
    package = Path(child.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-I", "-B", child.__file__, str(package)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        # Nothing of ours: no key is in reach of what the bytes may do to a library.
        env={"PATH": os.defpath},
        start_new_session=True,
    )


def _take(function: str) -> subprocess.Popen[bytes] | None:
    with _idle_lock:
        process = _idle.pop(function, None)
    if process is None or process.poll() is None:
        return process
    _end(process)
    return None


def _keep(function: str, process: subprocess.Popen[bytes]) -> None:
    with _idle_lock:
        spare = _idle.pop(function, None)
        _idle[function] = process
    if spare is not None:
        _end(spare)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it does; its pipes are closed."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


@atexit.register
def end_idle() -> None:
    """End the processes that wait to be called; a process that dies without this takes them along."""
    with _idle_lock:
        waiting = list(_idle.values())
        _idle.clear()
    for process in waiting:
        _end(process)

"""Start the real `shipmate` without waiting for its imports: forked from a process that has made them.

A started process has a folder, environment, input and outputs of its own, runs the same `main` and leaves as
Python does. What depends on how the interpreter starts needs one of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

REPOSITORY = Path(__file__).parents[2]
REQUEST_BYTES = 1 << 20
ROOMS = ("shipmate.cli", "shipmate.server", "shipmate.context.sections", "shipmate.models.rehearsal")
IMPORTED = ("shipmate.app", "shipmate.skills.ranking", "uvicorn.lifespan.on")


class Order(msgspec.Struct):
    """What to start, with its input, output and errors beside it."""

    folder: str
    environ: dict[str, str]
    arguments: list[str]


class Forked:
    """One started process, and its end."""

    def __init__(self, warm: Warm, pid: int) -> None:
        self._warm = warm
        self._pid = pid
        # Nobody else asks how it ended, so its number is its own until `wait`.
        self._handle = os.pidfd_open(pid)

    def kill(self) -> None:
        """End it as a power cut would."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def wait(self, seconds: float) -> int:
        """Wait for its end; return its exit code, negative for a signal."""
        is_late = not select.select([self._handle], [], [], seconds)[0]
        if is_late:
            self.kill()
        code = self._warm.ask(str(self._pid).encode())
        os.close(self._handle)
        if is_late:
            raise TimeoutError(f"process {self._pid} did not end within {seconds} seconds")
        return code


class Warm:
    """The process that forks the others."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm"],
                cwd=REPOSITORY,
                # What is printed is seen at once, as whoever waits for a line expects.
                env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"},
                stdin=theirs.fileno(),
            )
        assert self._socket.recv(5) == b"ready"

    def start(self, order: Order, handles: Sequence[int]) -> Forked:
        """Start `shipmate` with these for its input, output and errors."""
        return Forked(self, self.ask(msgspec.json.encode(order), handles))

    def ask(self, request: bytes, handles: Sequence[int] = ()) -> int:
        """Send an order, or the number of a process that has ended; return its number, or how it ended."""
        with self._asking:
            socket.send_fds(self._socket, [request], handles)
            return int(self._socket.recv(20))

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


@cache
def get_warm() -> Warm:
    """Return the one process of this test run that forks others."""
    warm = Warm()
    atexit.register(warm.close)
    return warm


def serve(orders: socket.socket) -> None:
    """Fork what is asked for until the other side is gone; return in a process that was forked, to run."""
    orders.send(b"ready")
    while True:
        data, handles, _, _ = socket.recv_fds(orders, REQUEST_BYTES, 3)
        if not data:
            sys.exit()
        if not handles:
            _, status = os.waitpid(int(data), 0)
            orders.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        child = os.fork()
        if child == 0:
            orders.detach()
            return become(msgspec.json.decode(data, type=Order), handles)
        for handle in handles:
            os.close(handle)
        orders.send(str(child).encode())


def become(order: Order, handles: Sequence[int]) -> None:
    """Take over what a process is started with."""
    take_over(handles)
    os.environ.clear()
    os.environ.update(order.environ)
    os.chdir(order.folder)
    sys.argv = [str(Path(sys.executable).parent / "shipmate"), *order.arguments]


def take_over(handles: Sequence[int]) -> None:
    """Make these input, output and errors, as of a process that began with them."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    # What was a file before may be a pipe now, which has no place to be asked for.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8") for number in (1, 2)
    )
    for outlet in (sys.stdout, sys.stderr):
        outlet.reconfigure(write_through=True)


def load() -> None:
    """Import what commands import when they are used."""
    for room in ROOMS:
        package = importlib.import_module(room)
        for found in pkgutil.walk_packages(package.__path__, f"{room}."):
            importlib.import_module(found.name)
    for name in IMPORTED:
        importlib.import_module(name)
    # What stays as it is need not be copied into every child by the collector.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from shipmate.cli import main

    load()
    serve(socket.socket(fileno=0))
    main()

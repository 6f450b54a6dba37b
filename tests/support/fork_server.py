"""Start processes of the real command line quickly: forked from one that has everything imported.

Each is a process of its own as `shipmate` makes it, but for its model and tools, which stamp marks.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib
import os
import pty
import random
import signal
import socket
import struct
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Self

import msgspec

from tests.support.terminal import environment
from tests.support.warm import take_over

REPOSITORY = Path(__file__).parents[2]
REQUEST_BYTES = 1 << 20
IMPORTED = (
    *(f"shipmate.cli.{name}" for name in ("approvals", "ask", "chat", "talk.conversation", "group", "serve")),
    *("shipmate.app", "shipmate.server.web", "tests.support.sailor", "tests.support.teller"),
    "shipmate.adapters.telegram.telegram_adapter",
    "shipmate.adapters.feishu.feishu",
)


class Order(msgspec.Struct):
    """What to start: `shipmate ARGUMENTS…`, or the program of the Python API."""

    folder: str
    environ: dict[str, str]
    arguments: list[str]
    # Where it writes where it stands, when asked by SIGUSR2.
    stand: str
    is_program: bool = False
    # With the model that tells marks, and previews that come quickly.
    tells: bool = False


class Started:
    """One started process: what it prints, and its end."""

    def __init__(
        self, name: str, pid: int, reader: asyncio.StreamReader, stdin: int | None, log: Path
    ) -> None:
        self.name = name
        self.pid = pid
        self.lines = reader
        self.log = log
        # Whether this test has sent it a signal that ends it.
        self.is_doomed = False
        self._stdin = stdin
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._handle = None
        self.ended = asyncio.Event()
        if self._handle is None:
            self.ended.set()
        else:
            asyncio.get_running_loop().add_reader(self._handle, self._end)

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this process and no other; tell whether it was still there."""
        if self._handle is None:
            return False
        self.is_doomed = self.is_doomed or number in (signal.SIGKILL, signal.SIGTERM)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)
            return True
        return False

    async def stand(self) -> str:
        """Ask a process that hangs what it waits for."""
        path = Path(f"{self.log}.stand")
        self.signal(signal.SIGUSR2)
        await asyncio.sleep(1)
        return path.read_text() if path.exists() else "nothing is known"

    def write(self, data: bytes) -> bool:
        """Write to its standard input, or press keys; False when it is gone."""
        try:
            return self._stdin is not None and os.write(self._stdin, data) == len(data)
        except OSError:
            return False

    def close_input(self) -> None:
        """Say that nothing more comes."""
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    def _end(self) -> None:
        assert self._handle is not None
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._handle = None
        self.ended.set()


class ForkServer:
    """The process that forks the others; `async with` starts and ends it."""

    def __init__(self, folder: Path, logs: Path, *, tells: bool = False) -> None:
        self._folder = folder
        self._tells = tells
        self._logs = logs
        self._count = 0
        # One at a time: the next answer is to the last order.
        self._ordering = asyncio.Lock()
        # How processes ended: their number and code, negative for a signal.
        self.exits = logs / "exits"
        self.started: list[Started] = []

    async def __aenter__(self) -> Self:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.fork_server", str(self.exits)),
            cwd=REPOSITORY,
            stdin=theirs.fileno(),
        )
        theirs.close()
        assert await asyncio.to_thread(ours.recv, 5) == b"ready"
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self.started:
            each.signal(signal.SIGCONT)
            each.signal(signal.SIGKILL)
        self._socket.close()
        await self._process.wait()
        for each in self.started:
            await each.ended.wait()
            each.close_input()

    def exit_code(self, process: Started) -> str:
        """Return how a process ended."""
        ends = dict(line.split() for line in self.exits.read_text().splitlines())
        return ends.get(str(process.pid), "unknown")

    async def start(self, name: str, *arguments: str, is_program: bool = False) -> Started:
        """Start `shipmate` with arguments, or the program of the Python API."""
        read, write = os.pipe()
        inward, outward = os.pipe() if is_program else (os.open(os.devnull, os.O_RDONLY), None)
        return await self._order(name, arguments, read, (inward, write), outward, is_program=is_program)

    async def start_in_terminal(self, name: str, *arguments: str) -> Started:
        """Start `shipmate` in a terminal of its own."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        return await self._order(name, arguments, os.dup(ours), (theirs, os.dup(theirs)), ours)

    async def _order(
        self,
        name: str,
        arguments: Sequence[str],
        read: int,
        given: tuple[int, int],
        stdin: int | None,
        *,
        is_program: bool = False,
    ) -> Started:
        self._count += 1
        log = self._logs / f"{self._count:04}-{name}.log"
        errors = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
        environ = environment(self._folder, PROMPT_TOOLKIT_NO_CPR="1")
        order = Order(str(self._folder), environ, list(arguments), f"{log}.stand", is_program, self._tells)
        # A terminal shows what goes wrong; elsewhere it is kept apart.
        handles = [*given, given[1] if stdin is not None and not is_program else errors]
        async with self._ordering:
            socket.send_fds(self._socket, [msgspec.json.encode(order)], handles)
            pid = int(await asyncio.to_thread(self._socket.recv, 20))
        for handle in (*given, errors):
            os.close(handle)
        reader = asyncio.StreamReader(limit=2**22)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", buffering=0)
        )
        started = Started(name, pid, reader, stdin, log)
        self.started.append(started)
        return started


def serve() -> None:
    """Fork what is asked for until the other side is gone."""
    for name in IMPORTED:
        importlib.import_module(name)
    orders = socket.socket(fileno=0)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: reap(Path(sys.argv[1])))
    orders.send(b"ready")
    while True:
        data, handles, _, _ = socket.recv_fds(orders, REQUEST_BYTES, 3)
        if not data:
            return
        child = os.fork()
        if child == 0:
            become(msgspec.json.decode(data, type=Order), handles)
        for handle in handles:
            os.close(handle)
        orders.send(str(child).encode())


def reap(exits: Path) -> None:
    """Write down how children ended, where who asks for them can read it."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with exits.open("a") as file:
                file.write(f"{ended[0]} {os.waitstatus_to_exitcode(ended[1])}\n")


def become(order: Order, handles: Sequence[int]) -> NoReturn:
    """Be the process that was asked for, to its end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        take_over(handles)
        random.seed()
        signal.signal(signal.SIGUSR2, lambda _number, _frame: tell_stand(Path(order.stand)))
        os.environ.clear()
        os.environ.update(order.environ)
        os.chdir(order.folder)
        code = run(order)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def tell_stand(path: Path) -> None:
    """Write down what every task waits for."""
    with path.open("w") as file:
        for task in asyncio.all_tasks():
            task.print_stack(file=file)


def run(order: Order) -> int:
    """Run the command line with the model that stamps."""
    from shipmate.app import Shipmate
    from shipmate.cli.group import run as run_command
    from tests.support.sailor import main
    from tests.support.stamp import Stamper, make_toolset
    from tests.support.teller import Teller, hurry

    model = Teller() if order.tells else Stamper()
    if order.tells:
        hurry()
    really_open = Shipmate.open

    def open_with_stamper(root: Path, **_: Any) -> Any:
        return really_open(root, model=model, environ={}, toolset=make_toolset())

    Shipmate.open = open_with_stamper  # pyright: ignore[reportAttributeAccessIssue]
    sys.argv[1:] = order.arguments
    if order.is_program:
        asyncio.run(main(Path(order.folder)))
        return 0
    return run_command(order.arguments)


if __name__ == "__main__":
    serve()

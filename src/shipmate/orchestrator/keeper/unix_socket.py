"""Meet on one machine: a file lock says who keeps, a Unix socket in `.ship` leads to it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

from shipmate.orchestrator.keeper import frame as frames
from shipmate.workspace.disk.disk import refusals
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout

# What a socket's path may hold, on the strictest system.
PATH_LIMIT = 100
FRAME_LIMIT = 256 << 20
HEAD = struct.Struct(">I")
# How long a process that is not let in may take to say what it came for.
PARTING_SECONDS = 1.0
# How often a line of ancestors is followed that breaks because one of them ends.
WALKS = 5
# How often the keeper looks whether its names in `.ship` still lead to it: someone may have deleted them.
TEND_SECONDS = 1.0
# Socket options of macOS that Python has no names for.
SOL_LOCAL, LOCAL_PEERPID = 0, 2
log = logging.getLogger(__name__)
FILE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class UnixSocket:
    """The lock and the socket of one workspace."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lock = KeeperLock(layout)
        self._server: asyncio.Server | None = None
        # The socket this process made, to tell it from none and from another's.
        self._made: os.stat_result | None = None
        self._tending: asyncio.Task[None] | None = None

    def hold(self) -> bool:
        """Take the lock if it is free; the system frees it when the process ends, however it ends."""
        with refusals(self._layout.keeper_lock, self._layout.root):
            return self._lock.take()

    def holder(self) -> int | None:
        """Return the process that keeps, or None when none does."""
        return self._lock.holder()

    def release(self) -> None:
        """Let another process keep."""
        self._lock.release()

    async def listen(self, welcome: Callable[[StreamLink], Awaitable[None]]) -> None:
        """Let processes of the same user connect that no tool started."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            link = StreamLink(reader, writer)
            pid, uid = _peer(writer.get_extra_info("socket"))
            if uid not in (None, os.getuid()):
                # Nothing is said to strangers.
                log.warning("a process was not let in: it runs as user %s", uid)
                link.close()
                return
            if (refusal := _refuse(pid)) is not None:
                log.warning("a process was not let in: %s", refusal)
                await _turn_away(link)
                return
            await welcome(link)

        with refusals(self._layout.keeper_socket, self._layout.root):
            await self._bind(serve)
        self._tending = asyncio.create_task(self._tend(serve))

    async def _bind(self, serve: Callable[..., Awaitable[None]]) -> None:
        make_private(self._layout.ship)
        with contextlib.suppress(FileNotFoundError):
            self._layout.keeper_socket.unlink()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _short(self._layout.keeper_socket) as path:
                listening.bind(path)
            self._layout.keeper_socket.chmod(0o600)
            self._made = self._layout.keeper_socket.stat()
            self._server = await asyncio.start_unix_server(serve, sock=listening, start_serving=False)
            await self._server.start_serving()
        except BaseException:
            # A server that listens already closes its socket itself, and could not once that is closed.
            self._stop_listening()
            listening.close()
            raise

    async def _tend(self, serve: Callable[..., Awaitable[None]]) -> None:
        """Make lock and socket anew when someone deleted them: others would wait for this process in vain."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            # A disk that refuses is asked again.
            with contextlib.suppress(OSError):
                self._lock.restore()
                if not self._leads_here():
                    self._stop_listening()
                    await self._bind(serve)

    def _leads_here(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return self._made is not None and os.path.samestat(self._made, self._layout.keeper_socket.stat())
        return False

    async def connect(self) -> StreamLink | None:
        """Reach the keeper; None while it starts, leaves or is not there."""
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connecting.setblocking(False)
        with refusals(self._layout.keeper_socket, self._layout.root):
            try:
                with _short(self._layout.keeper_socket) as path:
                    await asyncio.get_running_loop().sock_connect(connecting, path)
                reader, writer = await asyncio.open_unix_connection(sock=connecting)
            except (FileNotFoundError, ConnectionError, BlockingIOError):
                connecting.close()
                return None
            except BaseException:
                connecting.close()
                raise
        return StreamLink(reader, writer)

    async def close(self) -> None:
        """Let nobody in any more; who is in stays."""
        if self._tending is not None:
            self._tending.cancel()
            self._tending = None
        if self._server is not None:
            self._layout.keeper_socket.unlink(missing_ok=True)
            self._stop_listening()

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


class StreamLink:
    """A connection: each frame behind its length."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, frame: bytes) -> None:
        """Hand a frame over."""
        if self._writer.is_closing():
            raise ConnectionResetError("the link is closed")
        self._writer.write(HEAD.pack(len(frame)) + frame)
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        """Return the next frame, or None when the other side is gone."""
        try:
            (size,) = HEAD.unpack(await self._reader.readexactly(HEAD.size))
            if size > FRAME_LIMIT:
                raise ConnectionError(f"a frame of {size:,} bytes is too long")
            return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionResetError, BrokenPipeError):
            return None

    def close(self) -> None:
        """Cut the connection."""
        self._writer.close()


@contextlib.contextmanager
def _short(path: Path) -> Generator[str]:
    """Name a socket within the length its path may have: through a link to its folder when it is too long."""
    if len(os.fsencode(path)) <= PATH_LIMIT:
        yield str(path)
        return
    with tempfile.TemporaryDirectory(prefix="shipmate-") as folder:
        link = Path(folder) / "s"
        link.symlink_to(path.parent, target_is_directory=True)
        yield str(link / path.name)


async def _turn_away(link: StreamLink) -> None:
    """Say why, and wait for what was said meanwhile: cutting it off would cut off the answer too."""
    with contextlib.suppress(ConnectionError, TimeoutError):
        await link.send(frames.encode(frames.turn_away()))
        async with asyncio.timeout(PARTING_SECONDS):
            await link.receive()
    link.close()


def _refuse(pid: int | None) -> str | None:
    """Say why the process at the other end may not attach, if it may not.

    A command that a tool runs could approve itself; whatever this process started is therefore refused.
    """
    # A process outside this one's namespace has no number here; what a tool starts always has one.
    ancestors = _ancestors(pid) if pid else set()
    if ancestors is None:
        # Whoever connects and is gone may have left the link to a child.
        return f"nobody can tell who started process {pid}"
    if os.getpid() in ancestors:
        return f"process {pid} was started by a tool of this one"
    return None


def _peer(connection: socket.socket) -> tuple[int | None, int | None]:
    if sys.platform == "linux":
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, uid, _ = struct.unpack("3i", raw)
        return pid, uid
    raw = connection.getsockopt(SOL_LOCAL, LOCAL_PEERPID, struct.calcsize("i"))
    return struct.unpack("i", raw)[0], None


def _ancestors(pid: int) -> set[int] | None:
    """List the processes that a process descends from, up to the first of all; None when it is gone."""
    for _ in range(WALKS):
        found, at = set[int](), pid
        while at > 1 and (parent := _parent(at)) is not None and parent not in found:
            found.add(parent)
            at = parent
        if at <= 1:
            return found
    # A parent that ended under way would have been found replaced the next time.
    return None


def _parent(pid: int) -> int | None:
    if sys.platform != "linux":
        told = subprocess.run(
            ["/bin/ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return int(told.stdout) if told.stdout.strip().isdigit() else None
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name in parentheses may hold anything; what follows it is regular.
    return int(text.rpartition(")")[2].split()[1])


class KeeperLock:
    """The lock of one workspace: on its own folder, and on a file that names the holder.

    The file alone would not do: it may be deleted, and whoever makes it anew locks another file.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._folder: int | None = None
        self._file: int | None = None

    def take(self) -> bool:
        """Take the lock if it is free."""
        make_private(self._layout.ship)
        try:
            self._folder = self._lock_folder(fcntl.LOCK_EX)
            self._file = self._lock_file()
        except BlockingIOError:
            self.release()
            return False
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        """Let another process have it."""
        for handle in (self._file, self._folder):
            if handle is not None:
                os.close(handle)
        self._file = self._folder = None

    def restore(self) -> None:
        """Make the file anew when it was deleted or replaced; the folder is still held."""
        if self._file is None or _is_same(self._file, self._layout.keeper_lock):
            return
        make_private(self._layout.ship)
        with contextlib.suppress(BlockingIOError):
            lost, self._file = self._file, self._lock_file()
            os.close(lost)

    def holder(self) -> int | None:
        """Return the process that holds it, 0 when that cannot be read, or None when none does."""
        path = self._layout.keeper_lock
        try:
            if (folder := self._lock_folder(fcntl.LOCK_SH)) is not None:
                os.close(folder)
            os.close(_lock(path, os.O_RDWR | os.O_CLOEXEC, fcntl.LOCK_SH))
        except BlockingIOError:
            return _read_number(path)
        except FileNotFoundError:
            return None
        return None

    def _lock_folder(self, kind: int) -> int | None:
        """Lock the workspace's folder; None where the file system locks no folders: the file must do."""
        try:
            return _lock(self._layout.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, kind)
        except BlockingIOError:
            raise
        except OSError:
            return None

    def _lock_file(self) -> int:
        handle = _lock(self._layout.keeper_lock, FILE, fcntl.LOCK_EX)
        # For people: who keeps. Nothing is decided by it, so that a full disk may refuse it.
        with contextlib.suppress(OSError):
            said = f"{os.getpid()}\n".encode()
            # Written before it is cut: nobody reads an empty one.
            os.pwrite(handle, said, 0)
            os.ftruncate(handle, len(said))
        return handle


def _lock(path: Path, flags: int, kind: int) -> int:
    handle = os.open(path, flags, 0o600)
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_same(handle: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _read_number(path: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text("ascii"))
    return 0

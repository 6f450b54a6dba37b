"""Functions a child process is called with: good, bad and without end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from shipmate.errors import ToolError


def echo(data: bytes, *, times: int) -> bytes:
    return data * times


def whoami(data: bytes) -> bytes:
    return str(os.getpid()).encode()


def refuse(data: bytes) -> bytes:
    raise ToolError("no such harbour")


def fail(data: bytes) -> bytes:
    return str(1 // len(data)).encode()


def spin(data: bytes) -> bytes:
    while True:
        pass


def wait(data: bytes) -> bytes:
    threading.Event().wait()
    return b""


def hoard(data: bytes) -> bytes:
    held = [b"x" * 10_000_000 for _ in range(30)]
    return held[0][:1]


def chatter(data: bytes) -> bytes:
    os.write(1, b"+\xff\xff\xff\xff")
    print("words", flush=True)
    return data


def environment(data: bytes) -> bytes:
    return repr(dict(os.environ)).encode()


def write(data: bytes) -> bytes:
    Path(data.decode()).write_bytes(b"x")
    return b""


def report(data: bytes) -> bytes:
    handle = os.open(data.decode(), os.O_WRONLY)
    os.write(handle, str(os.getpid()).encode())
    os.close(handle)
    return spin(b"")

"""Take calls from the parent process over a pipe, each under limits of time and memory.

Run as a program. A call that passes a limit ends this process; the parent notices and says so. Nothing of
Shipmate is imported but the function a call names, so that a start costs milliseconds.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import select
import signal
import struct
import sys
from typing import Any, BinaryIO

# So long a process that nobody calls stays, and so many calls one answers: what a library leaks goes with it.
IDLE_SECONDS = 15.0
CALL_LIMIT = 50
# Above the memory a call may take: the program, its libraries and the address space they reserve.
RESERVED = 768 * 1024 * 1024

OK, REFUSED, FAILED = b"+", b"-", b"!"
HEADER = struct.Struct("<II")
ANSWER = struct.Struct("<cI")


def main() -> None:
    """Answer calls until the parent is gone, nobody calls or enough were answered."""
    sys.path.append(sys.argv[1])
    # Pieces of an answer that a killed parent will never read must not end in a traceback.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in ("RLIMIT_CORE", "RLIMIT_FSIZE"):
        _limit(name, 0)
    calls, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints must not be taken for an answer.
    os.dup2(2, 1)
    for _ in range(CALL_LIMIT):
        if not select.select([calls], [], [], IDLE_SECONDS)[0]:
            return
        request = _receive(calls)
        if request is None:
            return
        status, data = _answer(*request)
        answers.write(ANSWER.pack(status, len(data)) + data)
        answers.flush()


def _receive(calls: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    sizes = calls.read(HEADER.size)
    if len(sizes) < HEADER.size:
        return None
    head_size, data_size = HEADER.unpack(sizes)
    head, data = calls.read(head_size), calls.read(data_size)
    return (json.loads(head), data) if len(data) == data_size else None


def _answer(call: dict[str, Any], data: bytes) -> tuple[bytes, bytes]:
    try:
        module, _, name = call["function"].partition(":")
        function = getattr(importlib.import_module(module), name)
        _limit("RLIMIT_DATA", call["memory"])
        _limit("RLIMIT_AS", call["memory"] + RESERVED)
        # Whole seconds of RLIMIT_CPU are too coarse; this ends the process, in C code too.
        signal.setitimer(signal.ITIMER_PROF, call["seconds"])
        return OK, function(data, **call["options"])
    except Exception as error:  # noqa: BLE001  # the edge of the process: the parent reports it
        expected = any(kind.__module__ == "shipmate.errors" for kind in type(error).__mro__)
        said = str(error) if expected else type(error).__name__
        return REFUSED if expected else FAILED, said.encode("utf-8", "replace")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _limit(name: str, value: int) -> None:
    """Lower a limit where the system has it; the hard one stays, so that the next call can have another."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    main()

"""Write the exact request of each step to a trace, under `DEBUG=1` only, with secrets masked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from shipmate.context.kept.request_log import cover
from shipmate.values.message import JsonObject, timestamp
from shipmate.workspace.disk.private import make_private
from shipmate.workspace.layout import Layout


def is_debug(environ: Mapping[str, str]) -> bool:
    """Return whether the person asked for traces."""
    return environ.get("DEBUG", "").lower() in ("1", "true", "yes", "on")


class Trace:
    """A thread's trace file, to which requests are appended; without DEBUG nothing is written."""

    def __init__(self, layout: Layout, environ: Mapping[str, str], mask: Callable[[str], str]) -> None:
        self._layout = layout
        self._is_on = is_debug(environ)
        self._mask = mask

    def note(self, thread_id: str, run_id: str, tag: str, said: JsonObject) -> None:
        """Write what was sent or decided under a tag such as `[Debug][Send]`."""
        if self._is_on:
            row = {"at": timestamp(), "runId": run_id, "tag": tag, **cover(said, self._mask)}
            append_private(self._layout.trace(thread_id), msgspec.json.encode(row) + b"\n")

    def write(self, thread_id: str, run_id: str, step: int, request: msgspec.Struct) -> None:
        """Write one request as a line of JSON, readable by its owner alone."""
        if not self._is_on:
            return
        row = {
            "at": timestamp(),
            "runId": run_id,
            "step": step,
            "request": cover(msgspec.to_builtins(request), self._mask),
        }
        append_private(self._layout.trace(thread_id), msgspec.json.encode(row) + b"\n")


def append_private(path: Path, line: bytes) -> int:
    """Append a line to a log that only its owner can read; give the file's size."""
    make_private(path.parent)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, line)
        return os.fstat(handle).st_size
    finally:
        os.close(handle)

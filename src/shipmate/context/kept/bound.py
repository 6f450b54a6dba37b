"""Keep kept requests within their size and age, and let none outlive its thread."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from shipmate.context.kept.account import read_prompt, read_tools
from shipmate.context.kept.kept_file import FLAGS, KeptStep, KeptThread, PieceLine, read_kept, write_line
from shipmate.errors import ShipmateError
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.layout import Layout

ENDING = ".jsonl"
PASSING = ".tmp"
# What a process that was killed left half written.
PASSING_SECONDS = 3600
DAY_SECONDS = 86_400
# Where the first step of a file is looked for, and how it tells its time.
HEAD = 65_536
FIRST_STEP = re.compile(rb'"at":"([0-9TZ:.-]{20,30})"')
# What a line takes besides the bytes of its piece.
LINE_BYTES = 50


class _File(NamedTuple):
    at: float
    size: int
    name: str


def sweep(layout: Layout, settings: ContextSettings, folder: int) -> None:
    """Remove what is too old, too much, or of a thread that is gone; only the process that keeps does."""
    now = time.time()
    files: list[_File] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            found = _File(status.st_mtime, status.st_size, entry.name)
            if entry.name.endswith(PASSING) and now - found.at > PASSING_SECONDS:
                _remove(folder, found)
            elif entry.name.endswith(ENDING):
                files.append(found)
    limit = settings.keep_megabytes * 1_000_000
    for file in sorted(files, reverse=True):
        is_old = now - file.at > settings.keep_days * DAY_SECONDS
        if is_old or file.size > limit or not has_thread(layout, file.name):
            _remove(folder, file)
        else:
            limit -= file.size
            _drop_old(layout, settings, folder, file)


def _remove(folder: int, file: _File) -> None:
    # One that cannot be removed, a folder for one, takes no more room the next time either.
    with contextlib.suppress(OSError):
        os.unlink(file.name, dir_fd=folder)


def has_thread(layout: Layout, name: str) -> bool:
    """Return whether the thread of a file is there, in the bin at least."""
    try:
        thread_id = ThreadId.decode(name.removesuffix(ENDING))
    except ShipmateError:
        return False
    return layout.thread(thread_id).exists() or layout.thread_bin(thread_id).exists()


def _drop_old(layout: Layout, settings: ContextSettings, folder: int, file: _File) -> None:
    """Drop the steps that are too old from a file that still grows."""
    oldest = timestamp(datetime.now(UTC) - timedelta(days=settings.keep_days))
    with contextlib.suppress(ShipmateError, OSError):
        handle = os.open(file.name, os.O_RDONLY | FLAGS, dir_fd=folder)
        try:
            first = FIRST_STEP.search(os.read(handle, HEAD))
        finally:
            os.close(handle)
        if first is None or first[1].decode() < oldest:
            rewrite(layout, str(ThreadId.decode(file.name.removesuffix(ENDING))), folder, file.size, oldest)


def rewrite(layout: Layout, thread_id: str, folder: int, room: int, since: str = "") -> None:
    """Write a thread's file anew with the latest steps that fit some room, in one step."""
    kept = read_kept(layout, thread_id)
    name = layout.kept_requests(thread_id).name
    lines = cut_steps(kept, room, since)
    if lines is None:
        return
    data = b"".join(lines)
    passing = f".{name}.{os.getpid()}.{secrets.token_hex(4)}{PASSING}"
    handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.rename(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(passing, dir_fd=folder)
        raise


def cut_steps(kept: KeptThread, room: int, since: str = "") -> list[bytes] | None:
    """Return the lines of the latest steps that fit some room; None when all do."""
    first = _find_first(kept, room, since)
    return None if first == 0 else [*map(write_line, _lines(kept, first))]


def _find_first(kept: KeptThread, room: int, since: str) -> int:
    """Return the first step that stays: the last one does, unless it is too old."""
    seen: set[str] = set()
    last = len(kept.steps) - 1
    for place in range(last, -1, -1):
        step = kept.steps[place]
        # What comes later has the beginning of this one's messages.
        shared = 0 if place == last else kept.steps[place + 1].same
        history = kept.history(place) if place == last else step.messages[max(0, shared - step.same) :]
        for digest in {*_pieces_of(kept, step), *history} - seen:
            seen.add(digest)
            room -= len(kept.packed(digest) or b"") * 4 // 3 + LINE_BYTES
        room -= len(msgspec.json.encode(step))
        if step.at < since or (room < 0 and place < last):
            return place + 1
    return 0


def _pieces_of(kept: KeptThread, step: KeptStep) -> list[str]:
    """List the pieces of a step besides its messages, those that its own pieces name as well."""
    prompt = read_prompt(kept, step)
    sections = [each.piece for each in prompt.sections if each.piece] if prompt else []
    return [step.prompt, step.tools, *sections, *read_tools(kept, step)]


def _lines(kept: KeptThread, first: int) -> Iterator[PieceLine | KeptStep]:
    written: set[str] = set()
    for place, step in enumerate(kept.steps[first:], first):
        messages = kept.history(first) if place == first else step.messages
        for digest in dict.fromkeys([*_pieces_of(kept, step), *messages]):
            data = kept.packed(digest)
            if digest not in written and data is not None:
                written.add(digest)
                yield PieceLine(digest, data)
        yield msgspec.structs.replace(step, same=0, messages=messages) if place == first else step

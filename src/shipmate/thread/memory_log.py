"""Keep the rows of threads in memory, for tests of users and our own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from shipmate.errors import NotFoundError, UserError
from shipmate.thread.log import Position, Tail
from shipmate.thread.row import decode_row, encode_row
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId


class MemoryLog:
    """A log that keeps each thread as a list of encoded rows, so that callers share no objects with it."""

    def __init__(self) -> None:
        self._rows: dict[ThreadId, list[bytes]] = {}
        self._bin: dict[ThreadId, list[bytes]] = {}
        self._locks: defaultdict[ThreadId, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def lock(self, thread_id: ThreadId) -> AsyncGenerator[None]:
        async with self._locks[thread_id]:
            yield

    async def exists(self, thread_id: ThreadId) -> bool:
        return thread_id in self._rows

    async def ids(self) -> list[ThreadId]:
        return sorted(self._rows, key=str)

    async def read(self, thread_id: ThreadId, position: Position) -> Tail:
        lines = self._rows.get(thread_id, [])
        restarted = len(lines) < position.line
        start = 0 if restarted else position.line
        return Tail([decode_row(line) for line in lines[start:]], [], Position(0, len(lines)), restarted)

    async def append(self, thread_id: ThreadId, rows: Sequence[UIMessage], *, waits: bool = True) -> None:
        self._rows.setdefault(thread_id, []).extend(map(encode_row, rows))

    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
        if thread_id in self._rows:
            raise UserError(f"thread {thread_id} exists already; choose another id")
        self._rows[thread_id] = list(map(encode_row, rows))

    async def is_binned(self, thread_id: ThreadId) -> bool:
        return thread_id in self._bin

    async def bin(self, thread_id: ThreadId) -> None:
        _move(self._rows, self._bin, thread_id)

    async def restore(self, thread_id: ThreadId) -> None:
        _move(self._bin, self._rows, thread_id)

    async def remove(self, thread_id: ThreadId) -> None:
        self._rows.pop(thread_id, None)


def _move(
    source: dict[ThreadId, list[bytes]], target: dict[ThreadId, list[bytes]], thread_id: ThreadId
) -> None:
    if thread_id not in source:
        raise NotFoundError(f"no such thread: {thread_id}")
    if thread_id in target:
        raise UserError(f"{thread_id} exists already; remove it first")
    target[thread_id] = source.pop(thread_id)

"""Keep the rows of threads in PostgreSQL; a place in a thread is the number of its rows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import psycopg

from shipmate.errors import NotFoundError, UserError
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, statements
from shipmate.store.postgres.fence import Fences
from shipmate.thread.log import Position, Tail
from shipmate.thread.row import RowProblem, decode_row, encode_row
from shipmate.values.message import UIMessage
from shipmate.values.thread_id import ThreadId


class PostgresLog:
    """A log that keeps each row of a thread as a row of a table."""

    def __init__(self, database: PostgresDatabase, fences: Fences) -> None:
        self._database = database
        self._fences = fences
        self._sql = statements("thread")

    @asynccontextmanager
    async def lock(self, thread_id: ThreadId) -> AsyncGenerator[None]:
        """Hold a thread alone, also against other machines; a dead holder's lock is free."""
        async with self._fences.hold(str(thread_id)):
            yield

    async def exists(self, thread_id: ThreadId) -> bool:
        return await self._has(thread_id, binned=False)

    async def ids(self) -> list[ThreadId]:
        """List the threads that are not in the bin."""
        return [ThreadId.parse(row[0]) for row in await self._database.rows(self._sql["ids"])]

    async def read(self, thread_id: ThreadId, position: Position) -> Tail:
        """Read the rows after a position."""
        return await self._database.run(lambda link: self.read_in(link, str(thread_id), position), reads=True)

    async def read_in(
        self, link: AsyncLink, thread_id: str, position: Position, *, binned: bool = False
    ) -> Tail:
        """Read the rows after a position, as a transaction sees them."""
        place = {"edition": position.inode, "line": position.line}
        values = {"thread_id": thread_id, "binned": binned, **place}
        found = await (await link.execute(self._sql["read"], values)).fetchall()
        if not found:
            return Tail([], [], Position(), restarted=position.offset > 0)
        edition, lines = found[0][:2]
        restarted = position.offset > 0 and (edition != position.inode or lines < position.line)
        rows: list[UIMessage] = []
        problems: list[RowProblem] = []
        last = 0 if restarted else position.line
        for _, _, line, data in found:
            if line is None:
                continue
            try:
                rows.append(decode_row(data))
            except ValueError as error:
                problems.append(RowProblem(line, str(error)))
            last = line
        return Tail(rows, problems, Position(last, last, edition), restarted)

    async def append(self, thread_id: ThreadId, rows: Sequence[UIMessage], *, waits: bool = True) -> None:
        """Append rows; they stand when this returns, or none of them does."""
        if not rows:
            return
        name = str(thread_id)
        data = [encode_row(row).rstrip(b"\n") for row in rows]
        values = {
            "thread_id": name,
            "token": self._fences.token(name),
            "count": len(data),
            "data": data,
        }

        async def work(link: AsyncLink) -> None:
            if await (await link.execute(self._sql["append"], values)).fetchone() is None:
                raise self._fences.lost(name)

        await self._database.run(work)

    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
        """Make a thread with all its first rows, or none."""
        data = [encode_row(row).rstrip(b"\n") for row in rows]
        values = {"thread_id": str(thread_id), "count": len(data), "data": data, "after": 0}

        async def work(link: AsyncLink) -> None:
            made = await (await link.execute(self._sql["create"], values)).fetchone()
            if made is None:
                raise UserError(f"thread {thread_id} exists already; choose another id")
            await link.execute(self._sql["add_rows"], {**values, "edition": made[0]})

        await self._database.run(work)

    async def is_binned(self, thread_id: ThreadId) -> bool:
        return await self._has(thread_id, binned=True)

    async def bin(self, thread_id: ThreadId) -> None:
        """Move a thread to the bin, from where it can be restored."""
        await self._move(thread_id, binned=True)

    async def restore(self, thread_id: ThreadId) -> None:
        """Bring a thread back from the bin."""
        await self._move(thread_id, binned=False)

    async def remove(self, thread_id: ThreadId) -> None:
        """Remove a thread for good, with what lies beside it."""
        values = {"thread_id": str(thread_id)}

        async def work(link: AsyncLink) -> None:
            await self._fences.verify(link, str(thread_id))
            await link.execute(self._sql["remove"], values)
            await link.execute(self._sql["remove_sidecars"], values)
            await link.execute(self._sql["changed"])

        await self._database.run(work)

    async def _has(self, thread_id: ThreadId, *, binned: bool) -> bool:
        return bool(
            await self._database.rows(self._sql["exists"], {"thread_id": str(thread_id), "binned": binned})
        )

    async def _move(self, thread_id: ThreadId, *, binned: bool) -> None:
        async def work(link: AsyncLink) -> None:
            await self._fences.verify(link, str(thread_id))
            moved = await link.execute(self._sql["move"], {"thread_id": str(thread_id), "binned": binned})
            if not moved.rowcount:
                raise NotFoundError(f"no such thread: {thread_id}")
            await link.execute(self._sql["changed"])

        try:
            await self._database.run(work)
        except psycopg.errors.UniqueViolation as error:
            place = "bin" if binned else "list"
            raise UserError(f"{thread_id} exists already in the {place}; remove it first") from error

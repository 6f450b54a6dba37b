"""Hold threads alone in the whole fleet, and let nobody write who lost one.

A lock is a session's: it is free as soon as its holder's connection ends. Whoever takes a thread raises its
token, and each write of its holder is made in a transaction that sees the token as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import psycopg

from shipmate.errors import FencedError, StorageError
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, statements

FIRST_POLL, LONGEST_POLL = 0.01, 0.1


class Fences:
    """The threads this process holds, on one connection."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._sql = statements("fence")
        self._link: AsyncLink | None = None
        self._connecting = asyncio.Lock()
        self._tokens: dict[str, int] = {}
        # One session may take a lock twice, so within the process another one is needed.
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def token(self, thread_id: str) -> int | None:
        """Return the token of a thread that this process holds."""
        return self._tokens.get(thread_id)

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncGenerator[int]:
        """Hold a thread alone; a dead holder's lock is free."""
        own = self._own.setdefault(thread_id, asyncio.Lock())
        async with own:
            self._tokens[thread_id] = token = await self._take(thread_id)
            try:
                yield token
            finally:
                del self._tokens[thread_id]
                with contextlib.suppress(psycopg.Error):
                    if self._link is not None and not self._link.closed:
                        await self._link.execute(self._sql["release"], {"thread_id": thread_id})

    async def verify(self, link: AsyncLink, thread_id: str) -> None:
        """Let a transaction go on only while this process has not lost the thread it holds."""
        token = self._tokens.get(thread_id)
        if token is None:
            return
        values = {"thread_id": thread_id, "token": token}
        if await (await link.execute(self._sql["verify"], values)).fetchone() is None:
            raise self.lost(thread_id)

    def lost(self, thread_id: str) -> FencedError:
        """Return what is said to whoever writes to a thread that another has taken over."""
        return FencedError(f"another worker has taken {thread_id} over, so nothing more is written here")

    async def open(self) -> None:
        """Let others see that this process lives, and what it holds; called again, see to it that they do."""
        try:
            await (await self._connected()).execute(b"SELECT 1")
        except psycopg.OperationalError:
            await self._connected()

    async def close(self) -> None:
        """End the connection, and with it every lock."""
        if self._link is not None:
            await self._link.close()
            self._link = None

    async def _take(self, thread_id: str) -> int:
        wait = FIRST_POLL
        values = {"thread_id": thread_id, "worker": self._database.worker}
        while True:
            try:
                link = await self._connected()
                found = await (await link.execute(self._sql["take"], values)).fetchone()
            except psycopg.OperationalError:
                # The connection is made anew, with some patience, when it is asked for.
                continue
            if found is not None and found[0] is not None:
                return found[0]
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_POLL)

    async def _connected(self) -> AsyncLink:
        async with self._connecting:
            if self._link is not None and not self._link.closed:
                return self._link
            self._link = link = await self._reach()
            worker = {"worker": self._database.worker}
            await link.execute(self._sql["live"], worker)
            await link.execute(self._sql["register"], worker)
            for thread_id in self._tokens:
                # Somebody else may have it by now: then the token says so when something is written.
                await link.execute(self._sql["retake"], {"thread_id": thread_id})
            return link

    async def _reach(self) -> AsyncLink:
        # Waits until the database answers, or says that it does not.
        await self._database.rows(b"SELECT 1")
        try:
            return await self._database.connect()
        except StorageError:
            await self._database.rows(b"SELECT 1")
            return await self._database.connect()

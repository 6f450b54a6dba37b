"""Do what one process does for a whole fleet, where no other does: session locks on one connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import psycopg

from shipmate.errors import StorageError
from shipmate.store.postgres.database import PostgresDatabase

# How often a place that another process has is looked at, and one's own connection.
LOOK_SECONDS = 1.0
TRY = "SELECT pg_try_advisory_lock(hashtextextended('leader ' || %s, 0))"
log = logging.getLogger(__name__)


class Leading:
    """The places this process has or waits for."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._works: dict[str, Callable[[], Awaitable[None]]] = {}
        self._held: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def leads(self, name: str) -> bool:
        """Return whether this process has a place."""
        return name in self._held

    def lead(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work as soon as no other process does; it is cut off when the place is lost."""
        self._works[name] = work
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Leave every place to others."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                async with await self._database.connect() as connection:
                    while True:
                        await self._look(connection)
                        await asyncio.sleep(LOOK_SECONDS)
            except (psycopg.Error, StorageError) as error:
                log.info("places of the fleet are lost: %s", error)
            finally:
                await self._let_go()
            await asyncio.sleep(LOOK_SECONDS / 4)

    async def _look(self, connection: psycopg.AsyncConnection[tuple[bool]]) -> None:
        # Also tells whether the connection, and with it what is held, is still there.
        await connection.execute("SELECT 1")
        for name, work in self._works.items():
            if name in self._held:
                continue
            found = await (await connection.execute(TRY, [name])).fetchone()
            if found and found[0]:
                self._held[name] = asyncio.create_task(self._do(name, work))

    async def _do(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        # The process edge: what breaks in one place is logged; the others go on.
        try:
            await work()
        except Exception:
            log.exception("what is done for the fleet broke: %s", name)

    async def _let_go(self) -> None:
        held = list(self._held.values())
        self._held.clear()
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)

"""Say things to the other processes of a fleet by LISTEN and NOTIFY, joined a few times a second.

Nothing depends on it: what must not be lost stands in a table, and whoever missed something reads it there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

import psycopg
from psycopg.sql import SQL, Identifier

from shipmate.errors import StorageError
from shipmate.fleet import fleet_frame as frames
from shipmate.fleet.parcel_cut import Unpacking, pack
from shipmate.store.postgres.database import PostgresDatabase

WISHES, NEWS = "shipmate_wish", "shipmate_news"
# How long what is said waits for more, so that an answer of many pieces takes few notifications.
JOIN_SECONDS = 0.06
# How often a database that is away is looked for.
RETRY_SECONDS = 0.2
# How long what is said may take at the end.
PARTING_SECONDS = 2.0
NOTIFY = b"""SELECT pg_notify(channel, payload)
FROM unnest(%(channels)s::text[], %(payloads)s::text[]) AS said (channel, payload)"""
log = logging.getLogger(__name__)


class Bus:
    """The voice and the ears of one process."""

    def __init__(
        self,
        database: PostgresDatabase,
        hear: Callable[[str, frames.Said], None],
        *,
        channels: Sequence[str],
        woken: Callable[[], None],
        returned: Callable[[], None],
    ) -> None:
        self._database = database
        self._hear = hear
        self._channels = channels
        # Hears of every notification that is no word of ours: a job came, or a lock was freed.
        self._woken = woken
        # Hears that the ears were deaf for a while.
        self._returned = returned
        self._waiting: dict[str, list[bytes]] = {WISHES: [], NEWS: []}
        self._has_words = asyncio.Event()
        self._is_urgent = asyncio.Event()
        self._serial = 0
        self._unpacking = Unpacking()
        self._tasks: list[asyncio.Task[None]] = []
        self.listens = asyncio.Event()

    async def open(self) -> None:
        """Listen, and say what is said from now on."""
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._speak())]
        await self.listens.wait()

    async def close(self) -> None:
        """Say what waits, and end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(PARTING_SECONDS):
                await self._flush()

    def say(self, said: frames.Said, *, urgent: bool = False) -> None:
        """Say something soon; what is urgent takes along all that waits."""
        channel = WISHES if isinstance(said, frames.Wish) else NEWS
        self._waiting[channel].append(frames.encode_one(said))
        self._has_words.set()
        if urgent:
            self._is_urgent.set()

    async def wish(self, said: frames.Wish) -> None:
        """Say something that whoever asks waits for; raise when the database is away."""
        self._waiting[WISHES].append(frames.encode_one(said))
        await self._flush()

    async def _speak(self) -> None:
        while True:
            await self._has_words.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(JOIN_SECONDS):
                    await self._is_urgent.wait()
            self._has_words.clear()
            self._is_urgent.clear()
            try:
                await self._flush()
            except (StorageError, psycopg.Error) as error:
                # News that nobody hears stand in the tables.
                log.info("nobody was told: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _flush(self) -> None:
        channels: list[str] = []
        payloads: list[str] = []
        for channel, said in self._waiting.items():
            packed = pack(self._database.worker, self._serial, said)
            said.clear()
            self._serial += len(packed)
            channels += [channel] * len(packed)
            payloads += packed
        if payloads:
            await self._database.rows(NOTIFY, {"channels": channels, "payloads": payloads})

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._database.connect() as connection:
                    for channel in self._channels:
                        await connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
                    self.listens.set()
                    self._returned()
                    async for each in connection.notifies():
                        self._take(each.channel, each.payload)
            except (psycopg.Error, StorageError) as error:
                log.info("nothing is heard of the fleet: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    def _take(self, channel: str, payload: str) -> None:
        if channel not in (WISHES, NEWS):
            self._woken()
            return
        try:
            sender, said = self._unpacking.take(payload)
        except ValueError:
            log.warning("somebody says on %s what no process of a fleet says", channel)
            return
        if sender != self._database.worker:
            for each in said:
                self._hear(sender, each)

"""Put together what one workspace keeps in PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime

from shipmate.errors import StorageError
from shipmate.store.port import Reconciled
from shipmate.store.postgres.consent import PostgresConsents
from shipmate.store.postgres.database import PostgresDatabase, statements
from shipmate.store.postgres.fence import Fences
from shipmate.store.postgres.inbox import PostgresInbox
from shipmate.store.postgres.ledger import PostgresLedger
from shipmate.store.postgres.log import PostgresLog
from shipmate.store.postgres.outbox import PostgresOutbox
from shipmate.store.postgres.schema import check
from shipmate.store.postgres.search import PostgresSearch
from shipmate.store.postgres.thread import PostgresThreads


class PostgresStore:
    """What one workspace keeps, its threads as well; any number of processes use it."""

    def __init__(self, database: PostgresDatabase, clock: Callable[[], datetime] | None = None) -> None:
        self.database = database
        self.fences = Fences(database)
        self.log = PostgresLog(database, self.fences)
        self.outbox = PostgresOutbox(database, self.fences, clock)
        self.inbox = PostgresInbox(database, self.fences, self.outbox, clock)
        self.threads = PostgresThreads(database, self.log)
        self.search = PostgresSearch(database, self.threads.catch_up)
        self.ledger = PostgresLedger(database, self.fences)
        self.consents = PostgresConsents(database)
        self._revision = statements("thread")["revision"]
        self._last = b""

    def revision(self) -> bytes:
        """Return what differs once anything that is listed changed, by whichever process."""
        # Nothing is news while nobody can be asked.
        with contextlib.suppress(StorageError):
            found = self.database.do(lambda link: link.execute(self._revision).fetchone(), patience=0)
            self._last = repr(found).encode()
        return self._last

    async def settle(self) -> None:
        """Do nothing: what a process wrote stands, or it does not."""

    async def reconcile(
        self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False
    ) -> Reconciled:
        """Bring the list and the search up to date with the rows, or make them anew."""
        return await self.threads.reconcile(progress, anew=anew)

    async def close(self) -> None:
        """Close every connection."""
        await self.fences.close()
        await self.database.close()


async def open_postgres_store(
    address: str, *, worker: str = "", clock: Callable[[], datetime] | None = None
) -> PostgresStore:
    """Open the store at an address; tables of another version are refused."""
    database = PostgresDatabase(address, worker=worker)
    store = PostgresStore(database, clock)
    try:
        await database.open()
        await check(database)
    except BaseException:
        await store.close()
        raise
    return store

"""Put the tables of one workspace together, on disk or in memory."""

from __future__ import annotations

from pathlib import Path

from shipmate.store.database import Database
from shipmate.store.inbox import SqliteInbox, SqliteOutbox
from shipmate.store.ledger import SqliteConsents, SqliteLedger
from shipmate.store.search import SqliteSearch
from shipmate.store.thread_index import SqliteThreadIndex


class SqliteStore:
    """Keep everything in one SQLite file."""

    def __init__(self, path: Path | None) -> None:
        self._database = Database(path)
        self.inbox = SqliteInbox(self._database)
        self.outbox = SqliteOutbox(self._database)
        self.threads = SqliteThreadIndex(self._database)
        self.ledger = SqliteLedger(self._database)
        self.consents = SqliteConsents(self._database)
        self.search = SqliteSearch(self._database)

    async def close(self) -> None:
        """Close the file."""
        self._database.close()


class MemoryStore(SqliteStore):
    """Keep everything in memory: the same tables without a file, for users' tests and our own."""

    def __init__(self) -> None:
        super().__init__(None)

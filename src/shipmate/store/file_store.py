"""Put together what one workspace keeps: the journal's files, and the index over them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from shipmate.store.consent import JournalConsents
from shipmate.store.index import Index
from shipmate.store.journal.grant import GrantFiles
from shipmate.store.journal.inbox import JournalInbox
from shipmate.store.journal.mark import MarkFiles
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.journal.sidecar import SidecarFiles
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.ledger import JournalLedger
from shipmate.store.legacy import carry_over
from shipmate.store.port import Reconciled
from shipmate.store.sqlite.database import Database
from shipmate.store.thread_index import IndexedSearch, IndexedThreads
from shipmate.workspace.disk.disk import DISK, Disk
from shipmate.workspace.layout import Layout


class FileStore:
    """What one workspace keeps beside its threads. Only the keeper uses `inbox` and `outbox`."""

    def __init__(
        self,
        layout: Layout,
        disk: Disk,
        database: Database,
        clock: Callable[[], datetime],
        make_index: Callable[[Layout, Disk, Database, MarkFiles], Index] = Index,
    ) -> None:
        self._database = database
        marks = MarkFiles(layout, disk)
        self._index = make_index(layout, disk, database, marks)
        self.outbox = JournalOutbox(layout, disk, clock)
        self.inbox = JournalInbox(layout, self.outbox, disk, clock)
        self.threads = IndexedThreads(self._index, marks)
        self.search = IndexedSearch(self._index)
        self.ledger = JournalLedger(UsageFiles(layout, disk), SidecarFiles(layout, disk), database)
        self.consents = JournalConsents(layout, disk, database, GrantFiles(layout, disk))

    async def reconcile(
        self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False
    ) -> Reconciled:
        """Compare the index with the files and bring it up to date, or make it anew."""
        if anew:
            self.consents.clear()
            self.ledger.clear()
        self.consents.catch_up()
        self.ledger.catch_up()
        return await self._index.reconcile(progress, anew=anew)

    async def close(self) -> None:
        """End what goes on in the background and close the index."""
        await self._index.close()
        self._database.close()


def open_store(
    layout: Layout,
    disk: Disk = DISK,
    *,
    database: Path | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> FileStore:
    """Open what a workspace keeps; `database` is another place for the index."""
    carry = partial(carry_over, layout, disk)
    return FileStore(layout, disk, Database(layout, database, carry), clock)

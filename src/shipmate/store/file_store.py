"""Put together what one workspace keeps: the journal's files, and the index over them."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from shipmate.store.entry import stamp_of
from shipmate.store.index import Index
from shipmate.store.journal.grant import FolderWatch, GrantFiles
from shipmate.store.journal.inbox import JournalInbox
from shipmate.store.journal.mark import MarkFiles
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.journal.sidecar import SidecarFiles
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.ledger import JournalLedger
from shipmate.store.legacy import carry_over
from shipmate.store.port import GrantRow, Reconciled, SearchHit, ThreadInfo
from shipmate.store.sqlite.approval import ApprovalEntry, ApprovalTable
from shipmate.store.sqlite.database import Database
from shipmate.thread.mark import ThreadMark
from shipmate.values.message import JsonObject, UIMessage, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import (
    DISK,
    Disk,
    names_in,
    read_file,
    refusals,
    stat_of,
    sync_entries,
)
from shipmate.workspace.layout import CAPTAIN, Layout

# How often a list is read anew because it showed what has no file.
LIST_TRIES = 3
log = logging.getLogger(__name__)
PLAIN = re.compile(r"\w{1,100}", re.ASCII)
REQUESTED = "requested"
_decoder = msgspec.json.Decoder(ApprovalEntry)


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
        self._layout = layout
        self._disk = disk
        self._database = database
        marks = MarkFiles(layout, disk)
        self._index = make_index(layout, disk, database, marks)
        self.outbox = JournalOutbox(layout, disk, clock)
        self.inbox = JournalInbox(layout, self.outbox, disk, clock)
        self.threads = IndexedThreads(self._index, marks)
        self.search = IndexedSearch(self._index)
        self.ledger = JournalLedger(UsageFiles(layout, disk), SidecarFiles(layout, disk), database)
        self.consents = JournalConsents(layout, disk, database, GrantFiles(layout, disk))

    def revision(self) -> bytes:
        """Return what differs once the index, or a name among what it is made of, changed."""
        own = self._layout
        folders = (own.threads, own.bin, own.marks, own.approvals, own.grants)
        found = [stat_of(self._disk, folder) for folder in folders]
        times = [status.st_mtime_ns if status else 0 for status in found]
        return self._database.revision() + repr(times).encode()

    async def settle(self) -> None:
        """Put the names on disk that a process wrote which ended before it had waited for them."""
        own = self._layout
        folders = (own.approvals, own.joint_decisions, own.grants, own.marks, own.threads, own.bin)
        for folder in (own.root, own.ship, *folders):
            with contextlib.suppress(FileNotFoundError), refusals(folder, own.root):
                sync_entries(self._disk, folder)

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


class IndexedThreads:
    """The list of threads and their marks; a thread is listed while it has a file."""

    def __init__(self, index: Index, marks: MarkFiles) -> None:
        self._index = index
        self._marks = marks

    async def create(
        self,
        thread_id: str,
        *,
        title: str = "",
        member: str = CAPTAIN,
        settings: JsonObject | None = None,
        is_new: bool = False,
    ) -> None:
        """Put the marks of a new thread on disk; `note` lists it once its file is there."""
        if settings is None:
            # A person may have chosen a model for it before anything was said.
            known = self._marks.read(ThreadId.parse(thread_id))
            settings = known.settings if known is not None else {}
        mark = ThreadMark(
            title=title, member=member, settings=settings, created_at=timestamp(), is_new=is_new
        )
        self._marks.create(ThreadId.parse(thread_id), mark)
        await self._index.mark_changed(thread_id)

    async def note(self, thread_id: str, messages: Sequence[UIMessage], *, member: str = CAPTAIN) -> None:
        """Bring list and search up to date with all messages of a thread, by whoever holds it."""
        await self._index.note(thread_id, messages, member)

    async def refresh(self, thread_id: str) -> None:
        """Bring list and search up to date with a thread's file: there, in the bin, or gone."""
        await self._index.refresh(thread_id)

    async def catch_up(self) -> None:
        """Bring what could not be read when it changed up to date, once it can be."""
        await self._index.catch_up()

    async def find(self, thread_id: str) -> ThreadInfo | None:
        """Return a thread that has a file."""
        found = await self._index.find(thread_id)
        return found.info if found else None

    async def list(
        self,
        *,
        query: str = "",
        archived: bool | None = False,
        binned: bool = False,
        before: str | None = None,
        limit: int = 50,
        viewer: str | None = None,
    ) -> list[ThreadInfo]:
        """List threads, the one that changed last first; `before` is the `cursor` of the last one seen."""
        found: list[ThreadInfo] = []
        for _ in range(LIST_TRIES):
            found = await self._index.ask(
                lambda: self._index.threads.list(query, archived, binned, before, limit, viewer)
            )
            ghosts = [each for each in found if not self._index.has_file(each.thread_id, binned=binned)]
            for ghost in ghosts:
                await self._index.refresh(ghost.thread_id)
            if not ghosts:
                break
        return [each for each in found if self._index.has_file(each.thread_id, binned=binned)]

    async def rename(self, thread_id: str, title: str) -> None:
        """Set a thread's title; without words it has its first words as title again."""
        await self._change(thread_id, {"title": title})

    async def set(
        self,
        thread_id: str,
        *,
        archived: bool | None = None,
        read_at: str | None = None,
        settings: JsonObject | None = None,
    ) -> None:
        """Change what is given of a thread's marks."""
        given = {"archived": archived, "read_at": read_at, "settings": settings}
        await self._change(thread_id, {name: value for name, value in given.items() if value is not None})

    async def remove(self, thread_id: str) -> None:
        """Take back the marks of a thread that came to nothing."""
        self._marks.remove(ThreadId.parse(thread_id))
        await self._index.mark_changed(thread_id)

    async def _change(self, thread_id: str, values: dict[str, object]) -> None:
        self._marks.change(ThreadId.parse(thread_id), values)
        await self._index.mark_changed(thread_id)


class IndexedSearch:
    """The search for messages by words, in any language."""

    def __init__(self, index: Index) -> None:
        self._index = index

    async def find(
        self, query: str, limit: int = 50, viewer: str | None = None, within: str = ""
    ) -> list[SearchHit]:
        """Find messages that have all words of a query, in threads outside the bin or in one of them."""
        hits = await self._index.ask(lambda: self._index.search.find(query, limit, viewer, within))
        present = {each: self._index.has_file(each, binned=False) for each in {hit.thread_id for hit in hits}}
        return [hit for hit in hits if present[hit.thread_id]]


class JournalConsents:
    """The list of approvals and the grants, kept in journals."""

    def __init__(self, layout: Layout, disk: Disk, database: Database, grants: GrantFiles) -> None:
        self._layout = layout
        self._disk = disk
        self._database = database
        self._grants = grants
        self._table = ApprovalTable(database)
        self._watch = FolderWatch(disk, layout.approvals)
        self._serial = 0

    async def put_approval(
        self, approval_id: str, thread_id: str, status: str, requested_at: str, expires_at: str | None
    ) -> None:
        """Bring an approval whose file was just written into the list."""
        entry = ApprovalEntry(
            id=approval_id,
            thread_id=thread_id,
            status=status,
            requested_at=requested_at,
            expires_at=expires_at,
        )
        self._database.do(lambda: self._table.put(entry, self._stamp(self._name(approval_id))))

    async def approvals(
        self, *, status: str | None = None, thread_id: str | None = None, limit: int = 500
    ) -> list[str]:
        """List approval ids, newest first."""

        def work() -> list[str]:
            self._catch_up(every=False)
            return self._table.list(status, thread_id, limit)

        with self._refusals():
            return self._database.do(work)

    async def waiting(self) -> dict[str, int]:
        """Count the approvals that wait, by thread."""

        def work() -> dict[str, int]:
            self._catch_up(every=False)
            return self._table.waiting()

        with self._refusals():
            return self._database.do(work)

    async def add_grant(self, grant_id: str, data: JsonObject, until: str | None) -> None:
        """Put a grant on disk."""
        self._grants.add(grant_id, data, until)

    async def grants(self, *, every: bool = False) -> list[GrantRow]:
        """List the grants that were not taken back, over or not, or every one there ever was."""
        return [row for row in self._grants.list() if every or row.revoked_at is None]

    async def revoke_grant(self, grant_id: str) -> bool:
        """Take a grant back; tell whether it was in force."""
        return self._grants.revoke(grant_id)

    def catch_up(self) -> None:
        """Bring the list up to date with every file."""
        with self._refusals():
            self._database.do(lambda: self._catch_up(every=True))

    def _refusals(self) -> AbstractContextManager[None]:
        return refusals(self._layout.approvals, self._layout.root)

    def clear(self) -> None:
        """Empty the list of approvals."""
        self._database.do(self._table.clear)
        self._watch.forget()

    def _catch_up(self, *, every: bool) -> None:
        """Bring the list up to date: what is new, gone or was open; or every one that differs.

        A question that the index does not know would be taken for nothing, so this is never put off.
        """
        is_other = self._database.serial != self._serial
        if not self._watch.look() and not is_other and not every:
            return
        names = {name for name in names_in(self._disk, self._layout.approvals) if _is_approval(name)}
        known = {self._name(each): (each, *rest) for each, rest in self._table.known().items()}
        read = [name for name in sorted(names) if name not in known or known[name][1] == REQUESTED]
        if every or is_other:
            read += [name for name in names & known.keys() if known[name][2] != self._stamp(name)]
        gone = [each for name, (each, *_) in known.items() if name not in names]
        if read or gone:
            with self._database.transaction():
                for approval_id in gone:
                    self._table.drop(approval_id)
                for name in dict.fromkeys(read):
                    self._read(name)
        self._serial = self._database.serial

    def _read(self, name: str) -> None:
        path = self._layout.approvals / name
        stamp = self._stamp(name)
        try:
            self._table.put(_decoder.decode(read_file(self._disk, path)), stamp)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("%s is not a readable approval (%s)", self._layout.name_of(path), error)
        except FileNotFoundError:
            pass

    def _stamp(self, name: str) -> str:
        status = stat_of(self._disk, self._layout.approvals / name)
        return "" if status is None else stamp_of(status)

    def _name(self, approval_id: str) -> str:
        return (
            f"{approval_id}.json" if PLAIN.fullmatch(approval_id) else self._layout.approval(approval_id).name
        )


def _is_approval(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")

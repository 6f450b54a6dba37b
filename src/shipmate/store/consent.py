"""Grants in files, and the list of approvals, which is made from their files."""

from __future__ import annotations

import logging
import re
from contextlib import AbstractContextManager

import msgspec

from shipmate.store.entry import stamp_of
from shipmate.store.journal.folder import FolderWatch
from shipmate.store.journal.grant import GrantFiles
from shipmate.store.port import GrantRow
from shipmate.store.sqlite.approval import ApprovalEntry, ApprovalTable
from shipmate.store.sqlite.database import Database
from shipmate.values.message import JsonObject
from shipmate.workspace.disk.disk import Disk, names_in, read_file, refusals, stat_of
from shipmate.workspace.layout import Layout

log = logging.getLogger(__name__)
PLAIN = re.compile(r"\w{1,100}", re.ASCII)
REQUESTED = "requested"
_decoder = msgspec.json.Decoder(ApprovalEntry)


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

"""The list of approvals in the index."""

from __future__ import annotations

import msgspec

from shipmate.store.sqlite.database import Database, statements


class ApprovalEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the list needs of an approval's file."""

    id: str
    thread_id: str
    status: str
    requested_at: str
    expires_at: str | None = None


class ApprovalTable:
    """The table of approvals."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("approval")

    def put(self, entry: ApprovalEntry, stamp: str) -> None:
        """Put an approval in the list, in place of what was known of it."""
        self._database.run(self._sql["put"], {**msgspec.structs.asdict(entry), "stamp": stamp})

    def known(self) -> dict[str, tuple[str, str]]:
        """Return status and stamp of each approval."""
        return {row["id"]: (row["status"], row["stamp"]) for row in self._database.rows(self._sql["known"])}

    def list(self, status: str | None, thread_id: str | None, limit: int) -> list[str]:
        """List ids, newest first."""
        values = {"status": status, "thread_id": thread_id, "limit": limit}
        return [row["id"] for row in self._database.rows(self._sql["list"], values)]

    def waiting(self) -> dict[str, int]:
        """Count what waits, by thread."""
        return {row["thread_id"]: row["count"] for row in self._database.rows(self._sql["count"])}

    def drop(self, approval_id: str) -> None:
        """Take an approval off the list."""
        self._database.run(self._sql["drop"], {"id": approval_id})

    def clear(self) -> None:
        """Take all approvals off the list."""
        self._database.run(self._sql["clear"])

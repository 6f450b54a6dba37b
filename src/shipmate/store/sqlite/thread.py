"""The list of threads in the index."""

from __future__ import annotations

import sqlite3

import msgspec

from shipmate.store.port import ThreadInfo
from shipmate.store.sqlite.database import Database, statements
from shipmate.values.thread_id import UNLISTED


class ThreadEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as the index has it, and how its files were when they were read."""

    info: ThreadInfo
    stamp: str
    mark_stamp: str
    words: str
    first_at: str
    said_at: str
    inode: int
    offset: int
    problems: int


FIELDS = tuple(name for name in ThreadEntry.__struct_fields__ if name != "info")


class ThreadTable:
    """The table of threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("thread")

    def put(self, entry: ThreadEntry) -> None:
        """Put a thread in the list, in place of what was known of it."""
        values = msgspec.structs.asdict(entry.info)
        values["settings"] = msgspec.json.encode(entry.info.settings)
        values |= {name: getattr(entry, name) for name in FIELDS}
        self._database.run(self._sql["put"], values)

    def find(self, thread_id: str) -> ThreadEntry | None:
        """Return what is known of a thread."""
        rows = self._database.rows(self._sql["find"], {"thread_id": thread_id})
        return _entry(rows[0]) if rows else None

    def has_read(self, thread_id: str, inode: int, offset: int) -> bool:
        """Return whether a thread outside the bin was read from this file, at least up to this place."""
        return bool(
            self._database.rows(
                self._sql["has_read"], {"thread_id": thread_id, "inode": inode, "offset": offset}
            )
        )

    def list(
        self,
        query: str,
        archived: bool | None,
        binned: bool,
        before: str | None,
        limit: int,
        viewer: str | None = None,
    ) -> list[ThreadInfo]:
        """List threads, the one that changed last first; equal times are ordered by id."""
        last_at, mark, thread_id = (before or "").partition(" ")
        values = {
            "query": query,
            "like": f"%{escape_like(query)}%",
            "archived": archived,
            "binned": binned,
            "last_at": last_at or None,
            # A time alone stands behind all threads of that time.
            "thread_id": thread_id if mark else "\U0010ffff",
            "limit": limit,
            "viewer": viewer,
            "unlisted": f"{UNLISTED}*",
        }
        return [_entry(row).info for row in self._database.rows(self._sql["list"], values)]

    def stamps(self) -> dict[str, tuple[str, str, bool]]:
        """Return of each thread how its file and its marks were, and whether it was in the bin."""
        rows = self._database.rows(self._sql["stamps"])
        return {row[0]: (row[1], row[2], bool(row[3])) for row in rows}

    def count(self) -> tuple[int, int, int]:
        """Count threads outside the bin, their messages, and rows that cannot be read."""
        row = self._database.rows(self._sql["count"])[0]
        return row["threads"], row["messages"], row["problems"]

    def drop(self, thread_id: str) -> None:
        """Take a thread off the list."""
        self._database.run(self._sql["drop"], {"thread_id": thread_id})

    def clear(self) -> None:
        """Take all threads off the list."""
        self._database.run(self._sql["clear"])


def escape_like(query: str) -> str:
    """Return words as a pattern that they alone match."""
    return query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _entry(row: sqlite3.Row) -> ThreadEntry:
    info = ThreadInfo(
        thread_id=row["thread_id"],
        title=row["title"],
        member=row["member"],
        message_count=row["message_count"],
        token_estimate=row["token_estimate"],
        created_at=row["created_at"],
        last_at=row["last_at"],
        read_at=row["read_at"],
        archived=bool(row["archived"]),
        binned=bool(row["binned"]),
        settings=msgspec.json.decode(row["settings"], type=dict),
    )
    return ThreadEntry(info=info, **{name: row[name] for name in FIELDS})

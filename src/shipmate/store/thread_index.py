"""Keep the list of threads in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from shipmate.store.database import Database, statements
from shipmate.store.port import ThreadInfo
from shipmate.values.message import JsonObject, UIMessage, metadata_of, text_of, timestamp
from shipmate.values.token import message_tokens

TITLE_LENGTH = 60


class SqliteThreadIndex:
    """Keep the list of threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("thread")
        # Counting the tokens of a long thread anew each turn would cost more than the turn.
        self._counted: dict[str, tuple[int, int]] = {}

    async def create(
        self, thread_id: str, *, title: str = "", member: str = "captain", settings: JsonObject | None = None
    ) -> None:
        values = {
            "thread_id": thread_id,
            "title": title,
            "titled_by": "person" if title else "message",
            "member": member,
            "at": timestamp(),
            "settings": msgspec.json.encode(settings or {}),
        }
        self._database.run(self._sql["create"], values)

    async def note(self, thread_id: str, messages: Sequence[UIMessage], *, member: str = "captain") -> None:
        values = {
            "thread_id": thread_id,
            "title": title_of(messages),
            "member": member,
            "message_count": len(messages),
            "token_estimate": self._count(thread_id, messages),
            "created_at": _time_of(messages[:1]),
            "at": _time_of(messages[-1:]),
        }
        self._database.hurry(self._sql["note"], values)

    def _count(self, thread_id: str, messages: Sequence[UIMessage]) -> int:
        counted, tokens = self._counted.get(thread_id, (0, 0))
        # The last message may still grow, so it is counted anew each time.
        settled = max(0, len(messages) - 1)
        if counted > settled:
            counted, tokens = 0, 0
        for message in messages[counted:settled]:
            tokens += message_tokens(message)
        if len(self._counted) > 1000:
            self._counted.clear()
        self._counted[thread_id] = (settled, tokens)
        return tokens + sum(map(message_tokens, messages[settled:]))

    async def find(self, thread_id: str) -> ThreadInfo | None:
        rows = self._database.rows(self._sql["find"], {"thread_id": thread_id})
        return _info(rows[0]) if rows else None

    async def list(
        self,
        *,
        query: str = "",
        archived: bool | None = False,
        binned: bool = False,
        before: str | None = None,
        limit: int = 50,
    ) -> list[ThreadInfo]:
        values = {"query": query, "archived": archived, "binned": binned, "before": before, "limit": limit}
        return [_info(row) for row in self._database.rows(self._sql["list"], values)]

    async def rename(self, thread_id: str, title: str) -> None:
        self._database.run(self._sql["rename"], {"thread_id": thread_id, "title": title})

    async def set(
        self,
        thread_id: str,
        *,
        archived: bool | None = None,
        binned: bool | None = None,
        read_at: str | None = None,
        settings: JsonObject | None = None,
    ) -> None:
        values = {
            "thread_id": thread_id,
            "archived": archived,
            "binned": binned,
            "read_at": read_at,
            "settings": None if settings is None else msgspec.json.encode(settings),
        }
        self._database.run(self._sql["set"], values)

    async def remove(self, thread_id: str) -> None:
        self._database.run(self._sql["remove"], {"thread_id": thread_id})


def title_of(messages: Sequence[UIMessage]) -> str:
    """Take the first line a person wrote as the title."""
    for message in messages:
        words = text_of(message).strip() if message["role"] == "user" else ""
        if words:
            line = words.splitlines()[0].strip()
            return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
    return ""


def _time_of(messages: Sequence[UIMessage]) -> str:
    found = metadata_of(messages[0]).get("timestamp") if messages else None
    return found if isinstance(found, str) else timestamp()


def _info(row: sqlite3.Row) -> ThreadInfo:
    return ThreadInfo(
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

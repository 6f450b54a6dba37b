"""Keep the inbox and the outbox in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from shipmate.store.database import Database, statements
from shipmate.store.port import InboxRow, OutboxRow
from shipmate.values.event import EgressMessage, IngressEvent, Outcome, decode_event, encode_event
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId


class SqliteInbox:
    """Keep every event that came in, once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("inbox")
        self._intend = statements("outbox")["intend"]

    async def accept(self, event: IngressEvent) -> tuple[InboxRow, bool]:
        values = {
            "platform": event.platform,
            "message_id": event.message_id,
            "thread_id": event.thread_id,
            "event": encode_event(event),
            "received_at": timestamp(),
        }
        is_new = self._database.run(self._sql["accept"], values).rowcount == 1
        row = await self.find(event.platform, event.message_id)
        assert row is not None, "an accepted event is in the inbox"
        return row, is_new

    async def find(self, platform: str, message_id: str) -> InboxRow | None:
        values = {"platform": platform, "message_id": message_id}
        rows = self._database.rows(self._sql["find"], values)
        return _inbox_row(rows[0]) if rows else None

    async def open(self, thread_id: str) -> list[InboxRow]:
        return [_inbox_row(row) for row in self._database.rows(self._sql["open"], {"thread_id": thread_id})]

    async def take(self, rows: Sequence[InboxRow], run_id: str, progress: int = 0) -> list[InboxRow]:
        taken: list[InboxRow] = []
        with self._database.transaction():
            for row in rows:
                values = {"seq": row.seq, "run_id": run_id, "progress": progress}
                taken += map(_inbox_row, self._database.rows(self._sql["take"], values))
        return taken

    async def finish(
        self, rows: Sequence[InboxRow], outcome: Outcome, sends: Sequence[EgressMessage] = ()
    ) -> None:
        at = timestamp()
        encoded = msgspec.json.encode(outcome)
        # Lost to a power cut, the outcome is found again in the thread, and sends are intended again once.
        with self._database.transaction(is_hurried=True):
            ended = {"outcome": encoded, "done_at": at}
            finished = [self._database.run(self._sql["finish"], {"seq": row.seq, **ended}) for row in rows]
            # Rows that were finished before have had their sends.
            for message in sends if any(each.rowcount for each in finished) else ():
                values = {
                    "run_id": outcome.run_id,
                    "platform": ThreadId.parse(message.thread_id).platform,
                    "thread_id": message.thread_id,
                    "message": msgspec.json.encode(message),
                    "created_at": at,
                }
                self._database.run(self._intend, values)

    async def withdraw(self, thread_id: str, message_id: str) -> bool:
        values = {"thread_id": thread_id, "message_id": message_id, "done_at": timestamp()}
        return self._database.run(self._sql["withdraw"], values).rowcount == 1

    async def threads(self) -> list[str]:
        return [row["thread_id"] for row in self._database.rows(self._sql["threads"])]

    async def forget(self, before: str) -> int:
        return self._database.run(self._sql["forget"], {"before": before}).rowcount


class SqliteOutbox:
    """Keep every intended send until its receipt."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("outbox")

    async def next(self, platform: str) -> OutboxRow | None:
        with self._database.transaction():
            rows = self._database.rows(self._sql["next"], {"platform": platform})
            if not rows:
                return None
            self._database.run(self._sql["begin"], {"id": rows[0]["id"]})
        return _outbox_row(rows[0])

    async def sent(self, row: OutboxRow, receipt: str) -> None:
        self._database.run(self._sql["sent"], {"id": row.id, "receipt": receipt, "sent_at": timestamp()})

    async def failed(self, row: OutboxRow, error: str, *, retry: bool) -> None:
        status = "waiting" if retry else "failed"
        self._database.run(self._sql["failed"], {"id": row.id, "error": error, "status": status})

    async def doubt(self, platform: str) -> int:
        return self._database.run(self._sql["doubt"], {"platform": platform}).rowcount

    async def list(self, status: str | None = None) -> list[OutboxRow]:
        return [_outbox_row(row) for row in self._database.rows(self._sql["list"], {"status": status})]


def _inbox_row(row: sqlite3.Row) -> InboxRow:
    return InboxRow(
        seq=row["seq"],
        event=decode_event(row["event"]),
        received_at=row["received_at"],
        status=row["status"],
        attempts=row["attempts"],
        run_id=row["run_id"],
        outcome=msgspec.json.decode(row["outcome"], type=Outcome) if row["outcome"] else None,
    )


def _outbox_row(row: sqlite3.Row) -> OutboxRow:
    return OutboxRow(
        id=row["id"],
        run_id=row["run_id"],
        segment=row["segment"],
        platform=row["platform"],
        message=msgspec.json.decode(row["message"], type=EgressMessage),
        created_at=row["created_at"],
        status=row["status"],
        attempts=row["attempts"],
        receipt=row["receipt"],
        error=row["error"],
    )

"""The inbox in PostgreSQL: every event once, whichever gateway it came in by, until it is long done."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from shipmate.store.journal.inbox import REMEMBERED
from shipmate.store.journal.inbox_line import (
    Ask,
    FinishLine,
    HearLine,
    Keep,
    Leave,
    Line,
    StopLine,
    Take,
    WithdrawLine,
    apply_to_open,
    key_of,
)
from shipmate.store.port import InboxRow, answered_by
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, Values, statements
from shipmate.store.postgres.fence import Fences
from shipmate.store.postgres.outbox import PostgresOutbox
from shipmate.values.event import EgressMessage, IngressEvent, Outcome, encode_event
from shipmate.values.message import timestamp

_decoder = msgspec.json.Decoder(Keep)
OPEN = ("waiting", "running")
# Called in the transaction that accepts an event, with its row.
AcceptHook = Callable[[AsyncLink, InboxRow], Awaitable[None]]


class PostgresInbox:
    """Every event that came in, once, until the thread itself shows what became of it."""

    def __init__(
        self,
        database: PostgresDatabase,
        fences: Fences,
        outbox: PostgresOutbox,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._database = database
        self._fences = fences
        self._outbox = outbox
        # Without one the database's own counts: those of machines differ.
        self._clock = clock
        self._sql = statements("inbox")
        self.on_accept: AcceptHook | None = None

    async def load(self) -> None:
        """Do nothing: whatever is asked is asked of the database."""

    async def accept(self, event: IngressEvent) -> tuple[InboxRow, bool]:
        """Store an event durably; return its row, and whether it is new."""
        encode_event(event)

        async def work(link: AsyncLink) -> tuple[InboxRow, bool]:
            # Whoever else accepts for this thread waits, so that its numbers are seen in their order.
            now = await self._lock(link, event.thread_id)
            known = await self._one(link, "find", {"key": key_bytes(event), **_memory(now)})
            if known is not None:
                return known.row, False
            await link.execute(self._sql["forget"], _memory(now))
            seq = await _number(await link.execute(self._sql["number"]))
            row = InboxRow(seq=seq, event=event, received_at=timestamp(now), status="waiting")
            await link.execute(self._sql["add"], row_values(Keep(row=row)))
            if self.on_accept is not None:
                await self.on_accept(link, row)
            return row, True

        return await self._database.run(work)

    async def find(self, event: IngressEvent) -> InboxRow | None:
        """Return the row of an event of the same key, while it is remembered."""
        now = await self._now()
        values = {"key": key_bytes(event), **_memory(now)}
        found = await self._database.rows(self._sql["find"], values)
        return _decoder.decode(found[0][0]).row if found else None

    async def open(self, thread_id: str) -> list[InboxRow]:
        """List what waits or was being worked on when a process ended, oldest first."""
        found = await self._database.rows(self._sql["open"], {"thread_id": thread_id})
        return [_decoder.decode(data).row for (data,) in found]

    async def threads(self) -> list[str]:
        """List the threads that have open rows."""
        return [name for (name,) in await self._database.rows(self._sql["threads"])]

    async def running(self) -> list[InboxRow]:
        """List what is worked on, in all threads."""
        found = await self._database.rows(self._sql["running"])
        return [_decoder.decode(data).row for (data,) in found]

    async def hear(self, row: InboxRow, event: IngressEvent) -> InboxRow:
        """Keep what a spoken message turned out to say, in its place; return the row as it is now."""
        encode_event(event)
        changed = await self._change(HearLine(seq=row.seq, event=event), seqs=[row.seq])
        return changed[0] if changed else row

    async def take(self, rows: Sequence[InboxRow], run_id: str) -> list[InboxRow]:
        """Mark rows as worked on by a run; return those that were still to be had."""
        seqs = [row.seq for row in rows]
        return await self._change(Take(seqs=seqs, run=run_id), seqs=seqs) if seqs else []

    async def ask(self, run_id: str, progress: int) -> None:
        """Count an attempt: the run asks a model now, having got as far as `progress`."""
        await self._change(Ask(run=run_id, progress=progress), run_id=run_id)

    async def leave(self, run_id: str) -> None:
        """Take the last attempt back: the run did not break, its process leaves or its disk refused."""
        await self._change(Leave(run=run_id), run_id=run_id)

    async def stop(self, run_id: str) -> None:
        """Put down that a person stopped a run, at whichever gateway."""
        await self._change(StopLine(run=run_id), run_id=run_id, is_mine=False)

    async def withdraw(self, thread_id: str, message_id: str) -> InboxRow | None:
        """Take back an event that still waits, durably; return its row, or None when it goes on."""

        async def work(link: AsyncLink) -> InboxRow | None:
            now = await self._lock(link, thread_id)
            values = {"thread_id": thread_id, "message_id": message_id.encode(), **_memory(now)}
            for (data,) in await (await link.execute(self._sql["by_message"], values)).fetchall():
                kept = _decoder.decode(data)
                if kept.row.status == "waiting":
                    kept = apply_to_open(kept, WithdrawLine(seq=kept.row.seq, at=timestamp(now)))
                    await link.execute(self._sql["change"], row_values(kept, now))
                if kept.row.status == "withdrawn":
                    return kept.row
            return None

        return await self._database.run(work)

    async def finish(
        self, rows: Sequence[InboxRow], outcome: Outcome, sends: Sequence[EgressMessage] = ()
    ) -> None:
        """Record the outcome and what must be sent, in one transaction."""

        async def work(link: AsyncLink) -> None:
            now = await self._now(link)
            kept = await self._open(link, [row.seq for row in rows])
            if not kept:
                return
            if sends:
                answered = answered_by([each.row for each in kept])
                await self._outbox.intend_in(link, outcome.run_id, answered, sends)
            line = FinishLine(seqs=[each.row.seq for each in kept], at=timestamp(now), outcome=outcome)
            for each in kept:
                await link.execute(self._sql["change"], row_values(apply_to_open(each, line), now))

        if rows:
            await self._database.run(work)

    async def _change(
        self, line: Line, *, seqs: Sequence[int] = (), run_id: str = "", is_mine: bool = True
    ) -> list[InboxRow]:
        """Bring one line into the open rows it is about; return them as they are now."""

        async def work(link: AsyncLink) -> list[InboxRow]:
            kept = await self._open(link, seqs, run_id, is_mine=is_mine)
            changed = [apply_to_open(each, line) for each in kept]
            for before, after in zip(kept, changed, strict=True):
                if before != after:
                    await link.execute(self._sql["change"], row_values(after))
            return [each.row for each in changed]

        return await self._database.run(work)

    async def _open(
        self, link: AsyncLink, seqs: Sequence[int] = (), run_id: str = "", *, is_mine: bool = True
    ) -> list[Keep]:
        """Lock open rows; those of a thread that this process has lost are not to be had."""
        name, values = (
            ("open_of_run", {"run_id": run_id}) if run_id else ("open_by_seq", {"seqs": list(seqs)})
        )
        found = await (await link.execute(self._sql[name], values)).fetchall()
        kept = [_decoder.decode(data) for (data,) in found]
        if is_mine:
            for thread_id in {each.row.event.thread_id for each in kept}:
                await self._fences.verify(link, thread_id)
        return kept

    async def _one(self, link: AsyncLink, name: str, values: Values) -> Keep | None:
        found = await (await link.execute(self._sql[name], values)).fetchone()
        return None if found is None else _decoder.decode(found[0])

    async def _lock(self, link: AsyncLink, thread_id: str) -> datetime:
        values = {"thread_id": thread_id, "now": self._clock() if self._clock else None}
        found = await (await link.execute(self._sql["lock"], values)).fetchone()
        assert found is not None
        return found[1]

    async def _now(self, link: AsyncLink | None = None) -> datetime:
        if self._clock is not None:
            return self._clock()
        if link is None:
            return (await self._database.rows(self._sql["now"], {"now": None}))[0][0]
        found = await (await link.execute(self._sql["now"], {"now": None})).fetchone()
        assert found is not None
        return found[0]


def key_bytes(event: IngressEvent) -> bytes:
    """Return what no two events that are remembered share, whatever characters their ids have."""
    return hashlib.sha256(msgspec.json.encode(key_of(event))).digest()


def row_values(kept: Keep, now: datetime | None = None) -> dict[str, Any]:
    """Return the columns of a row."""
    row = kept.row
    done_at = datetime.fromisoformat(kept.done_at) if kept.done_at else None
    return {
        "seq": row.seq,
        "key": key_bytes(row.event),
        "thread_id": row.event.thread_id,
        "message_id": row.event.message_id.encode(),
        "run_id": row.run_id,
        "is_open": row.status in OPEN,
        "done_at": now if done_at is not None and now is not None else done_at,
        "data": msgspec.json.encode(kept),
    }


def _memory(now: datetime) -> dict[str, datetime | timedelta]:
    return {"now": now, "remembered": REMEMBERED}


async def _number(cursor: Any) -> int:
    found = await cursor.fetchone()
    return found[0]

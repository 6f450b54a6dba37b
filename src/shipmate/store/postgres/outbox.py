"""The outbox in PostgreSQL: what must be sent, once, and the receipts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from shipmate.errors import StorageError
from shipmate.store.journal.outbox import LASTING_REMEMBERED, REMEMBERED, UNCERTAIN
from shipmate.store.journal.outbox_line import (
    Change,
    Close,
    Intend,
    Revise,
    Send,
    Show,
    apply_to_send,
    key_of_send,
    lasts_long,
)
from shipmate.store.port import OutboxRow, SendStatus
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, Values, statements
from shipmate.store.postgres.fence import Fences
from shipmate.values.event import EgressMessage
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId

_decoder = msgspec.json.Decoder(Intend)


class PostgresOutbox:
    """Every intended send until its receipt."""

    def __init__(
        self, database: PostgresDatabase, fences: Fences, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._database = database
        self._fences = fences
        self._clock = clock
        self._sql = statements("outbox")

    async def load(self) -> None:
        """Do nothing: whatever is asked is asked of the database."""

    async def intend(self, run_id: str, answered: str, messages: Sequence[EgressMessage]) -> None:
        """Note what an answer sends, once; what was shown of it as a preview becomes the whole."""
        await self._database.run(lambda link: self.intend_in(link, run_id, answered, messages))

    async def intend_in(
        self, link: AsyncLink, run_id: str, answered: str, messages: Sequence[EgressMessage]
    ) -> None:
        """Note what an answer sends within a transaction."""
        now = await self._lock(link, answered, messages)
        for place, message in enumerate(messages):
            key = key_of_send(answered, message, place)
            known = await self._find(link, "by_key", {"key": key_digest(key)})
            if known is None:
                await self._add(link, key, run_id, answered, message, now)
            elif known.row.is_preview:
                await self._put(link, apply_to_send(known, Revise(id=known.row.id, message=message)))

    async def preview(self, run_id: str, answered: str, message: EgressMessage) -> OutboxRow | None:
        """Begin to send a preview, durably, or return the one that was; None once the whole is known."""

        async def work(link: AsyncLink) -> OutboxRow | None:
            now = await self._lock(link, answered, [message])
            key = key_of_send(answered, message, 0)
            send = await self._find(link, "by_key", {"key": key_digest(key)})
            if send is None:
                send = await self._add(link, key, run_id, answered, message, now, is_preview=True)
                send = await self._put(link, apply_to_send(send, Send(id=send.row.id, at=timestamp(now))))
            return send.row if send.row.is_preview else None

        return await self._database.run(work)

    async def conclude(self, row: OutboxRow, message: EgressMessage) -> None:
        """Put a last word in the place of a preview whose run came to nothing."""
        await self._change(row, lambda _: Revise(id=row.id, message=message))

    async def threads(self) -> list[str]:
        """List the threads in which something waits to be sent."""
        return [name for (name,) in await self._database.rows(self._sql["threads"])]

    async def open(self, thread_id: str) -> list[OutboxRow]:
        """List what waits to be sent in a thread, oldest first."""
        return await self._rows("open", {"thread_id": thread_id})

    async def get(self, send_id: int) -> OutboxRow | None:
        """Return a send."""
        found = await self._rows("get", {"id": send_id})
        return found[0] if found else None

    async def begin(self, row: OutboxRow) -> OutboxRow:
        """Put down that a send begins; raise StorageError when another process has begun it."""

        async def work(link: AsyncLink) -> OutboxRow:
            now = await self._forget(link)
            send = await self._find(link, "get_locked", {"id": row.id})
            if send is None or send.row.attempts != row.attempts:
                raise StorageError(f"another process sends message {row.id} already")
            return (await self._put(link, apply_to_send(send, Send(id=row.id, at=timestamp(now))))).row

        return await self._database.run(work)

    async def shown(self, row: OutboxRow, receipt: str | None, error: str | None = None) -> None:
        """Record what the platform calls a preview; None when it is not there, or with an error may be."""
        await self._change(row, lambda _: Show(id=row.id, receipt=receipt, error=error))

    async def gone(self, row: OutboxRow) -> OutboxRow:
        """Record that what was shown is not there any more: what follows is a send, of which nobody knows."""
        return await self._change(row, lambda _: Show(id=row.id, is_gone=True))

    async def sent(self, row: OutboxRow, receipt: str) -> None:
        """Record the receipt of a send."""
        await self._close(row, "sent", receipt=receipt)

    async def failed(self, row: OutboxRow, error: str, *, retry: bool) -> None:
        """Record that a send failed, and whether it is tried again."""
        await self._close(row, "waiting" if retry else "failed", error=error)

    async def mark(self, row: OutboxRow, status: SendStatus, error: str | None = None) -> None:
        """Record how a send stands otherwise; one that waits again is wanted by a person."""
        await self._close(row, status, error=error or row.error, is_wanted=status == "waiting")

    async def doubt(self) -> list[OutboxRow]:
        """Mark sends that a dead process left half done as uncertain; they are never repeated blindly."""
        found: list[OutboxRow] = []
        for row in await self.list("sending"):
            if row.is_preview:
                # The whole follows in any case, as a change where the message is known.
                await self.shown(row, row.receipt, None if row.receipt else UNCERTAIN)
            elif row.receipt is not None:
                await self._close(row, "waiting", error=UNCERTAIN)
            else:
                await self._close(row, "uncertain", error=UNCERTAIN)
            found.append(await self.get(row.id) or row)
        return found

    async def list(self, status: SendStatus | None = None) -> list[OutboxRow]:
        """List sends, oldest first."""
        await self._database.run(self._forget)
        return await self._rows("list", {"status": status})

    async def in_thread(self, thread_id: str, limit: int = 200) -> list[OutboxRow]:
        """List the last sends of a thread, oldest first."""
        return await self._rows("in_thread", {"thread_id": thread_id, "limit": limit})

    async def _close(
        self,
        row: OutboxRow,
        status: SendStatus,
        *,
        receipt: str | None = None,
        error: str | None = None,
        is_wanted: bool = False,
    ) -> None:
        await self._change(
            row,
            lambda now: Close(
                id=row.id, at=timestamp(now), status=status, receipt=receipt, error=error, is_wanted=is_wanted
            ),
        )

    async def _change(self, row: OutboxRow, make: Callable[[datetime], Change]) -> OutboxRow:
        """Bring one line into a send; return it as it is now."""

        async def work(link: AsyncLink) -> OutboxRow:
            now = await self._forget(link)
            send = await self._find(link, "get_locked", {"id": row.id})
            if send is None:
                return row
            return (await self._put(link, apply_to_send(send, make(now)))).row

        return await self._database.run(work)

    async def _add(
        self,
        link: AsyncLink,
        key: str,
        run_id: str,
        answered: str,
        message: EgressMessage,
        now: datetime,
        *,
        is_preview: bool = False,
    ) -> Intend:
        row = OutboxRow(
            id=await self._number(link, "number"),
            run_id=run_id,
            answered=answered,
            segment=await self._number(link, "of_run", {"run_id": run_id}),
            platform=ThreadId.parse(message.thread_id).platform,
            message=message,
            created_at=timestamp(now),
            status="waiting",
            attempts=0,
            receipt=message.extra.get("edits"),
            is_preview=is_preview,
        )
        send = Intend(row=row, key=key)
        await link.execute(self._sql["add"], send_values(send))
        return send

    async def _put(self, link: AsyncLink, send: Intend) -> Intend:
        await link.execute(self._sql["change"], send_values(send))
        return send

    async def _find(self, link: AsyncLink, name: str, values: Values) -> Intend | None:
        found = await (await link.execute(self._sql[name], values)).fetchone()
        return None if found is None else _decoder.decode(found[0])

    async def _number(self, link: AsyncLink, name: str, values: Values | None = None) -> int:
        found = await (await link.execute(self._sql[name], values)).fetchone()
        assert found is not None
        return found[0]

    async def _lock(self, link: AsyncLink, answered: str, messages: Sequence[EgressMessage]) -> datetime:
        """Let nobody else intend what answers the same; a thread that was lost answers nothing."""
        values = {"answered": answered, "now": self._clock() if self._clock else None}
        found = await (await link.execute(self._sql["lock"], values)).fetchone()
        assert found is not None
        for thread_id in {message.thread_id for message in messages}:
            await self._fences.verify(link, thread_id)
        return found[1]

    async def _forget(self, link: AsyncLink) -> datetime:
        """Drop what was closed long ago; return the time."""
        values = {"now": self._clock() if self._clock else None}
        found = await (await link.execute(self._sql["now"], values)).fetchone()
        assert found is not None
        await link.execute(self._sql["forget"], {"now": found[0]})
        return found[0]

    async def _rows(self, name: str, values: Values) -> list[OutboxRow]:
        return [_decoder.decode(data).row for (data,) in await self._database.rows(self._sql[name], values)]


def list_sends(database: PostgresDatabase) -> list[OutboxRow]:
    """List all sends, oldest first, while the process waits."""
    statement = statements("outbox")["list"]
    found = database.do(lambda link: link.execute(statement, {"status": None}).fetchall())
    return [_decoder.decode(data).row for (data,) in found]


def key_digest(key: str) -> bytes:
    """Return the key of a send as it is compared, whatever characters it has."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def send_values(send: Intend) -> dict[str, Any]:
    """Return the columns of a send."""
    row = send.row
    kept: timedelta = LASTING_REMEMBERED if lasts_long(row) else REMEMBERED
    return {
        "id": row.id,
        "key": key_digest(send.key),
        "run_id": row.run_id,
        "thread_id": row.message.thread_id,
        "status": row.status,
        "forget_at": datetime.fromisoformat(send.closed_at) + kept if send.closed_at else None,
        "data": msgspec.json.encode(send),
    }

"""The outbox: `.ship/outbox.jsonl` is the truth of what must be sent and of the receipts.

A send that is begun waits for the disk, and with it all intents before it; after a crash it is uncertain.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import msgspec

from shipmate.store.journal.lines import LineFile
from shipmate.store.port import OutboxRow
from shipmate.values.event import EgressMessage
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk
from shipmate.workspace.layout import Layout

# How long a receipt is kept.
REMEMBERED = timedelta(days=30)
UNCERTAIN = "the process ended while sending"


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", omit_defaults=True):
    """One thing that happened to sends."""


class Intend(_Line, frozen=True, kw_only=True, tag="intend"):
    row: OutboxRow
    # What was answered by it, and its place in the answer: the same intent is not taken twice.
    key: str
    closed_at: str = ""


class Send(_Line, frozen=True, kw_only=True, tag="send"):
    id: int


class Close(_Line, frozen=True, kw_only=True, tag="close"):
    """What became of a send; one that waits again is to be retried."""

    id: int
    at: str
    status: str
    receipt: str | None = None
    error: str | None = None


class OutboxBegin(_Line, frozen=True, kw_only=True, tag="begin"):
    """How a file that was written anew begins: with the number the next send gets."""

    next: int


Line: TypeAlias = Intend | Send | Close | OutboxBegin
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class JournalOutbox:
    """Every intended send until its receipt."""

    def __init__(
        self, layout: Layout, disk: Disk, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._file = LineFile(layout, layout.outbox, disk)
        self._clock = clock
        self._is_loaded = False
        self._clear()

    def _clear(self) -> None:
        self._next = 1
        self._sends: dict[int, Intend] = {}
        self._keys: set[str] = set()
        self._closed: deque[int] = deque()

    async def load(self) -> None:
        """Read the file anew; what cannot be read is set aside, and the rest written without it."""
        self._clear()
        has_broken = self._file.load(lambda line: self._apply(_decoder.decode(line)))
        self._is_loaded = True
        self._forget()
        if has_broken or self._file.is_doubtful:
            self._file.replace(self._lines())

    async def intend(self, run_id: str, answered: str, messages: Sequence[EgressMessage]) -> None:
        """Note what an answer sends; a run that waited for a person goes on with a further segment."""
        await self._ensure()
        segment = sum(send.row.run_id == run_id for send in self._sends.values())
        lines: list[Intend] = []
        for place, message in enumerate(messages):
            key = f"{run_id} {answered} {place}"
            if key not in self._keys:
                lines.append(self._intent(key, run_id, segment + len(lines), message, len(lines)))
        if lines:
            self._write(*lines, waits=False)

    def _intent(self, key: str, run_id: str, segment: int, message: EgressMessage, place: int) -> Intend:
        row = OutboxRow(
            id=self._next + place,
            run_id=run_id,
            segment=segment,
            platform=ThreadId.parse(message.thread_id).platform,
            message=message,
            created_at=timestamp(self._clock()),
            status="waiting",
            attempts=0,
            receipt=None,
            error=None,
        )
        return Intend(row=row, key=key)

    async def next(self, platform: str) -> OutboxRow | None:
        """Claim the oldest waiting send of a platform; it counts as being sent from now on."""
        await self._ensure()
        for send in self._sends.values():
            if send.row.platform == platform and send.row.status == "waiting":
                self._write(Send(id=send.row.id), waits=True)
                return self._sends[send.row.id].row
        return None

    async def sent(self, row: OutboxRow, receipt: str) -> None:
        """Record the receipt of a send."""
        await self._close(row.id, "sent", receipt=receipt)
        self._forget()
        self._file.compact(len(self._sends) + 1, self._lines)

    async def failed(self, row: OutboxRow, error: str, *, retry: bool) -> None:
        """Record that a send failed, and whether it is tried again."""
        await self._close(row.id, "waiting" if retry else "failed", error=error)

    async def doubt(self, platform: str) -> int:
        """Mark sends that a dead process left half done as uncertain; they are never repeated blindly."""
        await self._ensure()
        rows = [send.row for send in self._sends.values()]
        found = [row.id for row in rows if row.platform == platform and row.status == "sending"]
        for each in found:
            await self._close(each, "uncertain", error=UNCERTAIN)
        return len(found)

    async def list(self, status: str | None = None) -> list[OutboxRow]:
        """List sends, oldest first."""
        await self._ensure()
        rows = [send.row for send in self._sends.values()]
        return [row for row in rows if status is None or row.status == status]

    async def _ensure(self) -> None:
        if not self._is_loaded or self._file.is_doubtful:
            await self.load()

    async def _close(
        self, send_id: int, status: str, *, receipt: str | None = None, error: str | None = None
    ) -> None:
        await self._ensure()
        at = timestamp(self._clock())
        self._write(Close(id=send_id, at=at, status=status, receipt=receipt, error=error), waits=True)

    def _write(self, *lines: Line, waits: bool) -> None:
        self._file.append(*lines, waits=waits)
        for line in lines:
            self._apply(line)

    def _lines(self) -> list[Line]:
        return [OutboxBegin(next=self._next), *self._sends.values()]

    def _apply(self, line: Line) -> None:
        match line:
            case OutboxBegin(next=following):
                self._next = max(self._next, following)
            case Intend():
                self._next = max(self._next, line.row.id + 1)
                self._sends[line.row.id] = line
                self._keys.add(line.key)
                if line.closed_at:
                    self._closed.append(line.row.id)
            case Send(id=send_id):
                if send := self._sends.get(send_id):
                    self._change(send, status="sending", attempts=send.row.attempts + 1)
            case Close(id=send_id):
                if send := self._sends.get(send_id):
                    self._change(send, status=line.status, receipt=line.receipt, error=line.error)
                    self._note_closed(send_id, line)

    def _note_closed(self, send_id: int, line: Close) -> None:
        send = self._sends[send_id]
        if line.status != "waiting" and not send.closed_at:
            self._sends[send_id] = msgspec.structs.replace(send, closed_at=line.at)
            self._closed.append(send_id)

    def _change(self, send: Intend, **values: object) -> None:
        row = msgspec.structs.replace(send.row, **values)
        self._sends[row.id] = msgspec.structs.replace(send, row=row)

    def _forget(self) -> None:
        """Drop from memory what was closed long ago."""
        before = timestamp(self._clock() - REMEMBERED)
        while self._closed and self._sends[self._closed[0]].closed_at < before:
            send = self._sends.pop(self._closed.popleft())
            self._keys.discard(send.key)

"""The outbox: `.ship/outbox.jsonl` is the truth of what must be sent and of the receipts.

A send that is begun waits for the disk, and with it all intents before it; after a crash it is uncertain. One
whose receipt is known is changed, not sent, so that nothing is uncertain about it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice

import msgspec

from shipmate.store.journal.lines import LineFile
from shipmate.store.journal.outbox_line import (
    Change,
    Close,
    Intend,
    Line,
    OutboxBegin,
    Revise,
    Send,
    Show,
    apply_to_send,
    decoder,
    key_of_send,
    lasts_long,
)
from shipmate.store.port import OutboxRow, SendStatus
from shipmate.values.event import EgressMessage
from shipmate.values.message import timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk, read_file
from shipmate.workspace.layout import Layout

# How long it is kept what became of a send; longer for questions, and for what somebody should look at.
REMEMBERED = timedelta(days=1)
LASTING_REMEMBERED = timedelta(days=30)
UNCERTAIN = "the process ended while sending"


class JournalOutbox:
    """Every intended send until its receipt."""

    def __init__(
        self, layout: Layout, disk: Disk, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._disk = disk
        self._path = layout.outbox
        self._file = LineFile(layout, layout.outbox, disk)
        self._clock = clock
        self._is_loaded = False
        # Two intents at once would get the same number, and the whole must not stand before its preview.
        self._intending = asyncio.Lock()
        # Lines that wait for the disk: a file that is written anew meanwhile would not have them.
        self._waiting = 0
        self._clear()

    def _clear(self) -> None:
        self._next = 1
        self._sends: dict[int, Intend] = {}
        self._keys: dict[str, int] = {}
        self._closed: deque[int] = deque()
        self._lasting: deque[int] = deque()
        # The sends of each thread and of each run, and those that wait.
        self._threads: dict[str, dict[int, None]] = {}
        self._runs: Counter[str] = Counter()
        self._open: dict[str, dict[int, None]] = {}

    async def load(self) -> None:
        """Read the file anew; what cannot be read is set aside, and the rest written without it."""
        while self._waiting:  # noqa: ASYNC110  (for milliseconds, after a disk refused)
            await asyncio.sleep(0)
        self._read()

    def _read(self) -> None:
        self._clear()
        has_broken = self._file.load(lambda line: self._apply(decoder.decode(line)))
        self._is_loaded = True
        self._forget()
        # A killed process may not have put on disk what is to be sent, and no answer is noted twice.
        if has_broken or self._file.is_doubtful or self._open:
            self._file.replace(self._lines())

    def look(self) -> list[OutboxRow]:
        """List all sends as a process that is not the keeper may: nothing is mended or written."""
        self._clear()
        try:
            lines = read_file(self._disk, self._path).split(b"\n")[:-1]
        except FileNotFoundError:
            lines = []
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._apply(decoder.decode(line))
        self._is_loaded = False
        return [send.row for send in self._sends.values()]

    async def kept(self) -> list[OutboxBegin | Intend]:
        """Return the number the next send gets, and every send that is remembered."""
        await self._ensure()
        return [OutboxBegin(next=self._next), *self._sends.values()]

    async def intend(self, run_id: str, answered: str, messages: Sequence[EgressMessage]) -> None:
        """Note what an answer sends, once; what was shown of it as a preview becomes the whole."""
        async with self._intending:
            await self._ensure()
            new: list[Line] = []
            whole: list[Line] = []
            for place, message in enumerate(messages):
                key = key_of_send(answered, message, place)
                known = self._keys.get(key)
                if known is None:
                    new.append(self._intent(key, run_id, answered, message, len(new)))
                elif self._sends[known].row.is_preview:
                    whole.append(Revise(id=known, message=message))
            if lines := [*whole, *new]:
                # Before the inbox says that all is done: a power cut may keep either file without the other.
                await self._write(*lines)

    async def preview(self, run_id: str, answered: str, message: EgressMessage) -> OutboxRow | None:
        """Begin to send a preview, durably, or return the one that was; None once the whole is known."""
        async with self._intending:
            await self._ensure()
            known = self._keys.get(key := key_of_send(answered, message, 0))
            if known is None:
                intent = self._intent(key, run_id, answered, message, 0, is_preview=True)
                await self._write(intent, Send(id=intent.row.id, at=timestamp(self._clock())))
                known = intent.row.id
        row = self._sends[known].row
        return row if row.is_preview else None

    async def conclude(self, row: OutboxRow, message: EgressMessage) -> None:
        """Put a last word in the place of a preview whose run came to nothing."""
        await self._write(Revise(id=row.id, message=message))

    def _intent(
        self,
        key: str,
        run_id: str,
        answered: str,
        message: EgressMessage,
        place: int,
        *,
        is_preview: bool = False,
    ) -> Intend:
        row = OutboxRow(
            id=self._next + place,
            run_id=run_id,
            answered=answered,
            segment=self._runs[run_id] + place,
            platform=ThreadId.parse(message.thread_id).platform,
            message=message,
            created_at=timestamp(self._clock()),
            status="waiting",
            attempts=0,
            receipt=message.extra.get("edits"),
            is_preview=is_preview,
        )
        return Intend(row=row, key=key)

    async def threads(self) -> list[str]:
        """List the threads in which something waits to be sent."""
        await self._ensure()
        return list(self._open)

    async def open(self, thread_id: str) -> list[OutboxRow]:
        """List what waits to be sent in a thread, oldest first."""
        await self._ensure()
        return [self._sends[each].row for each in sorted(self._open.get(thread_id, ()))]

    async def get(self, send_id: int) -> OutboxRow | None:
        """Return a send."""
        await self._ensure()
        send = self._sends.get(send_id)
        return None if send is None else send.row

    async def begin(self, row: OutboxRow) -> OutboxRow:
        """Put on disk that a send begins."""
        await self._write(Send(id=row.id, at=timestamp(self._clock())))
        return self._sends[row.id].row

    async def shown(self, row: OutboxRow, receipt: str | None, error: str | None = None) -> None:
        """Record what the platform calls a preview; None when it is not there, or with an error may be."""
        await self._write(Show(id=row.id, receipt=receipt, error=error))

    async def gone(self, row: OutboxRow) -> OutboxRow:
        """Record that what was shown is not there any more: what follows is a send, of which nobody knows."""
        await self._write(Show(id=row.id, is_gone=True))
        return self._sends[row.id].row

    async def sent(self, row: OutboxRow, receipt: str) -> None:
        """Record the receipt of a send."""
        await self._close(row, "sent", receipt=receipt)
        self._forget()
        if not self._waiting and not self._intending.locked():
            self._file.compact(len(self._sends) + 1, self._lines)

    async def failed(self, row: OutboxRow, error: str, *, retry: bool) -> None:
        """Record that a send failed, and whether it is tried again."""
        await self._close(row, "waiting" if retry else "failed", error=error)

    async def mark(self, row: OutboxRow, status: SendStatus, error: str | None = None) -> None:
        """Record how a send stands otherwise; one that waits again is wanted by a person."""
        await self._close(row, status, error=error or row.error, is_wanted=status == "waiting")

    async def doubt(self) -> list[OutboxRow]:
        """Mark sends that a dead process left half done as uncertain; they are never repeated blindly."""
        await self._ensure()
        left = [send.row for send in self._sends.values() if send.row.status == "sending"]
        for row in left:
            if row.is_preview:
                # The whole follows in any case, as a change where the message is known.
                await self.shown(row, row.receipt, None if row.receipt else UNCERTAIN)
            elif row.receipt is not None:
                await self._close(row, "waiting", error=UNCERTAIN)
            else:
                await self._close(row, "uncertain", error=UNCERTAIN)
        return [self._sends[row.id].row for row in left]

    async def list(self, status: SendStatus | None = None) -> list[OutboxRow]:
        """List sends, oldest first."""
        await self._ensure()
        rows = [send.row for send in self._sends.values()]
        return [row for row in rows if status is None or row.status == status]

    async def in_thread(self, thread_id: str, limit: int = 200) -> list[OutboxRow]:
        """List the last sends of a thread, oldest first."""
        await self._ensure()
        last = list(islice(reversed(self._threads.get(thread_id, {})), limit))
        return [self._sends[each].row for each in reversed(last)]

    async def _ensure(self) -> None:
        if not self._is_loaded or self._file.is_doubtful:
            await self.load()

    async def _close(
        self,
        row: OutboxRow,
        status: SendStatus,
        *,
        receipt: str | None = None,
        error: str | None = None,
        is_wanted: bool = False,
    ) -> None:
        at = timestamp(self._clock())
        await self._write(
            Close(id=row.id, at=at, status=status, receipt=receipt, error=error, is_wanted=is_wanted)
        )

    async def _write(self, *lines: Line) -> None:
        """Put lines on disk, and only then take them over."""
        await self._ensure()
        self._waiting += 1
        try:
            await self._file.append_durably(*lines)
        finally:
            self._waiting -= 1
        self._apply_all(lines)

    def _apply_all(self, lines: Sequence[Line]) -> None:
        for line in lines:
            self._apply(line)

    def _lines(self) -> list[Line]:
        return [OutboxBegin(next=self._next), *self._sends.values()]

    def _apply(self, line: Line) -> None:
        """Bring one line into memory; what it names and nobody knows was set aside or forgotten."""
        match line:
            case OutboxBegin(next=following):
                self._next = max(self._next, following)
            case Intend():
                self._put(line)
            case Revise() | Send() | Show() | Close():
                self._change(line)

    def _put(self, line: Intend) -> None:
        row = line.row
        self._next = max(self._next, row.id + 1)
        self._sends[row.id] = line
        self._keys[line.key] = row.id
        self._runs[row.run_id] += 1
        self._threads.setdefault(row.message.thread_id, {})[row.id] = None
        if line.closed_at:
            self._forget_later(row)
        self._note_open(row)

    def _forget_later(self, row: OutboxRow) -> None:
        (self._lasting if lasts_long(row) else self._closed).append(row.id)

    def _change(self, line: Change) -> None:
        if known := self._sends.get(line.id):
            send = self._sends[line.id] = apply_to_send(known, line)
            self._note_open(send.row)
            if send.closed_at and not known.closed_at:
                self._forget_later(send.row)

    def _note_open(self, row: OutboxRow) -> None:
        thread_id = row.message.thread_id
        waiting = self._open.setdefault(thread_id, {})
        if row.status == "waiting":
            waiting[row.id] = None
        else:
            waiting.pop(row.id, None)
        if not waiting:
            del self._open[thread_id]

    def _forget(self) -> None:
        """Drop from memory what was closed long ago."""
        now = self._clock()
        for closed, time in ((self._closed, REMEMBERED), (self._lasting, LASTING_REMEMBERED)):
            before = timestamp(now - time)
            while closed and self._sends[closed[0]].closed_at < before:
                self._drop(self._sends.pop(closed.popleft()))

    def _drop(self, send: Intend) -> None:
        row, thread_id = send.row, send.row.message.thread_id
        if self._keys.get(send.key) == row.id:
            del self._keys[send.key]
        for table in (self._threads, self._open):
            if rows := table.get(thread_id):
                rows.pop(row.id, None)
                if not rows:
                    del table[thread_id]
        self._runs[row.run_id] -= 1
        if not self._runs[row.run_id]:
            del self._runs[row.run_id]

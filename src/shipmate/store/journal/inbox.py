"""The inbox: `.ship/inbox.jsonl` is the truth of what was accepted and is not yet in its thread.

Memory holds what is open and what was finished within the last hours; an older repeat is answered from its
thread. Accepting, stopping and taking back wait for the disk. What a thread tells again does not.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from shipmate.store.journal.inbox_line import (
    Accept,
    Ask,
    FinishLine,
    HearLine,
    InboxBegin,
    Keep,
    Key,
    Leave,
    Line,
    StopLine,
    Take,
    WithdrawLine,
    apply_to_open,
    decoder,
    key_of,
)
from shipmate.store.journal.lines import LineFile
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.port import InboxRow, answered_by
from shipmate.values.event import EgressMessage, IngressEvent, Outcome, encode_event
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import Disk
from shipmate.workspace.layout import Layout

REMEMBERED = timedelta(hours=8)


class JournalInbox:
    """Every event that came in, once, until the thread itself shows what became of it."""

    def __init__(
        self,
        layout: Layout,
        outbox: JournalOutbox,
        disk: Disk,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._file = LineFile(layout, layout.inbox, disk)
        self._outbox = outbox
        self._clock = clock
        self._is_loaded = False
        # Two at once would get the same number, a repeat could come in between, and a file that is written
        # anew meanwhile would not have the line.
        self._accepting = asyncio.Lock()
        self._clear()

    def _clear(self) -> None:
        self._next = 1
        self._kept: dict[int, Keep] = {}
        self._open: dict[int, None] = {}
        self._seqs: dict[Key, int] = {}
        self._done: deque[int] = deque()

    async def load(self) -> None:
        """Read the file anew; what cannot be read is set aside, and the rest written without it."""
        async with self._accepting:
            self._read()

    def _read(self) -> None:
        self._clear()
        has_broken = self._file.load(lambda line: self._apply(decoder.decode(line)))
        self._is_loaded = True
        self._forget()
        # A process that was killed after its sync failed left lines that no later sync puts on disk.
        if has_broken or self._file.is_doubtful or any(map(_stands_alone, self._kept.values())):
            self._file.replace(self._lines())
        elif self._kept:
            # From now on people are told that these were taken, or withdrawn.
            self._file.settle()

    async def accept(self, event: IngressEvent) -> tuple[InboxRow, bool]:
        """Store an event durably; return its row, and whether it is new."""
        # Refuses what cannot be written down.
        encode_event(event)
        async with self._accepting:
            self._read_if_needed()
            self._forget()
            known = self._seqs.get(key_of(event))
            if known is not None:
                return self._kept[known].row, False
            line = Accept(seq=self._next, at=timestamp(self._clock()), event=event)
            await self._file.append_durably(line)
            self._apply(line)
            return self._kept[line.seq].row, True

    async def kept(self) -> list[InboxBegin | Keep]:
        """Return the number the next event gets, and every row that is remembered."""
        await self._ensure()
        return [InboxBegin(next=self._next), *self._kept.values()]

    async def find(self, event: IngressEvent) -> InboxRow | None:
        """Return the row of an event of the same key, while it is remembered."""
        await self._ensure()
        known = self._seqs.get(key_of(event))
        return None if known is None else self._kept[known].row

    async def open(self, thread_id: str) -> list[InboxRow]:
        """List what waits or was being worked on when a process ended, oldest first."""
        await self._ensure()
        rows = (self._kept[seq].row for seq in self._open)
        return [row for row in rows if row.event.thread_id == thread_id]

    async def threads(self) -> list[str]:
        """List the threads that have open rows."""
        await self._ensure()
        return list(dict.fromkeys(self._kept[seq].row.event.thread_id for seq in self._open))

    async def hear(self, row: InboxRow, event: IngressEvent) -> InboxRow:
        """Keep what a spoken message turned out to say, in its place; return the row as it is now."""
        encode_event(event)
        await self._ensure()
        # After a power cut it is heard again.
        self._write(HearLine(seq=row.seq, event=event), waits=False)
        return self._kept[row.seq].row

    async def take(self, rows: Sequence[InboxRow], run_id: str) -> list[InboxRow]:
        """Mark rows as worked on by a run; return those that were still to be had."""
        await self._ensure()
        seqs = [row.seq for row in rows if row.seq in self._open]
        if seqs:
            self._write(Take(seqs=seqs, run=run_id), waits=False)
        return [self._kept[seq].row for seq in seqs]

    async def ask(self, run_id: str, progress: int) -> None:
        """Count an attempt: the run asks a model now, having got as far as `progress`."""
        await self._ensure()
        if self._of_run(run_id):
            self._write(Ask(run=run_id, progress=progress), waits=False)

    async def leave(self, run_id: str) -> None:
        """Take the last attempt back: the run did not break, its process leaves or its disk refused."""
        await self._ensure()
        if any(self._kept[seq].is_counted for seq in self._of_run(run_id)):
            self._write(Leave(run=run_id), waits=False)

    async def stop(self, run_id: str) -> None:
        """Put on disk that a person stopped a run."""
        await self._ensure()
        if self._of_run(run_id):
            self._write(StopLine(run=run_id), waits=True)

    async def withdraw(self, thread_id: str, message_id: str) -> InboxRow | None:
        """Take back an event that still waits, durably; return its row, or None when it goes on."""
        for row in await self.open(thread_id):
            if row.event.message_id == message_id and row.status == "waiting":
                self._write(WithdrawLine(seq=row.seq, at=timestamp(self._clock())), waits=True)
                return self._kept[row.seq].row
        # Whoever asks again was not told.
        gone = (kept.row for kept in self._kept.values() if kept.row.status == "withdrawn")
        named = (
            row for row in gone if (row.event.thread_id, row.event.message_id) == (thread_id, message_id)
        )
        return next(named, None)

    async def finish(
        self, rows: Sequence[InboxRow], outcome: Outcome, sends: Sequence[EgressMessage] = ()
    ) -> None:
        """Record the outcome and what must be sent; a crash in between sends nothing twice."""
        await self._ensure()
        rows = [row for row in rows if row.seq in self._open]
        seqs = [row.seq for row in rows]
        if not seqs:
            # Rows that were finished before have had their sends.
            return
        if sends:
            await self._outbox.intend(outcome.run_id, answered_by(rows), sends)
        line = FinishLine(seqs=seqs, at=timestamp(self._clock()), outcome=outcome)
        # An outcome that no message of the thread tells would be found anew after a power cut, and differ.
        self._write(line, waits=outcome.message_id is None)
        if not self._accepting.locked():
            self._file.compact(len(self._kept) + 1, self._lines)

    async def _ensure(self) -> None:
        if not self._is_loaded or self._file.is_doubtful:
            async with self._accepting:
                self._read_if_needed()

    def _read_if_needed(self) -> None:
        if not self._is_loaded or self._file.is_doubtful:
            self._read()

    def _write(self, line: Line, *, waits: bool) -> None:
        self._file.append(line, waits=waits)
        self._apply(line)

    def _lines(self) -> Sequence[Line]:
        return [InboxBegin(next=self._next), *self._kept.values()]

    def _of_run(self, run_id: str) -> list[int]:
        return [seq for seq in self._open if self._kept[seq].row.run_id == run_id]

    def _apply(self, line: Line) -> None:
        """Bring one line into memory; what it names and nobody knows was set aside or forgotten."""
        match line:
            case Accept(seq=seq, at=at, event=event):
                self._put(Keep(row=InboxRow(seq=seq, event=event, received_at=at, status="waiting")))
            case Keep():
                self._put(line)
            case InboxBegin(next=following):
                self._next = max(self._next, following)
            case HearLine(seq=seq) | WithdrawLine(seq=seq):
                self._change(line, [seq])
            case Take(seqs=seqs) | FinishLine(seqs=seqs):
                self._change(line, seqs)
            case Ask(run=run) | Leave(run=run) | StopLine(run=run):
                self._change(line, self._of_run(run))

    def _put(self, kept: Keep) -> None:
        row = kept.row
        self._next = max(self._next, row.seq + 1)
        self._kept[row.seq] = kept
        self._seqs[key_of(row.event)] = row.seq
        if row.status in ("waiting", "running"):
            self._open[row.seq] = None
        else:
            self._done.append(row.seq)

    def _change(self, line: Line, seqs: Sequence[int]) -> None:
        for seq in seqs:
            if seq not in self._open:
                continue
            kept = self._kept[seq] = apply_to_open(self._kept[seq], line)
            if kept.done_at:
                del self._open[seq]
                self._done.append(seq)

    def _forget(self) -> None:
        """Drop from memory what was finished long ago."""
        before = timestamp(self._clock() - REMEMBERED)
        while self._done and self._kept[self._done[0]].done_at < before:
            row = self._kept.pop(self._done.popleft()).row
            # It may have been sent anew since.
            if self._seqs.get(key_of(row.event)) == row.seq:
                del self._seqs[key_of(row.event)]


def _stands_alone(kept: Keep) -> bool:
    """Return whether no thread tells what became of a row."""
    return kept.row.outcome is None or kept.row.outcome.message_id is None

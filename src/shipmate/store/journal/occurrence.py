"""Occurrences of tasks: `.ship/occurrences.jsonl` is the truth of which due times were claimed or missed.

A claim waits for the disk before its task begins. What became of it is told by its thread as well, so that
need not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from shipmate.store.journal.lines import LineFile
from shipmate.values.message import timestamp
from shipmate.workspace.disk.disk import Disk, read_file
from shipmate.workspace.layout import Layout

OccurrenceStatus: TypeAlias = Literal[
    "claimed", "fired", "replied", "quiet", "suspended", "stopped", "failed", "missed", "uncertain"
]
OPEN = ("claimed", "fired")
# How many are remembered of one task, and of all together.
KEPT, KEPT_AT_LEAST, KEPT_TOGETHER = 50, 5, 50_000


class Occurrence(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One due time of a task, or a stretch of missed ones, and what became of it."""

    task: str
    # In UTC, to the second; of one that was begun by hand, when that was.
    due: str
    status: OccurrenceStatus
    # When it came to this.
    at: str
    by_hand: bool = False
    thread_id: str = ""
    run_id: str = ""
    # Of a stretch: the last of them, and how many; 0 when they are too many to count.
    until: str = ""
    count: int = 1
    # A saying of the schedule, or what an error said.
    why: str = ""

    @property
    def key(self) -> str:
        """Return the name its event has, by which it is known everywhere."""
        return f"{self.task}@{self.due}"


class _OccurrenceLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", omit_defaults=True):
    """One thing that happened to a task's times."""


class Put(_OccurrenceLine, frozen=True, kw_only=True, tag="put"):
    occurrence: Occurrence


class MarkOccurrence(_OccurrenceLine, frozen=True, kw_only=True, tag="mark"):
    task: str
    due: str
    status: OccurrenceStatus
    at: str
    run_id: str = ""
    why: str = ""


class Stand(_OccurrenceLine, frozen=True, kw_only=True, tag="stand"):
    """From when on a task's times count, by the rule it has."""

    task: str
    digest: str
    since: str


OccurrenceLine: TypeAlias = Put | MarkOccurrence | Stand
_decoder: msgspec.json.Decoder[OccurrenceLine] = msgspec.json.Decoder(OccurrenceLine)


class TaskRecord:
    """What is known of one task's times."""

    __slots__ = ("digest", "known", "upto")

    def __init__(self) -> None:
        self.digest = ""
        # Up to here every due time was claimed or listed as missed.
        self.upto = ""
        self.known: dict[str, Occurrence] = {}

    @property
    def is_open(self) -> bool:
        """Return whether an occurrence has not come to its end."""
        return any(each.status in OPEN for each in self.known.values())


class JournalOccurrences:
    """The times of all tasks. Only the keeper writes; `look` is for every other process."""

    def __init__(
        self, layout: Layout, disk: Disk, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._disk = disk
        self._path = layout.occurrences
        self._file = LineFile(layout, layout.occurrences, disk)
        self._clock = clock
        self._waiting = 0
        self._clear()

    def _clear(self) -> None:
        self._is_loaded = False
        self._records: dict[str, TaskRecord] = {}
        self._count = 0

    async def load(self) -> None:
        """Read the file anew; what cannot be read is set aside, and the rest written without it."""
        while self._waiting:  # noqa: ASYNC110  (for milliseconds, after a disk refused)
            await asyncio.sleep(0)
        self._clear()
        has_broken = self._file.load(lambda line: self._apply(_decoder.decode(line)))
        self._is_loaded = True
        if has_broken or self._file.is_doubtful:
            self._file.replace(self._lines())
        elif self._records:
            # From now on tasks begin because of these.
            self._file.settle()

    def look(self) -> dict[str, TaskRecord]:
        """Return what is known as a process that is not the keeper may: nothing is mended or written."""
        self._clear()
        try:
            lines = read_file(self._disk, self._path).split(b"\n")[:-1]
        except FileNotFoundError:
            lines = []
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._apply(_decoder.decode(line))
        return self._records

    def record(self, task: str) -> TaskRecord:
        """Return what is known of a task's times."""
        return self._records.get(task) or TaskRecord()

    def open(self) -> list[Occurrence]:
        """List what was claimed and has not come to its end."""
        return [
            each for record in self._records.values() for each in record.known.values() if each.status in OPEN
        ]

    async def put(self, *occurrences: Occurrence) -> None:
        """Put claims and missed times on disk, all in one go."""
        await self._write([Put(occurrence=each) for each in occurrences])

    async def stand(self, stands: Iterable[tuple[str, str, datetime]]) -> None:
        """Put on disk from when on the times of tasks count: their ids, rules and moments."""
        await self._write(
            [Stand(task=task, digest=digest, since=stamp(since)) for task, digest, since in stands]
        )

    async def mark(
        self, known: Occurrence, status: OccurrenceStatus, *, run_id: str = "", why: str = ""
    ) -> None:
        """Record what became of an occurrence; its thread tells it again."""
        await self.ensure()
        line = MarkOccurrence(
            task=known.task,
            due=known.due,
            status=status,
            at=timestamp(self._clock()),
            run_id=run_id,
            why=why,
        )
        self._file.append(line, waits=False)
        self._apply(line)
        if not self._waiting:
            self._file.compact(self._count + len(self._records), self._lines)

    async def ensure(self) -> None:
        """Read the file, unless it was."""
        if not self._is_loaded or self._file.is_doubtful:
            await self.load()

    async def _write(self, lines: Sequence[OccurrenceLine]) -> None:
        if not lines:
            return
        await self.ensure()
        self._waiting += 1
        try:
            await self._file.append_durably(*lines)
        finally:
            self._waiting -= 1
        for line in lines:
            self._apply(line)

    def _lines(self) -> list[OccurrenceLine]:
        lines: list[OccurrenceLine] = []
        for task, record in self._records.items():
            lines += [Put(occurrence=each) for each in record.known.values()]
            # Behind them: it says how far the task has come, whatever those before it say.
            lines.append(Stand(task=task, digest=record.digest, since=record.upto))
        return lines

    def _apply(self, line: OccurrenceLine) -> None:
        match line:
            case Stand(task=task, digest=digest, since=since):
                record = self._records.setdefault(task, TaskRecord())
                record.digest, record.upto = digest, since
            case Put(occurrence=occurrence):
                record = self._records.setdefault(occurrence.task, TaskRecord())
                self._count += occurrence.due not in record.known
                record.known[occurrence.due] = occurrence
                if not occurrence.by_hand:
                    record.upto = occurrence.until or occurrence.due
                self._forget(record)
            case MarkOccurrence(task=task, due=due):
                record = self._records.get(task)
                known = record.known.get(due) if record is not None else None
                if record is not None and known is not None:
                    record.known[due] = msgspec.structs.replace(
                        known,
                        status=line.status,
                        at=line.at,
                        run_id=line.run_id or known.run_id,
                        why=line.why,
                    )

    def _forget(self, record: TaskRecord) -> None:
        """Drop the oldest that came to their end; a time that is still to come could be claimed anew."""
        limit = max(KEPT_AT_LEAST, min(KEPT, KEPT_TOGETHER // len(self._records)))
        if len(record.known) <= limit:
            return
        now = stamp(self._clock())
        old = next((due for due, each in record.known.items() if each.status not in OPEN and due < now), None)
        if old is not None:
            del record.known[old]
            self._count -= 1


def stamp(moment: datetime) -> str:
    """Return a moment in UTC as occurrences name it: to the second, so that it sorts and compares."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat()}Z"

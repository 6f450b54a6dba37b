"""Begin tasks when they are due: each due time is claimed on disk first, and so begun once or listed."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from msgspec.structs import replace

from shipmate.errors import ShipmateError, StorageError
from shipmate.schedule.occasion import make_course, make_event, read_key
from shipmate.schedule.task import Task
from shipmate.schedule.task_folder import TaskFolder
from shipmate.store.journal.occurrence import JournalOccurrences, Occurrence, OccurrenceStatus, stamp
from shipmate.values.event import IngressEvent, Outcome, TextEvent, is_quiet
from shipmate.values.message import timestamp

# How often it is looked whether a file or the clock was changed.
SWEEP_SECONDS = 2.0
# So late an occurrence still begins whose task wants none of those that were missed.
GRACE = timedelta(minutes=10)
# For so long the inbox surely remembers what it was given.
REMEMBERED = timedelta(hours=8)
# So many missed times are counted, and so many of them a task with `catch-up: all` is given.
COUNTED, CAUGHT_UP = 500, 100
# So many tasks are at work at once; the rest are claimed and wait.
AT_WORK = 8
# How far back the last due time is looked for.
BACK = tuple(timedelta(seconds=each) for each in (60, 3_600, 90_000, 2_800_000, 40_000_000))
log = logging.getLogger(__name__)


class TakenIn(Protocol):
    """The confirmation that an event is stored."""

    async def outcome(self) -> Outcome: ...


class Receiver(Protocol):
    """What takes events in; the keeper's lanes do."""

    async def receive(self, event: IngressEvent) -> Any: ...

    async def knows(self, event: IngressEvent) -> bool | None:
        """Return whether an event was ever taken in; None when its thread is not there to tell."""
        ...

    async def is_done(self, event: IngressEvent) -> bool:
        """Return whether an event has come to its end."""
        ...


class Scheduler:
    """The clock of one keeper: a heap of what is due next, and one timer."""

    def __init__(
        self,
        folder: TaskFolder,
        journal: JournalOccurrences,
        receiver: Receiver,
        *,
        check: Callable[[Task], object] = lambda _task: None,
        language: str = "en",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._receiver = receiver
        # Raises when nobody can do a task.
        self._check = check
        self._language = language
        self._clock = clock
        self._tasks: dict[str, Task] = {}
        self._heap: list[tuple[datetime, str]] = []
        # What the heap says of each task; an entry that differs is outdated.
        self._next: dict[str, datetime] = {}
        # What was written and is not planned yet.
        self._changed: set[str] = set()
        self._seen = clock()
        self._at_work = asyncio.Semaphore(AT_WORK)
        self._jobs: set[asyncio.Task[None]] = set()
        self._timer: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Take up what a process left, and begin what is due from now on."""
        self._timer = asyncio.create_task(self._run())

    async def idle(self) -> None:
        """Wait until nothing that was begun goes on."""
        while self._jobs:
            await asyncio.wait(self._jobs)

    async def close(self) -> None:
        """Begin nothing more; what was begun goes on with the next keeper."""
        jobs = [*self._jobs, *([self._timer] if self._timer else [])]
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)

    async def receive(self, event: TextEvent) -> Any:
        """Take in the event of a task that is begun by hand; it is claimed first."""
        await self._journal.ensure()
        known = read_key(event, timestamp(self._clock()))
        if known.due not in self._journal.record(known.task).known:
            await self._journal.put(known)
        receipt = await self._hand_over(known, event)
        self._start(self._follow(known, event, receipt))
        return receipt

    async def _run(self) -> None:
        is_taken_up = False
        while True:
            # The process edge: what one round cannot do is logged, and tried again in the next.
            try:
                if not is_taken_up:
                    await self._journal.load()
                    await self.look()
                    await self._take_up()
                    is_taken_up = True
                await self.look()
                await self.work()
            except StorageError as error:
                log.warning("tasks wait: %s", error)
            except Exception:
                log.exception("a round of the schedule broke")
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        if not self._heap:
            return SWEEP_SECONDS
        until = (self._heap[0][0] - self._clock()).total_seconds()
        # A round that could not claim what is due would else be repeated without end.
        return min(SWEEP_SECONDS, until if until > 0 else SWEEP_SECONDS / 4)

    async def look(self) -> None:
        """Read the files that were changed, and see whether the clock was."""
        self._changed |= self._folder.changes()
        now = self._clock()
        if now < self._seen - timedelta(seconds=1):
            # It was set back: what it shows a second time counts again, but for what was claimed.
            self._changed |= self._tasks.keys()
        self._seen = now
        stands: list[tuple[str, str, datetime]] = []
        for place, task_id in enumerate(sorted(self._changed)):
            if place % 20 == 19:
                # The lanes have work to do meanwhile.
                await asyncio.sleep(0)
            if (stand := self._read(task_id, now)) is not None:
                stands.append(stand)
        await self._journal.stand(stands)
        for task_id in self._changed:
            self._plan(task_id)
        self._changed.clear()

    def _read(self, task_id: str, now: datetime) -> tuple[str, str, datetime] | None:
        """Read one file; return from when on its times count, where that is not known."""
        self._tasks.pop(task_id, None)
        try:
            file = self._folder.get(task_id)
        except ShipmateError:
            return None
        if file.problem is not None:
            log.warning("task %s is not run: %s", task_id, file.problem)
        if file.task is None:
            return None
        self._tasks[task_id] = file.task
        record = self._journal.record(task_id)
        if record.digest == file.task.digest:
            return (task_id, record.digest, now) if record.upto > stamp(now) else None
        # From the moment it was written: what was due before that is nothing anybody missed.
        return task_id, file.task.digest, min(file.modified, now)

    def _plan(self, task_id: str) -> None:
        """Put the next time of a task into the heap."""
        task = self._tasks.get(task_id)
        due = self._due(task, self._position(task)) if task is not None and task.is_enabled else None
        if due is None:
            self._next.pop(task_id, None)
        elif self._next.get(task_id) != due:
            self._next[task_id] = due
            heapq.heappush(self._heap, (due, task_id))

    def _position(self, task: Task) -> datetime:
        """Return up to when a task's times were decided."""
        return datetime.fromisoformat(self._journal.record(task.id).upto)

    def _due(self, task: Task, after: datetime) -> datetime | None:
        """Return the next time of a task that was never claimed."""
        known = self._journal.record(task.id).known
        due = task.when.after(after)
        while due is not None and (each := known.get(stamp(due))) is not None and each.status != "missed":
            due = task.when.after(due)
        return due

    async def work(self) -> None:
        """Claim what is due, all of it in one write, and begin it."""
        now = self._clock()
        due = list(dict.fromkeys(self._pop(now)))
        lines: list[Occurrence] = []
        try:
            for task_id in due:
                if self._folder.is_changed(task_id) and (stand := self._read(task_id, now)) is not None:
                    # It was written a moment ago: it is planned anew, by what it says now.
                    await self._journal.stand([stand])
                elif (task := self._tasks.get(task_id)) is not None and task.is_enabled:
                    lines += self._decide(task, now)
            await self._journal.put(*lines)
        finally:
            for task_id in due:
                self._plan(task_id)
        for each in lines:
            if each.status == "claimed":
                self._start(self._fire(each))

    def _pop(self, now: datetime) -> Iterable[str]:
        while self._heap and self._heap[0][0] <= now:
            due, task_id = heapq.heappop(self._heap)
            if self._next.get(task_id) == due:
                del self._next[task_id]
                yield task_id

    def _decide(self, task: Task, now: datetime) -> list[Occurrence]:
        """Return which of the due times of a task are claimed, and which are missed."""
        times, is_all = self._times(task, now)
        if not times:
            return []
        if task.catch_up == "all":
            first = max(0, len(times) - CAUGHT_UP)
        else:
            is_late = task.catch_up == "skip" and now - times[-1] > GRACE
            first = len(times) if is_late else len(times) - 1
        lines: list[Occurrence] = []
        if first:
            lines.append(self._miss(task, times[:first], "late", is_all=is_all))
        claimed = [self._occurrence(task, due, "claimed") for due in times[first:]]
        if not claimed:
            return lines
        try:
            self._check(task)
        except ShipmateError as error:
            return [*lines, *(replace(each, status="failed", why=str(error)) for each in claimed)]
        if task.catch_up != "all" and self._journal.record(task.id).is_open:
            return [*lines, self._miss(task, times[first:], "still-running")]
        return [*lines, *claimed]

    def _times(self, task: Task, now: datetime) -> tuple[list[datetime], bool]:
        """Return the due times that are not decided, and whether these are all: else the first and last."""
        found: list[datetime] = []
        due = self._due(task, self._position(task))
        while due is not None and due <= now and len(found) < COUNTED:
            found.append(due)
            due = self._due(task, due)
        if due is None or due > now:
            return found, True
        return [found[0], *self._last_times(task, now)], False

    def _last_times(self, task: Task, now: datetime) -> list[datetime]:
        for back in BACK:
            found: list[datetime] = []
            due = self._due(task, now - back)
            while due is not None and due <= now:
                found.append(due)
                due = self._due(task, due)
            if found:
                return found[-CAUGHT_UP:]
        return []

    def _occurrence(self, task: Task, due: datetime, status: OccurrenceStatus) -> Occurrence:
        at = timestamp(self._clock())
        return Occurrence(task=task.id, due=stamp(due), status=status, at=at, thread_id=task.thread_id)

    def _miss(self, task: Task, times: list[datetime], why: str, *, is_all: bool = True) -> Occurrence:
        missed = self._occurrence(task, times[0], "missed")
        until = stamp(times[-1]) if len(times) > 1 else ""
        return replace(missed, until=until, count=len(times) if is_all else 0, why=why)

    async def _take_up(self) -> None:
        """Go on with what a process claimed and did not bring to its end."""
        now = self._clock()
        for each in self._journal.open():
            event = self._event(each)
            known = await self._receiver.knows(event)
            age = now - datetime.fromisoformat(each.at)
            is_unbegun = each.status == "claimed" and (known is False or age < REMEMBERED)
            if known or (is_unbegun and age < GRACE and each.task in self._tasks):
                self._start(self._fire(each))
            elif is_unbegun:
                await self._journal.mark(each, "missed", why="cut-off")
            else:
                await self._journal.mark(each, "uncertain", why="nobody-knows")

    def _event(self, known: Occurrence) -> TextEvent:
        return make_event(self._tasks.get(known.task), known, self._clock(), self._language)

    async def _fire(self, known: Occurrence) -> None:
        """Hand an occurrence over, and record what becomes of it."""
        async with self._at_work:
            event = self._event(known)
            receipt = await self._again(lambda: self._hand_over(known, event))
            await self._follow(known, event, receipt)

    async def _hand_over(self, known: Occurrence, event: TextEvent) -> TakenIn:
        task = self._tasks.get(known.task)
        if task is None and known.by_hand:
            with suppress(ShipmateError):
                task = self._folder.get(known.task).task
        if task is not None and task.is_fresh:
            await self._receiver.receive(make_course(event))
        receipt: TakenIn = await self._receiver.receive(event)
        if known.status == "claimed":
            await self._journal.mark(known, "fired")
        return receipt

    async def _follow(self, known: Occurrence, event: TextEvent, receipt: TakenIn) -> None:
        outcome = await receipt.outcome()
        while not await self._receiver.is_done(event):
            # The lane broke, and takes the event up again.
            await asyncio.sleep(SWEEP_SECONDS)
            receipt = await self._again(lambda: self._receiver.receive(event))
            outcome = await receipt.outcome()
        await self._again(lambda: self._end(known, event, outcome))

    async def _end(self, known: Occurrence, event: TextEvent, outcome: Outcome) -> None:
        status: OccurrenceStatus = "replied" if outcome.status == "steered" else outcome.status
        if status == "replied" and is_quiet(event.source, outcome.text):
            status = "quiet"
        await self._journal.mark(known, status, run_id=outcome.run_id, why=outcome.error or "")

    async def _again(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do something as soon as the disk allows it."""
        while True:
            try:
                return await work()
            except StorageError as error:
                log.warning("a task waits: %s", error)
                await asyncio.sleep(SWEEP_SECONDS)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        job = asyncio.create_task(work)
        self._jobs.add(job)
        job.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and (error := job.exception()) is not None:
            # The process edge: one task that breaks stops no other, and is found open at the next start.
            log.error("a task broke", exc_info=error)

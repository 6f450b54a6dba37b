"""Keep the index equal to the files: thread by thread as they change, or all of them by comparing.

Rows are never rewritten, so what changed in a thread is what was appended since it was read. A missing,
damaged or older database is noticed and brought up to date in the background.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from shipmate.errors import StorageError
from shipmate.store.entry import (
    TURN_SECONDS,
    Overlooked,
    ThreadFileState,
    apply_mark,
    compare_files,
    make_entry,
    stamp_of,
    time_of,
)
from shipmate.store.journal.mark import MarkFiles
from shipmate.store.port import Reconciled
from shipmate.store.sqlite.database import Database
from shipmate.store.sqlite.search import SearchTable
from shipmate.store.sqlite.thread import ThreadEntry, ThreadTable
from shipmate.thread.log import FileLog, Position
from shipmate.thread.row import merge_row, split_lines
from shipmate.values.message import UIMessage, message_tokens
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import Disk, opened, refusals, stat_of
from shipmate.workspace.layout import CAPTAIN, Layout

log = logging.getLogger(__name__)
Result = TypeVar("Result")
# How long whoever asks for a list waits for an index that is being brought up to date.
PATIENCE_SECONDS = 0.5
READ_BYTES = 1 << 20
# How often a thread that grows while it is read is read again; whoever makes it grow notes it in the end.
READS = 5
COUNTED_THREADS = 1000


class Index:
    """The list of threads and the search of one workspace, over its files."""

    def __init__(self, layout: Layout, disk: Disk, database: Database, marks: MarkFiles) -> None:
        self._layout = layout
        self._disk = disk
        self._database = database
        self._marks = marks
        self._log = FileLog(layout, disk)
        self.threads = ThreadTable(database)
        self.search = SearchTable(database)
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[Reconciled] | None = None
        self._idle = asyncio.Event()
        # When it was last begun to compare.
        self._began = 0.0
        # The database that was compared with the files.
        self._compared = 0
        self._overlooked = Overlooked(layout, disk)
        # Counting the tokens of a long thread anew each turn would cost more than the turn.
        # By thread: how many messages were counted, their tokens, and up to which place of the file.
        self._counted: dict[str, tuple[int, int, int]] = {}

    async def note(self, thread_id: str, messages: Sequence[UIMessage], member: str) -> None:
        """Bring one thread up to date, given all its messages by whoever holds it."""
        with self._retrying(thread_id):
            await self._note(thread_id, messages, member)

    async def _note(self, thread_id: str, messages: Sequence[UIMessage], member: str) -> None:
        parsed = ThreadId.parse(thread_id)
        status = self._stat(self._layout.thread(parsed))
        if status is None:
            await self.refresh(thread_id)
            return
        self._mark_begun(parsed, messages, member)
        known = self._database.do(lambda: self.threads.find(thread_id))
        start = Position(known.offset, 0, known.inode) if known else Position()
        tail = await self._log.read(parsed, start)
        is_whole = known is None or known.info.binned or tail.restarted
        ids = {row["id"] for row in tail.rows}
        changed = messages if is_whole else _find_changed(messages, ids)
        if not is_whole and len(changed) < len(ids):
            # These messages are older than the file.
            await self.refresh(thread_id)
            return
        problems = len(tail.problems) + (0 if is_whole or known is None else known.problems)
        state = ThreadFileState(
            stamp=stamp_of(status),
            inode=tail.position.inode,
            offset=tail.position.offset,
            binned=False,
            at=time_of(status),
            problems=problems,
        )
        if self._counted.get(thread_id, (0, 0, 0))[2] != start.offset:
            # Another process brought the index further: what changed meanwhile was not counted here.
            self._counted.pop(thread_id, None)
        tokens = self._count(thread_id, messages, ids, tail.position.offset)
        entry = self._entry(parsed, messages, tokens, state)
        if not self._write(entry, changed, None if is_whole else start.offset):
            await self.refresh(thread_id)

    async def refresh(self, thread_id: str) -> None:
        """Bring one thread up to date by reading its file: there, in the bin, or gone."""
        with self._retrying(thread_id):
            for _ in range(READS):
                if await self._refresh(thread_id):
                    return
        log.info("%s still grew after it was read %d times", thread_id, READS)

    async def _refresh(self, thread_id: str) -> bool:
        """Read a thread's file into the index; tell whether it stayed as it was meanwhile."""
        parsed = ThreadId.parse(thread_id)
        live = self._stat(self._layout.thread(parsed))
        path = self._layout.thread(parsed) if live else self._layout.thread_bin(parsed)
        status = live or self._stat(path)
        if status is None:
            self._database.do(lambda: self._drop([thread_id]))
            return True
        messages: dict[str, UIMessage] = {}
        offset = problems = 0
        try:
            async for rows, faults, end in self._blocks(path):
                for row in rows:
                    known = messages.get(row["id"])
                    messages[row["id"]] = row if known is None else merge_row(known, row)
                offset, problems = end, problems + faults
        except FileNotFoundError:
            # It was moved meanwhile.
            return False
        state = ThreadFileState(
            stamp=stamp_of(status),
            inode=status.st_ino,
            offset=offset,
            binned=live is None,
            at=time_of(status),
            problems=problems,
        )
        found = list(messages.values())
        tokens = sum(map(message_tokens, found))
        return self._write(self._entry(parsed, found, tokens, state), found, None)

    async def find(self, thread_id: str) -> ThreadEntry | None:
        """Return a thread that has a file, as it is marked now."""
        parsed = ThreadId.parse(thread_id)
        found = self._database.do(lambda: self.threads.find(thread_id))
        is_live = self._stat(self._layout.thread(parsed)) is not None
        is_binned = not is_live and self._stat(self._layout.thread_bin(parsed)) is not None
        is_listed = found is not None and found.info.binned == is_binned
        if is_listed != (is_live or is_binned):
            await self.refresh(thread_id)
        elif found is not None and found.mark_stamp != self._marks.stamp(parsed):
            await self.mark_changed(thread_id)
        else:
            return found
        return self._database.do(lambda: self.threads.find(thread_id))

    def has_file(self, thread_id: str, *, binned: bool) -> bool:
        """Return whether a listed thread has its file where the list has it."""
        parsed = ThreadId.parse(thread_id)
        path = self._layout.thread_bin(parsed) if binned else self._layout.thread(parsed)
        return self._stat(path) is not None

    async def mark_changed(self, thread_id: str) -> None:
        """Bring the marks of a thread up to date, if it is listed."""
        with self._retrying(thread_id):
            self._put_mark(ThreadId.parse(thread_id))

    def _put_mark(self, thread_id: ThreadId) -> None:
        stamp = self._marks.stamp(thread_id)
        mark = self._marks.read(thread_id)

        def work() -> None:
            with self._database.transaction():
                known = self.threads.find(str(thread_id))
                if known is not None:
                    self.threads.put(apply_mark(known, mark, stamp))

        self._database.do(work)

    async def ask(self, work: Callable[[], Result]) -> Result:
        """Ask the index about all threads; one that turns out to be another is compared first."""
        await self.catch_up()
        serial = self._database.serial
        found = self._database.do(work)
        if self._database.serial != serial:
            await self.catch_up()
            found = self._database.do(work)
        return found

    async def catch_up(self) -> None:
        """Wait a little for an index that is not the one that was compared with the files."""
        self._database.do(lambda: None)
        if self._compared == self._database.serial:
            await self._read_overlooked()
            return
        if not self._lock.locked():
            self._task = asyncio.create_task(self.reconcile())
            self._began = time.monotonic()
            # The task takes the lock in its first turn.
            await asyncio.sleep(0)
        patience = self._began + PATIENCE_SECONDS - time.monotonic()
        if patience > 0 and self._lock.locked():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), patience)
        if self._task is not None and self._task.done() and not self._task.cancelled():
            task, self._task = self._task, None
            task.result()

    async def reconcile(
        self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False
    ) -> Reconciled:
        """Compare all threads with their files and read those that differ; the event loop goes on."""
        async with self._lock:
            self._began = time.monotonic()
            self._idle.clear()
            try:
                return await self._reconcile(progress, anew=anew)
            finally:
                self._idle.set()

    async def _reconcile(self, progress: Callable[[int, int], None] | None, *, anew: bool) -> Reconciled:
        self._database.check()
        if anew:
            self._database.do(self._clear)
        serial = self._database.serial
        stamps = partial(self._database.do, self.threads.stamps)
        todo, gone = await compare_files(self._layout, self._disk, self._marks, stamps)
        self._database.do(lambda: self._drop(gone))
        for number, each in enumerate(todo, 1):
            try:
                await self.refresh(str(each.thread_id))
            except StorageError as error:
                log.warning("%s is missing from lists and search: %s", each.thread_id, error)
            if progress is not None:
                progress(number, len(todo))
            await asyncio.sleep(0)
        self._compared = serial
        threads, messages, problems = self._database.do(self.threads.count)
        return Reconciled(
            threads=threads, messages=messages, changed=len(todo), dropped=len(gone), problems=problems
        )

    async def _read_overlooked(self) -> None:
        def list_binned() -> list[str]:
            stamps = self._database.do(self.threads.stamps)
            return [name for name, (_, _, binned) in stamps.items() if binned]

        for thread_id in self._overlooked.find(list_binned):
            with contextlib.suppress(StorageError):
                await self.refresh(thread_id)
                self._overlooked.refused.discard(thread_id)

    @contextlib.contextmanager
    def _retrying(self, thread_id: str) -> Generator[None]:
        """Remember a thread that could not be brought up to date: whoever asks next has it read again."""
        try:
            yield
        except StorageError:
            self._overlooked.refused.add(thread_id)
            raise

    async def close(self) -> None:
        """End what goes on in the background."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, StorageError):
                await self._task

    async def _blocks(self, path: Path) -> AsyncGenerator[tuple[list[UIMessage], int, int]]:
        """Go over the rows of a file by blocks: rows, how many cannot be read, and the place behind them."""
        with refusals(path, self._layout.root), opened(self._disk, path, os.O_RDONLY) as handle:
            place, rest, began = 0, b"", time.monotonic()
            while block := self._disk.pread(handle, READ_BYTES, place + len(rest)):
                data = rest + block
                whole = data[: data.rfind(b"\n") + 1]
                rest = data[len(whole) :]
                place += len(whole)
                rows, problems, _ = split_lines(whole, 1)
                yield rows, len(problems), place
                if time.monotonic() - began > TURN_SECONDS:
                    await asyncio.sleep(0)
                    began = time.monotonic()

    def _mark_begun(self, thread_id: ThreadId, messages: Sequence[UIMessage], member: str) -> None:
        """Note of a new thread whose it is, and that it has words now."""
        mark = self._marks.read(thread_id) if self._marks.stamp(thread_id) else None
        if mark is None and member != CAPTAIN:
            self._marks.change(thread_id, {"member": member})
        elif mark is not None and mark.is_new and messages:
            self._marks.change(thread_id, {"is_new": False})

    def _entry(
        self, thread_id: ThreadId, messages: Sequence[UIMessage], tokens: int, state: ThreadFileState
    ) -> ThreadEntry:
        stamp = self._marks.stamp(thread_id)
        mark = self._marks.read(thread_id) if stamp else None
        return make_entry(str(thread_id), messages, tokens, state, mark, stamp)

    def _write(self, entry: ThreadEntry, messages: Sequence[UIMessage], since: int | None) -> bool:
        """Put a thread and its words into the index, whole or what changed since a place of its file.

        Nothing is written, and false returned, when another process came in between: words it had put there
        would be taken out again, or words before that place would be missing.
        """
        name = entry.info.thread_id

        def work() -> bool:
            with self._database.transaction():
                if not (
                    self._is_as_read(entry)
                    if since is None
                    else self.threads.has_read(name, entry.inode, since)
                ):
                    return False
                self.threads.put(entry)
                if entry.info.binned or not ThreadId.parse(name).is_listed:
                    self.search.drop(name)
                elif since is None:
                    self.search.replace(name, messages)
                else:
                    self.search.put(name, messages)
                return True

        return self._database.do(work)

    def _is_as_read(self, entry: ThreadEntry) -> bool:
        thread_id = ThreadId.parse(entry.info.thread_id)
        live = self._stat(self._layout.thread(thread_id))
        status = live or self._stat(self._layout.thread_bin(thread_id))
        is_binned = live is None
        return status is not None and (stamp_of(status), is_binned) == (entry.stamp, entry.info.binned)

    def _drop(self, thread_ids: Sequence[str]) -> None:
        if thread_ids:
            with self._database.transaction():
                for name in thread_ids:
                    self.threads.drop(name)
                    self.search.drop(name)

    def _clear(self) -> None:
        with self._database.transaction():
            self.threads.clear()
            self.search.clear()

    def _count(self, thread_id: str, messages: Sequence[UIMessage], changed: set[str], end: int) -> int:
        counted, tokens, _ = self._counted.get(thread_id, (0, 0, 0))
        # The last message may still grow, so it is counted anew each time.
        settled = max(0, len(messages) - 1)
        if counted > settled or changed - {message["id"] for message in messages[counted:]}:
            counted, tokens = 0, 0
        for message in messages[counted:settled]:
            tokens += message_tokens(message)
        if len(self._counted) > COUNTED_THREADS:
            self._counted.clear()
        self._counted[thread_id] = (settled, tokens, end)
        return tokens + sum(map(message_tokens, messages[settled:]))

    def _stat(self, path: Path) -> os.stat_result | None:
        with refusals(path, self._layout.root):
            return stat_of(self._disk, path)


def _find_changed(messages: Sequence[UIMessage], ids: set[str]) -> list[UIMessage]:
    """Return the messages with these ids. They are looked for from the end, where a turn writes."""
    found: list[UIMessage] = []
    for message in reversed(messages):
        if len(found) == len(ids):
            break
        if message["id"] in ids:
            found.append(message)
    return found[::-1]

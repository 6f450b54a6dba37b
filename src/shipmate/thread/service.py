"""Open threads: one writer at a time, read once per change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from shipmate.errors import NotFoundError
from shipmate.thread.course import OpenCall, carry, read_course
from shipmate.thread.log import Log, Position
from shipmate.thread.message_list import MessageList
from shipmate.thread.pin import PinList
from shipmate.thread.row import RowProblem, merge_row
from shipmate.values.adapter_event import AdapterEvent
from shipmate.values.message import UIMessage, is_settled, metadata_of, tool_parts
from shipmate.values.thread_id import ThreadId

THREADS_IN_MEMORY = 64


class Thread:
    """One conversation: its merged messages and the course the model sees."""

    def __init__(self, thread_id: ThreadId, log: Log) -> None:
        self.id = thread_id
        self.problems: list[RowProblem] = []
        # Changes when another log took the place of the one that was read.
        self.edition = 0
        self._log = log
        self._reading = asyncio.Lock()
        self._clear()

    def _clear(self) -> None:
        self.messages = MessageList()
        self.problems = []
        self.course = 1
        self._course_start = 0
        self.pins = PinList()
        # Calls of earlier courses that were open when this one began, and the messages shown of them.
        self._carried_calls: Sequence[OpenCall] = ()
        self._kept: frozenset[str] = frozenset()
        self._carried: dict[str, UIMessage] = {}
        # The calls of this course whose outputs have left the model's view.
        self.cleared: frozenset[str] = frozenset()
        self._replaced: set[str] = set()
        # Messages with open calls of which a person was asked about one, decided by now or not.
        self.waiting: dict[str, None] = {}
        # The answers to approvals that are kept in messages.
        self.replies: set[str] = set()
        self._position = Position()

    def current(self) -> list[UIMessage]:
        """Return the messages of the current course."""
        return self.messages[self._course_start :]

    def replaces(self, message_id: str) -> bool:
        """Return whether a message takes the place of an earlier answer."""
        replaced = (self.find(each) for each in self._replaced)
        return any(each and metadata_of(each).get("replacedBy") == message_id for each in replaced)

    def history(self) -> list[UIMessage]:
        """Return what the model sees: the current course without messages that a retry replaced.

        Behind the row that opened it stand the calls of earlier courses that were open then, and the words
        that nobody had answered.
        """
        seen = self.current()
        if self._replaced:
            seen = [message for message in seen if message["id"] not in self._replaced]
        return [*seen[:1], *self._carried.values(), *seen[1:]] if self._carried else seen

    def firm(self) -> int:
        """Count the messages at the start of the current course that will not grow any more."""
        places = (place - self._course_start for place in self._waiting_places())
        last = len(self.messages) - 1 - self._course_start
        return max(0, min((place for place in places if place >= 0), default=last))

    def settled(self) -> int:
        """Count the messages at the start of the thread, of whichever course, that will not grow any more."""
        return max(0, min(self._waiting_places(), default=len(self.messages) - 1))

    def _waiting_places(self) -> list[int]:
        found = map(self.messages.place_of, self.waiting)
        return [place for place in found if place is not None]

    def find(self, message_id: str) -> UIMessage | None:
        """Return a message by its id."""
        place = self.messages.place_of(message_id)
        return None if place is None else self.messages[place]

    async def append(self, *rows: UIMessage, waits: bool = True) -> None:
        """Put rows on disk, then take them over as they were read back.

        Only rows that something else on disk tells again, up to the next row that waits, need not wait.
        """
        await self._log.append(self.id, rows, waits=waits)
        await self.refresh()

    async def settle(self) -> None:
        """Put on disk what a process wrote that ended before it had waited for it."""
        await self._log.append(self.id, (), waits=True)

    async def refresh(self) -> None:
        """Read what was appended since the last look, by whichever process."""
        # Two readers at once must not take the same rows over twice.
        async with self._reading:
            tail = await self._log.read(self.id, self._position)
            if tail.restarted:
                self._clear()
                self.edition += 1
            for row in tail.rows:
                self._take(row)
            # An empty file is found anew at each look.
            self.problems += [each for each in tail.problems if each not in self.problems]
            self._position = tail.position

    def _take(self, row: UIMessage) -> None:
        if "replacedBy" in metadata_of(row):
            self._replaced.add(row["id"])
        self.replies.update(str(part.get("id")) for part in row["parts"] if part.get("type") == "data-reply")
        self.pins.take(row)
        place = self.messages.place_of(row["id"])
        if place is not None:
            merged = merge_row(self.messages[place], row)
            self.messages.replace(place, merged)
            self._note_waiting(merged)
            if row["id"] in self._carried:
                self._carried[row["id"]] = self._show(merged)
            self._note_cleared(row, place)
            return
        course = metadata_of(row).get("course")
        if isinstance(course, int) and course > self.course:
            self.course = course
            self._course_start = len(self.messages)
            self._carry_over(row)
            self.messages.pack(self._course_start)
        self.messages.append(row)
        self._note_waiting(row)
        self._note_cleared(row, len(self.messages) - 1)

    def _carry_over(self, row: UIMessage) -> None:
        """Keep showing the calls that were open when a course began."""
        opened = read_course(row)
        self._carried_calls = opened.approvals if opened is not None else ()
        kept = opened.kept if opened is not None else ()
        self._kept, self.cleared = frozenset(kept), frozenset()
        found = map(self.find, dict.fromkeys((*(call.message_id for call in self._carried_calls), *kept)))
        self._carried = {each["id"]: self._show(each) for each in found if each is not None}

    def _show(self, message: UIMessage) -> UIMessage:
        return message if message["id"] in self._kept else carry(message, self._carried_calls)

    def _note_cleared(self, row: UIMessage, place: int) -> None:
        """Follow a row of a run that took outputs out of the model's view."""
        if row["role"] != "assistant" or place < self._course_start:
            return
        for part in row["parts"]:
            if part.get("type") == "data-cleared" and isinstance(part.get("data"), dict):
                self.cleared |= frozenset(map(str, part["data"].get("calls") or ()))

    def _note_waiting(self, message: UIMessage) -> None:
        calls = list(tool_parts(message))
        if any("approval" in part for part in calls) and not all(map(is_settled, calls)):
            self.waiting[message["id"]] = None
        else:
            self.waiting.pop(message["id"], None)


def in_bin(thread_id: ThreadId) -> str:
    """Say where a thread lies that cannot be read, and how it comes back."""
    return f"{thread_id} is in the bin. `shipmate threads restore {thread_id}` brings it back."


class ThreadService:
    """Finds and opens threads; the only way to a thread's rows."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._threads: OrderedDict[ThreadId, Thread] = OrderedDict()
        self._locks: WeakValueDictionary[ThreadId, asyncio.Lock] = WeakValueDictionary()

    @staticmethod
    def resolve(event: AdapterEvent) -> ThreadId:
        """Return the thread that something said on a platform belongs to; nobody else makes such ids."""
        return ThreadId(event.platform, event.chat.kind, event.chat.id, event.chat.topic)

    @asynccontextmanager
    async def open(self, thread_id: ThreadId) -> AsyncGenerator[Thread]:
        """Hold a thread for writing, alone among all processes of this machine."""
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        async with lock, self._log.lock(thread_id):
            thread = self._known(thread_id)
            await thread.refresh()
            yield thread

    async def read(self, thread_id: ThreadId) -> Thread:
        """Return a thread as it stands, without waiting for its writer."""
        if not await self._log.exists(thread_id):
            if await self._log.is_binned(thread_id):
                raise NotFoundError(in_bin(thread_id))
            raise NotFoundError(f"no thread {thread_id}. `shipmate threads list` shows those there are.")
        thread = self._known(thread_id)
        await thread.refresh()
        return thread

    async def create(self, thread_id: ThreadId, rows: Sequence[UIMessage]) -> None:
        """Make a thread with its first rows, all or none."""
        await self._log.create(thread_id, rows)

    async def exists(self, thread_id: ThreadId) -> bool:
        """Return whether a thread has a row."""
        return await self._log.exists(thread_id)

    async def is_binned(self, thread_id: ThreadId) -> bool:
        """Return whether a thread lies in the bin, and no other of its id has begun since."""
        return not await self._log.exists(thread_id) and await self._log.is_binned(thread_id)

    async def ids(self) -> list[ThreadId]:
        """List all threads that are not in the bin."""
        return await self._log.ids()

    async def bin(self, thread_id: ThreadId) -> None:
        """Move a thread to the bin."""
        async with self.open(thread_id):
            await self._log.bin(thread_id)
            self._threads.pop(thread_id, None)

    async def restore(self, thread_id: ThreadId) -> None:
        """Bring a thread back from the bin."""
        # A thread of the same id must not begin while this one is moved to its place.
        async with self.open(thread_id):
            await self._log.restore(thread_id)

    async def remove(self, thread_id: ThreadId) -> None:
        """Remove a thread for good. Only what no list shows is ever removed."""
        async with self.open(thread_id):
            await self._log.remove(thread_id)
            self._threads.pop(thread_id, None)

    async def revive(self, thread: Thread) -> bool:
        """Bring an open thread back from the bin if it is there; tell whether it was."""
        if thread.messages or not await self._log.is_binned(thread.id):
            return False
        await self._log.restore(thread.id)
        await thread.refresh()
        return True

    def _known(self, thread_id: ThreadId) -> Thread:
        thread = self._threads.pop(thread_id, None) or Thread(thread_id, self._log)
        self._threads[thread_id] = thread
        if len(self._threads) > THREADS_IN_MEMORY:
            self._threads.popitem(last=False)
        return thread

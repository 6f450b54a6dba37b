"""A store without files, for users' tests and our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from shipmate.store.entry import ThreadFileState
from shipmate.store.file_store import FileStore
from shipmate.store.index import Index
from shipmate.store.port import Reconciled
from shipmate.store.sqlite.database import Database
from shipmate.store.sqlite.thread import ThreadEntry
from shipmate.values.message import UIMessage, message_tokens, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.memory_disk import MemoryDisk
from shipmate.workspace.layout import CAPTAIN, Layout


class MemoryIndex(Index):
    """An index that knows what it was told, and looks at no thread's file."""

    async def note(self, thread_id: str, messages: Sequence[UIMessage], member: str) -> None:
        parsed = ThreadId.parse(thread_id)
        self._mark_begun(parsed, messages, member)
        state = ThreadFileState(stamp="", inode=0, offset=0, binned=False, at=timestamp())
        tokens = sum(map(message_tokens, messages))
        self._write(self._entry(parsed, messages, tokens, state), messages, None)

    async def refresh(self, thread_id: str) -> None:
        """Do nothing: the files are elsewhere, if there are any."""

    async def mark_changed(self, thread_id: str) -> None:
        """List a thread that has marks, also without words; drop one whose marks are gone."""
        parsed = ThreadId.parse(thread_id)
        if not self._marks.stamp(parsed):
            self._database.do(lambda: self._drop([thread_id]))
        elif await self.find(thread_id) is None:
            await self.note(thread_id, [], CAPTAIN)
        else:
            await super().mark_changed(thread_id)

    async def find(self, thread_id: str) -> ThreadEntry | None:
        return self._database.do(lambda: self.threads.find(thread_id))

    def _is_as_read(self, entry: ThreadEntry) -> bool:
        return True

    def has_file(self, thread_id: str, *, binned: bool) -> bool:
        return True

    async def catch_up(self) -> None:
        """Do nothing: there is nothing to compare with."""

    async def reconcile(
        self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False
    ) -> Reconciled:
        return Reconciled()


class TransientStore(FileStore):
    """A store that keeps everything in the process: the same store without a file."""

    def __init__(self) -> None:
        database = Database(None)
        super().__init__(
            Layout(Path("/workspace")), MemoryDisk(), database, lambda: datetime.now(UTC), MemoryIndex
        )

"""The list of threads: marks in files, the rest from the thread files through the index."""

from __future__ import annotations

from collections.abc import Sequence

from shipmate.store.index import Index
from shipmate.store.journal.mark import MarkFiles
from shipmate.store.port import SearchHit, ThreadInfo
from shipmate.thread.mark import ThreadMark
from shipmate.values.message import JsonObject, UIMessage, timestamp
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import CAPTAIN

# How often a list is read anew because it showed what has no file.
LIST_TRIES = 3


class IndexedThreads:
    """The list of threads and their marks; a thread is listed while it has a file."""

    def __init__(self, index: Index, marks: MarkFiles) -> None:
        self._index = index
        self._marks = marks

    async def create(
        self,
        thread_id: str,
        *,
        title: str = "",
        member: str = CAPTAIN,
        settings: JsonObject | None = None,
        is_new: bool = False,
    ) -> None:
        """Put the marks of a new thread on disk; `note` lists it once its file is there."""
        if settings is None:
            # A person may have chosen a model for it before anything was said.
            known = self._marks.read(ThreadId.parse(thread_id))
            settings = known.settings if known is not None else {}
        mark = ThreadMark(
            title=title, member=member, settings=settings, created_at=timestamp(), is_new=is_new
        )
        self._marks.create(ThreadId.parse(thread_id), mark)
        await self._index.mark_changed(thread_id)

    async def note(self, thread_id: str, messages: Sequence[UIMessage], *, member: str = CAPTAIN) -> None:
        """Bring list and search up to date with all messages of a thread, by whoever holds it."""
        await self._index.note(thread_id, messages, member)

    async def refresh(self, thread_id: str) -> None:
        """Bring list and search up to date with a thread's file: there, in the bin, or gone."""
        await self._index.refresh(thread_id)

    async def find(self, thread_id: str) -> ThreadInfo | None:
        """Return a thread that has a file."""
        found = await self._index.find(thread_id)
        return found.info if found else None

    async def list(
        self,
        *,
        query: str = "",
        archived: bool | None = False,
        binned: bool = False,
        before: str | None = None,
        limit: int = 50,
    ) -> list[ThreadInfo]:
        """List threads, the one that changed last first; `before` is the `cursor` of the last one seen."""
        found: list[ThreadInfo] = []
        for _ in range(LIST_TRIES):
            found = await self._index.ask(
                lambda: self._index.threads.list(query, archived, binned, before, limit)
            )
            ghosts = [each for each in found if not self._index.has_file(each.thread_id, binned=binned)]
            for ghost in ghosts:
                await self._index.refresh(ghost.thread_id)
            if not ghosts:
                break
        return [each for each in found if self._index.has_file(each.thread_id, binned=binned)]

    async def rename(self, thread_id: str, title: str) -> None:
        """Set a thread's title; without words it has its first words as title again."""
        await self._change(thread_id, {"title": title})

    async def set(
        self,
        thread_id: str,
        *,
        archived: bool | None = None,
        read_at: str | None = None,
        settings: JsonObject | None = None,
    ) -> None:
        """Change what is given of a thread's marks."""
        given = {"archived": archived, "read_at": read_at, "settings": settings}
        await self._change(thread_id, {name: value for name, value in given.items() if value is not None})

    async def remove(self, thread_id: str) -> None:
        """Take back the marks of a thread that came to nothing."""
        self._marks.remove(ThreadId.parse(thread_id))
        await self._index.mark_changed(thread_id)

    async def _change(self, thread_id: str, values: dict[str, object]) -> None:
        self._marks.change(ThreadId.parse(thread_id), values)
        await self._index.mark_changed(thread_id)


class IndexedSearch:
    """The search for messages by words, in any language."""

    def __init__(self, index: Index) -> None:
        self._index = index

    async def find(self, query: str, limit: int = 50) -> list[SearchHit]:
        """Find messages that have all words of a query, in threads outside the bin."""
        hits = await self._index.ask(lambda: self._index.search.find(query, limit))
        present = {each: self._index.has_file(each, binned=False) for each in {hit.thread_id for hit in hits}}
        return [hit for hit in hits if present[hit.thread_id]]

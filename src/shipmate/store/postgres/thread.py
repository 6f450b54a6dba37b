"""The list of threads and their marks in PostgreSQL, brought up to date from the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from psycopg.rows import dict_row

from shipmate.store.entry import ThreadFileState, apply_mark, make_entry
from shipmate.store.port import Reconciled, ThreadInfo
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, plain, statements
from shipmate.store.postgres.log import PostgresLog
from shipmate.store.postgres.search import put_words
from shipmate.store.sqlite.thread import ThreadEntry, escape_like
from shipmate.thread.log import Position, Tail
from shipmate.thread.mark import ThreadMark, decode_mark, encode_mark
from shipmate.thread.row import merge_rows
from shipmate.values.message import UIMessage, message_tokens, timestamp
from shipmate.values.thread_id import UNLISTED, ThreadId
from shipmate.workspace.layout import CAPTAIN

# How many threads that somebody left without a word in the list are read before a list is shown.
CAUGHT_UP = 50
COLUMNS = (
    "title",
    "member",
    "message_count",
    "token_estimate",
    "created_at",
    "last_at",
    "read_at",
    "archived",
)


class PostgresThreads:
    """The list of threads and their marks; a thread is listed while it has rows or was made empty."""

    def __init__(self, database: PostgresDatabase, log: PostgresLog) -> None:
        self._database = database
        self._log = log
        self._sql = statements("thread")

    async def create(
        self,
        thread_id: str,
        *,
        title: str = "",
        member: str = CAPTAIN,
        settings: dict[str, Any] | None = None,
        is_new: bool = False,
    ) -> None:
        """Put down the marks of a new thread; `note` lists it once it has rows."""

        def make(known: ThreadMark | None) -> ThreadMark:
            # A person may have chosen a model for it before anything was said.
            kept = settings if settings is not None else (known.settings if known else {})
            return ThreadMark(
                title=title, member=member, settings=kept, created_at=timestamp(), is_new=is_new
            )

        await self._mark(thread_id, make)

    async def note(self, thread_id: str, messages: Sequence[UIMessage], *, member: str = CAPTAIN) -> None:
        """Bring list and search up to date with all messages of a thread, by whoever holds it."""

        def begin(known: ThreadMark | None) -> ThreadMark | None:
            if known is None and member != CAPTAIN:
                return ThreadMark(member=member)
            if known is not None and known.is_new and messages:
                return msgspec.structs.replace(known, is_new=False)
            return known

        async def work(link: AsyncLink) -> bool:
            found = await self._find(link, thread_id)
            if found is None or found["binned"]:
                return found is None
            mark = await self._read_mark(link, thread_id)
            begun = begin(mark)
            if begun is not None and begun != mark:
                mark = begun
                await self._put_mark(link, thread_id, begun)
            noted = found["noted"]
            tail = await self._log.read_in(link, thread_id, Position(noted, noted, found["edition"]))
            ids = {row["id"] for row in tail.rows}
            changed = [message for message in messages if message["id"] in ids]
            if len(changed) < len(ids):
                # These messages are older than the rows.
                return False
            await self._put(link, found, tail, messages, changed, mark)
            return True

        if not await self._database.run(work):
            await self.refresh(thread_id)

    async def refresh(self, thread_id: str) -> None:
        """Bring list and search up to date with a thread's rows: there, in the bin, or gone."""

        async def work(link: AsyncLink) -> None:
            found = await self._find(link, thread_id)
            if found is None:
                return
            tail = await self._log.read_in(link, thread_id, Position(), binned=found["binned"])
            mark = await self._read_mark(link, thread_id)
            await self._put(link, found, tail, merge_rows(tail.rows), None, mark)

        await self._database.run(work)

    async def catch_up(self) -> None:
        """Read the threads that somebody who ended left without a word in the list."""
        await self._catch_up(every=False)

    async def find(self, thread_id: str) -> ThreadInfo | None:
        """Return a thread that has rows, or was made empty."""

        async def work(link: AsyncLink) -> Mapping[str, Any] | None:
            return await self._find(link, thread_id)

        found = await self._database.run(work, reads=True)
        if found is not None and not found["last_at"]:
            await self.refresh(thread_id)
            found = await self._database.run(work, reads=True)
        return None if found is None else _info(found)

    async def list(
        self,
        *,
        query: str = "",
        archived: bool | None = False,
        binned: bool = False,
        before: str | None = None,
        limit: int = 50,
        viewer: str | None = None,
    ) -> list[ThreadInfo]:
        """List threads, the one that changed last first; `before` is the `cursor` of the last one seen."""
        await self.catch_up()
        last_at, mark, thread_id = (before or "").partition(" ")
        values = {
            "query": plain(query),
            "like": f"%{escape_like(plain(query))}%",
            "archived": archived,
            "binned": binned,
            "last_at": last_at or None,
            # A time alone stands behind all threads of that time.
            "thread_id": thread_id if mark else "\U0010ffff",
            "limit": limit,
            "viewer": viewer,
            "unlisted": UNLISTED,
        }

        async def work(link: AsyncLink) -> list[ThreadInfo]:
            async with link.cursor(row_factory=dict_row) as cursor:
                await cursor.execute(self._sql["list"], values)
                return [_info(row) for row in await cursor.fetchall()]

        return await self._database.run(work, reads=True)

    async def rename(self, thread_id: str, title: str) -> None:
        """Set a thread's title; without words it has its first words as title again."""
        await self._change(thread_id, {"title": title})

    async def set(
        self,
        thread_id: str,
        *,
        archived: bool | None = None,
        read_at: str | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Change what is given of a thread's marks."""
        given = {"archived": archived, "read_at": read_at, "settings": settings}
        await self._change(thread_id, {name: value for name, value in given.items() if value is not None})

    async def remove(self, thread_id: str) -> None:
        """Take back the marks of a thread that came to nothing."""
        await self._mark(thread_id, lambda _: None)

    async def reconcile(self, progress: Callable[[int, int], None] | None, *, anew: bool) -> Reconciled:
        """Read every thread that differs from its entry, or all of them."""
        changed = await self._catch_up(every=True, anew=anew, progress=progress)
        threads, messages, problems = (await self._database.rows(self._sql["count"]))[0]
        return Reconciled(threads=threads, messages=messages, problems=problems, changed=changed)

    async def _catch_up(
        self, *, every: bool, anew: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> int:
        limit = None if every else CAUGHT_UP
        values = {"every": every, "limit": limit}
        found = await self._database.rows(self._sql["all" if anew else "unnoted"], values)
        for number, (thread_id,) in enumerate(found, 1):
            await self.refresh(thread_id)
            if progress is not None:
                progress(number, len(found))
        return len(found)

    async def _change(self, thread_id: str, values: dict[str, Any]) -> None:
        await self._mark(thread_id, lambda known: msgspec.structs.replace(known or ThreadMark(), **values))

    async def _mark(self, thread_id: str, make: Callable[[ThreadMark | None], ThreadMark | None]) -> None:
        """Change the marks of a thread, alone in the fleet, and what the list shows of them."""
        ThreadId.parse(thread_id)

        async def work(link: AsyncLink) -> None:
            await link.execute(self._sql["lock_mark"], {"thread_id": thread_id})
            known = await self._read_mark(link, thread_id)
            mark = make(known)
            if mark == known:
                return
            if mark is None:
                await link.execute(self._sql["remove_mark"], {"thread_id": thread_id})
            else:
                await self._put_mark(link, thread_id, mark)
            found = await self._find(link, thread_id)
            if found is not None and found["last_at"]:
                entry = apply_mark(_entry(found), mark, "")
                await link.execute(self._sql["note"], _values(entry))
            await link.execute(self._sql["changed"])

        await self._database.run(work)

    async def _put(
        self,
        link: AsyncLink,
        found: Mapping[str, Any],
        tail: Tail,
        messages: Sequence[UIMessage],
        changed: Sequence[UIMessage] | None,
        mark: ThreadMark | None,
    ) -> None:
        """Write a thread's entry and the words of what changed, or of all when nobody knows what did."""
        state = ThreadFileState(
            stamp="",
            inode=found["edition"],
            offset=tail.position.line,
            binned=found["binned"],
            at=timestamp(found["changed_at"]),
            problems=len(tail.problems) + (0 if changed is None else found["problems"]),
        )
        tokens = sum(map(message_tokens, messages))
        entry = make_entry(found["thread_id"], messages, tokens, state, mark, "")
        await link.execute(self._sql["note"], _values(entry))
        if ThreadId.parse(found["thread_id"]).is_listed:
            await put_words(
                link, found["edition"], messages if changed is None else changed, anew=changed is None
            )
        await link.execute(self._sql["changed"])

    async def _read_mark(self, link: AsyncLink, thread_id: str) -> ThreadMark | None:
        found = await (await link.execute(self._sql["read_mark"], {"thread_id": thread_id})).fetchone()
        return None if found is None else decode_mark(found[0])

    async def _put_mark(self, link: AsyncLink, thread_id: str, mark: ThreadMark) -> None:
        await link.execute(self._sql["put_mark"], {"thread_id": thread_id, "data": encode_mark(mark)})

    async def _find(self, link: AsyncLink, thread_id: str) -> Mapping[str, Any] | None:
        async with link.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(self._sql["find"], {"thread_id": thread_id})
            return await cursor.fetchone()


def _info(row: Mapping[str, Any]) -> ThreadInfo:
    settings: dict[str, Any] = msgspec.json.decode(row["settings"], type=dict)
    names = (*COLUMNS, "thread_id", "binned")
    return ThreadInfo(settings=settings, **{name: row[name] for name in names})


def _entry(row: Mapping[str, Any]) -> ThreadEntry:
    return ThreadEntry(
        info=_info(row),
        stamp="",
        mark_stamp="",
        words=row["words"],
        first_at=row["first_at"],
        said_at=row["said_at"],
        inode=row["edition"],
        offset=row["noted"],
        problems=row["problems"],
    )


def _values(entry: ThreadEntry) -> dict[str, Any]:
    info = entry.info
    values: dict[str, Any] = {name: getattr(info, name) for name in COLUMNS}
    values["settings"] = msgspec.json.encode(info.settings)
    values |= {"edition": entry.inode, "noted": entry.offset, "problems": entry.problems}
    values |= {name: plain(getattr(entry, name)) for name in ("words", "first_at", "said_at")}
    return values | {
        "title": plain(info.title),
        "last_at": plain(info.last_at),
        "created_at": plain(info.created_at),
    }

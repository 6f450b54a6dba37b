"""Bring what a workspace keeps in files into PostgreSQL, item by item; one that broke off goes on there."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from shipmate.errors import ThreadIdError, UserError
from shipmate.store.chain import Chain, worker_folders
from shipmate.store.entry import stamp_of
from shipmate.store.journal.grant import GrantRecord
from shipmate.store.journal.inbox import JournalInbox
from shipmate.store.journal.inbox_line import InboxBegin
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.journal.outbox_line import OutboxBegin
from shipmate.store.port import StepUsage
from shipmate.store.postgres.database import AsyncLink, statements
from shipmate.store.postgres.inbox import row_values
from shipmate.store.postgres.outbox import send_values
from shipmate.store.postgres.postgres_store import PostgresStore
from shipmate.store.sqlite.approval import ApprovalEntry
from shipmate.thread.log import SUFFIX
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, names_in, stat_of
from shipmate.workspace.layout import Layout
from shipmate.workspace.upload import UPLOAD_ID

# The chain of what was recorded before the workspace moved.
OWN_CHAIN = "workspace"
SIDECAR = ".sidecar"
Put: TypeAlias = Callable[[AsyncLink, Path], Awaitable[int]]
Progress: TypeAlias = Callable[[int, int, str], None]


class _Item(NamedTuple):
    path: Path
    put: Put
    thread_id: str = ""


class Importing:
    """One move of a workspace from its folder into its database."""

    def __init__(self, layout: Layout, store: PostgresStore) -> None:
        self._layout = layout
        self._store = store
        self._sql = {
            name: statements(name) for name in ("moving", "inbox", "outbox", "ledger", "consent", "kept")
        }
        self._moving = self._sql["moving"]

    async def run(self, progress: Progress | None = None) -> tuple[int, int]:
        """Bring in every item that is not as it was brought in before; return how many were, of how many."""
        items = [*self._items()]
        moved = 0
        for number, item in enumerate(items, 1):
            status = stat_of(DISK, item.path)
            if status is not None:
                stamp = stamp_of(status)
                is_new = await self._store.database.run(partial(self._move, item=item, stamp=stamp))
                if is_new and item.thread_id:
                    await self._store.threads.refresh(item.thread_id)
                moved += is_new
            if progress is not None:
                progress(number, len(items), self._layout.name_of(item.path))
        return moved, len(items)

    async def _move(self, link: AsyncLink, item: _Item, stamp: str) -> bool:
        name = {"name": self._layout.name_of(item.path)}
        known = await (await link.execute(self._moving["known"], name)).fetchone()
        if known is not None and known[0] == stamp:
            return False
        lines = await item.put(link, item.path)
        status = stat_of(DISK, item.path)
        if item.path in (self._layout.inbox, self._layout.outbox) and status is not None:
            # Reading them as a keeper does may write them anew; nobody else has them meanwhile.
            stamp = stamp_of(status)
        await link.execute(self._moving["note"], {**name, "stamp": stamp, "lines": lines})
        return True

    def _items(self) -> Iterator[_Item]:
        own = self._layout
        for path in _files(own.marks, ".json"):
            if (thread_id := _thread(path)) is not None:
                yield _Item(path, partial(self._mark, thread_id=thread_id))
        for folder, binned in ((own.threads, False), (own.bin, True)):
            for path in _files(folder, SUFFIX):
                if (thread_id := _thread(path)) is not None:
                    put = partial(self._thread, thread_id=thread_id, binned=binned)
                    yield _Item(path, put, thread_id)
        for path in _files(own.threads, SIDECAR):
            if (thread_id := _thread(path)) is not None:
                yield _Item(path, partial(self._sidecars, thread_id=thread_id))
        yield from (_Item(path, self._approval) for path in _files(own.approvals, ".json"))
        yield from (_Item(path, self._joint) for path in _files(own.joint_decisions, ".json"))
        yield from (_Item(path, self._grant) for path in _files(own.grants, ".json"))
        yield from (_Item(path, self._usage) for path in _files(own.usage, SUFFIX))
        yield from (
            _Item(path, self._upload) for path in _files(own.uploads, "") if UPLOAD_ID.fullmatch(path.name)
        )
        for worker, folder in ((OWN_CHAIN, own.audit), *worker_folders(own.audit)):
            yield _Item(folder / "head", partial(self._chain, worker=worker))
        for path in _files(own.kept, SUFFIX):
            if (thread_id := _thread(path)) is not None:
                yield _Item(path, partial(self._kept, thread_id=thread_id))
        yield _Item(own.inbox, self._inbox)
        yield _Item(own.outbox, self._outbox)
        yield from (_Item(path, self._paper) for path in (own.people, own.budget, own.occurrences))

    async def _thread(self, link: AsyncLink, path: Path, thread_id: str, *, binned: bool) -> int:
        lines = path.read_bytes().split(b"\n")
        # What stands behind the last newline was cut off by a crash, or lacks only its newline.
        lines = lines if lines[-1] else lines[:-1]
        at = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
        values = {"thread_id": thread_id, "binned": binned, "changed_at": at}
        found = await (await link.execute(self._moving["thread"], values)).fetchone()
        there: list[bytes] = []
        if found is None:
            found = await (await link.execute(self._moving["make_thread"], values)).fetchone()
        else:
            rows = await (await link.execute(self._moving["rows"], {"edition": found[0]})).fetchall()
            there = [data for (data,) in rows]
        assert found is not None
        if lines[: len(there)] != there:
            raise UserError(
                f"{self._layout.name_of(path)} and the database have different rows of {thread_id}; "
                "nothing of it was changed. Import into an empty database, or move that file away."
            )
        added = {"edition": found[0], "after": len(there), "data": lines[len(there) :]}
        await link.execute(self._moving["add_rows"], added)
        await link.execute(self._moving["count_rows"], {"edition": found[0], "lines": len(lines)})
        return len(lines)

    async def _mark(self, link: AsyncLink, path: Path, thread_id: str) -> int:
        await link.execute(self._moving["put_mark"], {"thread_id": thread_id, "data": path.read_bytes()})
        return 1

    async def _sidecars(self, link: AsyncLink, path: Path, thread_id: str) -> int:
        lines = path.read_bytes().splitlines()
        await link.execute(self._moving["drop_sidecars"], {"thread_id": thread_id})
        for line in lines:
            await link.execute(self._moving["put_sidecar"], {"thread_id": thread_id, "data": line})
        return len(lines)

    async def _kept(self, link: AsyncLink, path: Path, thread_id: str) -> int:
        lines = path.read_bytes().splitlines()
        await link.execute(self._sql["kept"]["drop"], {"thread_id": thread_id})
        for line in lines:
            await link.execute(self._sql["kept"]["add"], {"thread_id": thread_id, "data": line})
        return len(lines)

    async def _approval(self, link: AsyncLink, path: Path) -> int:
        data = path.read_bytes()
        try:
            entry = msgspec.json.decode(data, type=ApprovalEntry)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return await self._paper(link, path)
        values = {**msgspec.structs.asdict(entry), "data": data}
        await link.execute(self._sql["consent"]["write"], values)
        return 1

    async def _joint(self, link: AsyncLink, path: Path) -> int:
        await link.execute(self._moving["put_joint"], {"name": path.stem, "data": path.read_bytes()})
        return 1

    async def _grant(self, link: AsyncLink, path: Path) -> int:
        try:
            grant = msgspec.json.decode(path.read_bytes(), type=GrantRecord)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return await self._paper(link, path)
        values = {**msgspec.structs.asdict(grant), "data": msgspec.json.encode(grant.data)}
        await link.execute(self._moving["put_grant"], values)
        return 1

    async def _usage(self, link: AsyncLink, path: Path) -> int:
        lines = path.read_bytes().splitlines()
        name = {"name": self._layout.name_of(path)}
        known = await (await link.execute(self._moving["known"], name)).fetchone()
        for line in lines[known[1] if known is not None else 0 :]:
            try:
                step = msgspec.json.decode(line, type=StepUsage)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            names = ("at", "thread_id", "payer", "run_id")
            values: dict[str, Any] = {name: getattr(step, name) for name in names}
            await link.execute(self._sql["ledger"]["add"], {**values, "data": line})
        return len(lines)

    async def _upload(self, link: AsyncLink, path: Path) -> int:
        described = path.with_name(f"{path.name}.json")
        if described.is_file():
            values = {"id": path.name, "description": described.read_bytes(), "data": path.read_bytes()}
            await link.execute(self._moving["put_upload"], values)
        return 1

    async def _chain(self, link: AsyncLink, path: Path, worker: str) -> int:
        chain = Chain(path.parent)
        lines = chain.lines()
        for seq, at, line in lines:
            values = {"worker": worker, "seq": seq, "at": at, "line": line}
            await link.execute(self._moving["put_entry"], values)
        if (head := chain.head()) is not None:
            values = {"worker": worker, "seq": head.seq, "hash": head.hash}
            await link.execute(self._moving["put_head"], values)
        return len(lines)

    async def _inbox(self, link: AsyncLink, path: Path) -> int:
        kept = await JournalInbox(self._layout, JournalOutbox(self._layout, DISK), DISK).kept()
        for line in kept:
            if isinstance(line, InboxBegin):
                await link.execute(self._sql["inbox"]["go_on"], {"next": line.next})
            else:
                await link.execute(self._sql["inbox"]["add"], row_values(line))
        return len(kept)

    async def _outbox(self, link: AsyncLink, path: Path) -> int:
        kept = await JournalOutbox(self._layout, DISK).kept()
        for line in kept:
            if isinstance(line, OutboxBegin):
                await link.execute(self._sql["outbox"]["go_on"], {"next": line.next})
            else:
                await link.execute(self._sql["outbox"]["add"], send_values(line))
        return len(kept)

    async def _paper(self, link: AsyncLink, path: Path) -> int:
        name = self._layout.name_of(path)
        await link.execute(self._moving["put_paper"], {"path": name, "data": path.read_bytes()})
        return 1


def _files(folder: Path, ending: str) -> Sequence[Path]:
    names = names_in(DISK, folder)
    return [folder / name for name in names if name.endswith(ending) and not name.startswith(".")]


def _thread(path: Path) -> str | None:
    try:
        return str(ThreadId.decode(path.name.removesuffix(path.suffix)))
    except ThreadIdError:
        return None

"""Write what PostgreSQL has of a workspace into files, as a workspace of files has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec

from shipmate.errors import UserError
from shipmate.store.chain import cut_pages, encode_head, worker_folder
from shipmate.store.journal.grant import GrantRecord
from shipmate.store.journal.inbox_line import InboxBegin
from shipmate.store.journal.outbox_line import OutboxBegin
from shipmate.store.postgres.database import statements
from shipmate.store.postgres.importing import OWN_CHAIN, Progress
from shipmate.store.postgres.postgres_store import PostgresStore
from shipmate.store.verification import ChainLink
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.disk.disk import DISK, read_file, replace_file
from shipmate.workspace.layout import Layout


class Exporting:
    """One move of a workspace from its database into a folder."""

    def __init__(self, layout: Layout, store: PostgresStore) -> None:
        self._layout = layout
        self._store = store
        self._sql = statements("moving")
        self._audit = statements("audit")
        self._paper = statements("paper")
        self._kept = statements("kept")

    async def run(self, progress: Progress | None = None) -> tuple[int, int]:
        """Write every file that is not there; return how many were, of how many.

        A file that is there already may be shorter, as a move that broke off leaves it, and no other.
        """
        written = count = 0
        async for path, data in self._files():
            count += 1
            written += self._write(path, data)
            if progress is not None:
                progress(count, 0, self._layout.name_of(path))
        return written, count

    def _write(self, path: Path, data: bytes) -> bool:
        try:
            there = read_file(DISK, path)
        except FileNotFoundError:
            there = b""
        if there == data:
            return False
        if not data.startswith(there):
            raise UserError(
                f"{self._layout.name_of(path)} is there and differs from what the database has; it was not "
                "changed. Export into an empty folder, or move that file away."
            )
        replace_file(DISK, path, data)
        return True

    async def _files(self) -> AsyncGenerator[tuple[Path, bytes]]:
        own, rows = self._layout, self._store.database.rows
        for name, data in await rows(self._sql["marks"]):
            yield own.mark(ThreadId.parse(name)), data
        for name, binned, edition in await rows(self._sql["threads"]):
            thread_id = ThreadId.parse(name)
            found = await rows(self._sql["rows"], {"edition": edition})
            path = own.thread_bin(thread_id) if binned else own.thread(thread_id)
            yield path, b"".join(data + b"\n" for (data,) in found)
        for name, data in await rows(self._sql["sidecars"]):
            yield own.sidecar(ThreadId.parse(name)), data
        for name, data in await rows(self._sql["approvals"]):
            yield own.approval(name), data
        for name, data in await rows(self._sql["joints"]):
            yield own.joint_decisions / f"{name}.json", data
        for row in await self._store.consents.grants(every=True):
            grant = GrantRecord(**msgspec.structs.asdict(row))
            yield own.grant(row.id), msgspec.json.format(msgspec.json.encode(grant), indent=2) + b"\n"
        for (name,) in await rows(self._kept["threads"]):
            found = await rows(self._kept["read"], {"thread_id": name})
            yield own.kept_requests(name), b"".join(data + b"\n" for (data,) in found)
        for month, data in await rows(self._sql["months"]):
            yield own.usage / f"{month}.jsonl", data
        for name, data in await rows(self._paper["papers"]):
            yield own.root / name, data
        for (name,) in await rows(self._paper["uploads"]):
            ((description, data),) = await rows(self._paper["find_upload"], {"id": name})
            yield own.upload(f"{name}.json"), description
            yield own.upload(name), data
        async for item in self._journals():
            yield item
        async for item in self._chains():
            yield item

    async def _journals(self) -> AsyncGenerator[tuple[Path, bytes]]:
        rows = self._store.database.rows
        for path, name, following, begin in (
            (self._layout.inbox, "inbox", "next_seq", InboxBegin),
            (self._layout.outbox, "outbox", "next_id", OutboxBegin),
        ):
            ((number,),) = await rows(self._sql[following])
            lines = [msgspec.json.encode(begin(next=number))]
            lines += [data for (data,) in await rows(self._sql[name])]
            yield path, b"".join(line + b"\n" for line in lines)

    async def _chains(self) -> AsyncGenerator[tuple[Path, bytes]]:
        rows = self._store.database.rows
        for worker, seq, digest in await rows(self._audit["heads"]):
            audit = self._layout.audit
            folder = audit if worker == OWN_CHAIN else worker_folder(audit, worker)
            lines = await rows(self._audit["lines"], {"worker": worker})
            for name, data in cut_pages(line for (line,) in lines):
                yield folder / name, data
            if seq is not None:
                yield folder / "head", encode_head(ChainLink(seq, digest))

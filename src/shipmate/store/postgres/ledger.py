"""What runs used, and what stands beside the rows of courses, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from shipmate.store.allowance import Allowance
from shipmate.store.journal.sidecar import SidecarLine, decode_sidecar, join_sidecars
from shipmate.store.port import StepUsage
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase, statements
from shipmate.store.postgres.fence import Fences
from shipmate.values.message import JsonObject
from shipmate.values.sidecar import Sidecar
from shipmate.workspace.disk.disk import Disk
from shipmate.workspace.layout import Layout

# How many steps may be noted while one is being written.
LATE_STEPS = 1000
_decoder = msgspec.json.Decoder(StepUsage)


class PostgresLedger:
    """What runs used, and what stands beside the rows of courses."""

    def __init__(self, database: PostgresDatabase, fences: Fences) -> None:
        self._database = database
        self._fences = fences
        self._sql = statements("ledger")

    async def add_usage(self, usage: StepUsage) -> None:
        """Note what a step used."""
        await self._database.run(lambda link: self.add_in(link, usage))

    async def add_in(self, link: AsyncLink, usage: StepUsage) -> None:
        """Note what a step used, in a transaction."""
        names = ("at", "thread_id", "payer", "run_id")
        values = {name: getattr(usage, name) for name in names}
        await link.execute(self._sql["add"], {**values, "data": msgspec.json.encode(usage)})

    async def usage(
        self, since: str, thread_id: str | None = None, run_id: str | None = None
    ) -> list[StepUsage]:
        """List the steps since a time, oldest first: all, or those of a thread or of one of its runs."""
        values = {"since": since, "thread_id": thread_id, "run_id": run_id}
        name = "list" if thread_id is None else "list_thread"
        return [_decoder.decode(data) for (data,) in await self._database.rows(self._sql[name], values)]

    async def sidecars(self, thread_id: str) -> Mapping[str, Sidecar]:
        """Return what stands beside the messages of a thread's course, by message id."""
        return join_sidecars(await self._lines(thread_id))

    async def keep_context(self, thread_id: str, message_id: str, context: str) -> None:
        """Put down what a message came with."""
        await self._add(thread_id, msgspec.json.encode(SidecarLine(message_id, context=context)))

    async def keep_signatures(
        self, thread_id: str, message_id: str, step: int, signatures: list[JsonObject]
    ) -> None:
        """Put down what a model signed in a step of a message."""
        line = SidecarLine(message_id, step=step, signatures=tuple(signatures))
        await self._add(thread_id, msgspec.json.encode(line))

    async def copy_sidecars(self, source: str, target: str, message_ids: Collection[str]) -> None:
        """Put beside the messages of a copied thread what stands beside them in the one it is of."""
        lines = await self._lines(source)
        kept = [raw for raw in lines if (line := decode_sidecar(raw)) is not None and line.id in message_ids]
        if kept:
            await self._add(target, *kept)

    async def drop_sidecars(self, thread_id: str) -> None:
        """Forget what stands beside the messages of a course that ended."""

        async def work(link: AsyncLink) -> None:
            await self._fences.verify(link, thread_id)
            await link.execute(self._sql["drop_sidecars"], {"thread_id": thread_id})

        await self._database.run(work)

    async def _lines(self, thread_id: str) -> list[bytes]:
        found = await self._database.rows(self._sql["sidecars"], {"thread_id": thread_id})
        return [data for (data,) in found]

    async def _add(self, thread_id: str, *lines: bytes) -> None:
        async def work(link: AsyncLink) -> None:
            await self._fences.verify(link, thread_id)
            for line in lines:
                await link.execute(self._sql["add_sidecar"], {"thread_id": thread_id, "data": line})

        await self._database.run(work)


class PostgresAllowance(Allowance):
    """The running sums of one month, over what all machines used."""

    def __init__(self, layout: Layout, papers: Disk, database: PostgresDatabase) -> None:
        super().__init__(layout, papers)
        self._database = database
        self._sql = statements("ledger")
        self._month, self._seen = "", set[int]()

    def _catch_up(self, month: str) -> None:
        if month != self._month:
            self._sums.clear()
            self._month, self._seen = month, set()
        last = max(self._seen, default=0)
        # A step that is still being written may have a lower number than one that stands.
        values = {"month": month, "place": last - LATE_STEPS}
        found = self._database.do(lambda link: link.execute(self._sql["since"], values).fetchall())
        for place, data in found:
            if place not in self._seen:
                self._add(_decoder.decode(data))
                self._seen.add(place)
        self._seen = {each for each in self._seen if each > last - LATE_STEPS}

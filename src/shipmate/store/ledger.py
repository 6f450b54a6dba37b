"""Usage and sidecars: files, and for usage an index over them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping

from shipmate.store.journal.sidecar import SidecarFiles
from shipmate.store.journal.usage import UsageFiles, UsagePlace
from shipmate.store.port import StepUsage
from shipmate.store.sqlite.database import Database
from shipmate.store.sqlite.usage import UsageTable
from shipmate.values.message import JsonObject
from shipmate.values.sidecar import Sidecar
from shipmate.values.thread_id import ThreadId

# How much may lie unread in the files while single runs are asked for: a look at it is quicker than writing.
UNREAD_BYTES = 16_384
OWN_RUNS = 256


class SidecarLedger:
    """What stands beside the rows of courses."""

    def __init__(self, sidecars: SidecarFiles) -> None:
        self._sidecars = sidecars

    async def sidecars(self, thread_id: str) -> Mapping[str, Sidecar]:
        """Return what stands beside the messages of a thread's course, by message id."""
        return self._sidecars.read(ThreadId.parse(thread_id))

    async def keep_context(self, thread_id: str, message_id: str, context: str) -> None:
        """Put on disk what a message came with."""
        self._sidecars.add_context(ThreadId.parse(thread_id), message_id, context)

    async def keep_signatures(
        self, thread_id: str, message_id: str, step: int, signatures: list[JsonObject]
    ) -> None:
        """Put on disk what a model signed in a step of a message."""
        self._sidecars.add_signatures(ThreadId.parse(thread_id), message_id, step, signatures)

    async def copy_sidecars(self, source: str, target: str, message_ids: Collection[str]) -> None:
        """Put beside the messages of a copied thread what stands beside them in the one it is of."""
        self._sidecars.copy(ThreadId.parse(source), ThreadId.parse(target), message_ids)

    async def drop_sidecars(self, thread_id: str) -> None:
        """Forget what stands beside the messages of a course that ended."""
        self._sidecars.drop(ThreadId.parse(thread_id))


class JournalLedger(SidecarLedger):
    """What runs used, and what stands beside the rows of courses, kept in journals."""

    def __init__(self, usage: UsageFiles, sidecars: SidecarFiles, database: Database) -> None:
        super().__init__(sidecars)
        self._usage = usage
        self._database = database
        self._table = UsageTable(database)
        # The steps of the last runs, by run, as long as no other process writes between them.
        self._own: OrderedDict[str, list[StepUsage]] = OrderedDict()
        self._last: UsagePlace | None = None

    async def add_usage(self, usage: StepUsage) -> None:
        """Note what a step used."""
        place = self._usage.append(usage)
        if self._last is None or (self._last.path, self._last.end) != (place.path, place.start):
            self._own.clear()
        self._last = place
        self._own.setdefault(usage.run_id, []).append(usage)
        if len(self._own) > OWN_RUNS:
            self._own.popitem(last=False)

    async def usage(
        self, since: str, thread_id: str | None = None, run_id: str | None = None
    ) -> list[StepUsage]:
        """List the steps since a time, oldest first: all, or those of a thread or of one of its runs."""
        own = self._own.get(run_id, ()) if thread_id is not None and run_id is not None else ()
        if own and own[0].step == 1 and self._last is not None and self._usage.is_last(self._last):
            # All of the run was noted here: nobody need be asked.
            return [each for each in own if each.thread_id == thread_id and each.at >= since]

        def work() -> list[StepUsage]:
            unread = self._read_unread(run_id) if thread_id is not None and run_id is not None else None
            if unread is not None:
                late = [each for each in unread if each.thread_id == thread_id and each.at >= since]
                return [*self._table.list(since, thread_id, run_id), *late]
            self._catch_up()
            return self._table.list(since, thread_id, run_id)

        return self._database.do(work)

    def catch_up(self) -> None:
        """Read into the index what was appended to the files since, by whichever process."""
        self._database.do(self._catch_up)

    def clear(self) -> None:
        """Empty the list of steps."""
        self._database.do(self._table.clear)

    def _read_unread(self, run_id: str) -> list[StepUsage] | None:
        """Return the steps of a run that the index lacks; None when it should be brought up to date."""
        known = self._table.files()
        found: list[StepUsage] = []
        for name, inode, size in self._usage.months():
            known_inode, offset = known.pop(name, (0, 0))
            if known_inode != inode or not 0 <= size - offset <= UNREAD_BYTES:
                return None
            found += self._usage.read_run(name, offset, run_id) if size > offset else []
        return None if known else found

    def _catch_up(self) -> None:
        present = {name: (inode, size) for name, inode, size in self._usage.months()}
        known = self._table.files()
        if all(known.get(name) == found for name, found in present.items()) and len(known) == len(present):
            return
        with self._database.transaction():
            known = self._table.files()
            for name in known.keys() - present.keys():
                self._table.drop(name)
            for name, (inode, size) in present.items():
                known_inode, offset = known.get(name, (inode, 0))
                if known_inode != inode or offset > size:
                    self._table.drop(name)
                    offset = 0
                if offset < size or name not in known:
                    steps, end = self._usage.read(name, offset)
                    self._table.add(name, inode, end, steps)

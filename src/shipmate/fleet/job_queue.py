"""The queue of a fleet: procrastinate's jobs, one for each event, held by the lock of its thread.

A job says nothing but that a thread has something to do; what, and in which order, stands in the inbox.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from shipmate.fleet.role import Role
from shipmate.orchestrator.feed import Run
from shipmate.orchestrator.keeper.health import EngineHealth, FleetProcess
from shipmate.orchestrator.turn import message_id_of
from shipmate.store.migration import read_statements
from shipmate.store.postgres.database import AsyncLink, PostgresDatabase
from shipmate.workspace.layout import CAPTAIN

# A run has the lock of its thread. A timer has none: one that waits would hold up its thread.
RUN, TIMER = "shipmate.run", "shipmate.timer"
# So long nothing was heard of a process whose life lock is free before it counts as dead: a database that
# comes back finds nobody connected.
GRACE_SECONDS = 0.8
ANY_QUEUE, ONE_QUEUE = "procrastinate_any_queue_v1", "procrastinate_queue_v1#"


class FleetJob(NamedTuple):
    """A job that this process has taken."""

    id: int
    task: str
    thread_id: str
    member: str


class JobQueue:
    """The queue as one process uses it."""

    def __init__(self, database: PostgresDatabase, role: Role, version: str) -> None:
        self._database = database
        self._role = role
        self._version = version
        self._worker_id: int | None = None
        self._sql = {name: text.encode() for name, text in read_statements("shipmate.fleet", "fleet").items()}

    @property
    def channels(self) -> list[str]:
        """Return where this process hears of jobs."""
        if not self._role.works:
            return []
        return (
            [ANY_QUEUE] if self._role.members is None else [ONE_QUEUE + each for each in self._role.members]
        )

    async def enqueue(self, link: AsyncLink, thread_id: str, member: str | None = None) -> None:
        """Have a thread worked by its member's workers, in the transaction of what there is to do.

        A thread that is new belongs to the member it begins with.
        """
        values = {"task": RUN, "thread_id": thread_id, "member": member or CAPTAIN}
        await link.execute(self._sql["enqueue"], values)

    async def enqueue_later(self, thread_id: str, seconds: float) -> None:
        """Have a thread worked after a while: a job without a lock that enqueues one."""
        queue = (self._role.members or (CAPTAIN,))[0]
        values = {"task": TIMER, "queue": queue, "thread_id": thread_id, "seconds": seconds}
        await self._database.rows(self._sql["later"], values)

    async def fetch(self) -> FleetJob | None:
        """Take the next job whose thread nobody works."""
        if self._worker_id is None:
            return None
        queues = None if self._role.members is None else list(self._role.members)
        for number, task, thread_id, member in await self._ask("fetch", queues=queues):
            if number is not None:
                return FleetJob(number, task, thread_id, member)
        return None

    async def owns(self, job: FleetJob) -> bool:
        """Return whether a job is still this process's own."""
        return bool(await self._ask("owns", id=job.id))

    async def finish(self, job: FleetJob) -> None:
        """Take a job away; one that another process has taken over is left alone."""
        if job.task == RUN:
            await self._ask("finish", id=job.id, lock=job.thread_id)
            return

        async def ring(link: AsyncLink) -> None:
            await link.execute(self._sql["finish"], {"id": job.id, "worker_id": self._worker_id, "lock": ""})
            await self.enqueue(link, job.thread_id)

        await self._database.run(ring)

    async def put_back(self, *jobs: FleetJob) -> None:
        """Let another process have jobs at once."""
        await self._ask("put_back", ids=[job.id for job in jobs])

    async def put_back_others(self, jobs: Collection[FleetJob]) -> None:
        """Put back what this process was given and never heard of: the answer was lost on its way."""
        await self._ask("put_back_others", ids=[job.id for job in jobs])

    async def register(self) -> None:
        """Make this process known; jobs it takes bear its number."""
        values = {
            "worker": self._database.worker,
            "role": self._role.name,
            "works": self._role.works,
            "members": None if self._role.members is None else list(self._role.members),
            "concurrency": self._role.concurrency if self._role.works else 0,
            "version": self._version,
        }
        found = await self._database.rows(self._sql["register"], values)
        self._worker_id = found[0][0]

    async def drain(self) -> None:
        """Say that this process takes no more."""
        await self._ask("drain")

    async def leave(self) -> None:
        """Take this process off the list, in good order."""

        async def work(link: AsyncLink) -> None:
            await self._forget(link, [self._database.worker], [self._worker_id] if self._worker_id else [])

        await self._database.run(work)

    async def tick(self) -> tuple[bool, bool]:
        """Say that this process lives; return whether it is known, and whether another is silent."""
        ((known, silent),) = await self._ask("tick", grace=GRACE_SECONDS)
        return bool(known), bool(silent)

    async def reap(self, frozen_seconds: float) -> list[str]:
        """Take over from dead processes, and end the sessions of frozen ones; list the dead."""
        await self._ask("end_frozen", limit=frozen_seconds)

        async def work(link: AsyncLink) -> list[str]:
            cursor = await link.execute(self._sql["dead"], {"grace": GRACE_SECONDS})
            dead = await cursor.fetchall()
            # Whoever was declared dead and is not finds its number gone: it takes no job, and ends none.
            await self._forget(link, [each[0] for each in dead], [each[1] for each in dead if each[1]])
            return [each[0] for each in dead]

        return await self._database.run(work)

    async def _forget(self, link: AsyncLink, workers: Sequence[str], worker_ids: Sequence[int]) -> None:
        values = {"workers": list(workers), "worker_ids": list(worker_ids)}
        if workers:
            for name in ("take_over", "forget_workers", "forget"):
                await link.execute(self._sql[name], values)

    async def health(self) -> EngineHealth:
        """Return who is there, what waits, and which members nobody serves."""
        fields = FleetProcess.__struct_fields__
        rows = await self._ask("processes", grace=GRACE_SECONDS)
        processes = [FleetProcess(**dict(zip(fields, row, strict=True))) for row in rows]
        queues = await self._ask("queues")
        served = [each for each in processes if each.serves]
        alone = [
            name
            for name, waiting, _ in queues
            if waiting and not any(each.members is None or name in each.members for each in served)
        ]
        stranded = await self._ask("threads_of", queues=alone) if alone else []
        return EngineHealth(
            engine="postgresql",
            processes=processes,
            waiting={name: waiting for name, waiting, _ in queues if waiting},
            running=sum(running for _, _, running in queues),
            unserved=sorted(alone),
            stranded=[row[0] for row in stranded],
        )

    async def runs(self) -> dict[str, Run]:
        """Return the runs in flight, by thread, as the stored rows say."""
        found: dict[str, Run] = {}
        for thread_id, run_id, answers in await self._ask("runs"):
            run = Run(run_id=run_id, answers=frozenset(answers), message_id=message_id_of(run_id))
            found.setdefault(thread_id, run)
        return found

    async def ensure(self, threads: Sequence[str]) -> None:
        """Let threads with open events be worked to which no job leads: they came with an import."""

        async def work(link: AsyncLink) -> None:
            for thread_id in threads:
                cursor = await link.execute(self._sql["has_job"], {"lock": thread_id})
                if await cursor.fetchone() is None:
                    await self.enqueue(link, thread_id)

        if threads:
            await self._database.run(work)

    async def _ask(self, name: str, **values: object) -> Sequence[tuple[Any, ...]]:
        own = {"worker": self._database.worker, "worker_id": self._worker_id}
        return await self._database.rows(self._sql[name], {**own, **values})

"""Take jobs and work their threads, so many at once, until told to stop."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

import psycopg

from shipmate.errors import StorageError
from shipmate.fleet.fleet_lanes import FleetLanes
from shipmate.fleet.job_queue import TIMER, FleetJob, JobQueue

# How often it is looked for jobs that no notification told of: timers that are due.
POLL_SECONDS = 1.0
# How long a database that is away is left alone.
RETRY_SECONDS = 0.3
log = logging.getLogger(__name__)


class JobLoop:
    """The work of one process."""

    def __init__(self, queue: JobQueue, lanes: FleetLanes, concurrency: int) -> None:
        self._queue = queue
        self._lanes = lanes
        self._concurrency = concurrency
        self._jobs: dict[asyncio.Task[None], FleetJob] = {}
        self._woken = asyncio.Event()
        self._is_leaving = False
        # Whether a job may have been given to this process that it never heard of.
        self._is_behind = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Take jobs from now on."""
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Hear that there may be a job."""
        self._woken.set()

    def catch_up(self) -> None:
        """Hear that the database was away, and answers with it."""
        self._is_behind = True
        self._woken.set()

    async def stop(self, patience: float) -> None:
        """Take no more jobs, and let those in flight come to their end for a while."""
        self._is_leaving = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=patience)

    async def idle(self) -> None:
        """Wait until this process works on nothing."""
        while self._jobs:
            await asyncio.wait(self._jobs)

    async def close(self) -> None:
        """Put back what is not at its end; the lanes have left their runs by now."""
        for task in self._jobs:
            task.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                if self._is_behind:
                    await self._queue.put_back_others(self._jobs.values())
                    self._is_behind = False
                while len(self._jobs) < self._concurrency and (job := await self._queue.fetch()) is not None:
                    self._start(job)
            # A process that was taken for dead has no number any more, until it begins anew.
            except (StorageError, psycopg.Error) as error:
                log.info("no job can be taken: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
                self._is_behind = True
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._woken.wait()

    def _start(self, job: FleetJob) -> None:
        task = asyncio.create_task(self._do(job))
        self._jobs[task] = job

        def end(done: asyncio.Task[None]) -> None:
            if len(self._jobs) >= self._concurrency:
                # Others may have waited for a place. What waits for this thread is told of by a notification.
                self._woken.set()
            del self._jobs[done]

        task.add_done_callback(end)

    async def _do(self, job: FleetJob) -> None:
        """Work a thread until nothing is open in it; a database that is away is waited for."""
        try:
            while True:
                try:
                    if job.task != TIMER:
                        await self._lanes.work(job.thread_id)
                    if self._is_leaving:
                        break
                    await self._queue.finish(job)
                    return
                except (StorageError, psycopg.Error) as error:
                    log.info("%s waits for the database: %s", job.thread_id, error)
                await asyncio.sleep(RETRY_SECONDS)
                # Meanwhile another process may have taken it over.
                with suppress(StorageError, psycopg.Error):
                    if not await self._queue.owns(job):
                        return
        finally:
            if self._is_leaving:
                with suppress(StorageError, psycopg.Error):
                    await self._queue.put_back(job)

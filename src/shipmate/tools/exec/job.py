"""Keep commands that run in the background, and let the model read and stop them."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.exec.process import Process
from shipmate.tools.output import Spool, point_at
from shipmate.tools.tool import Labels, Tool, ToolContext, ToolResult

JOB_LIMIT = 10
JOB_SECONDS = 24 * 3600.0


class Job:
    """One background command: whose it is and how it stands."""

    def __init__(
        self, job_id: str, process: Process[Spool], command: str, context: ToolContext, is_private: bool
    ) -> None:
        self.id = job_id
        self.process = process
        self.command = command
        self.thread_id = context.thread_id
        self.pointer = point_at(context)
        # False when the command could reach the network, so that strangers' words may be in its output.
        self.is_private = is_private
        self.watch = asyncio.create_task(self._watch())

    @property
    def state(self) -> str:
        code = self.process.exit_code
        return f"running for {self.process.seconds:.0f} s" if code is None else f"exit {code}"

    async def _watch(self) -> None:
        """Wait for the end, so that the log is closed and nothing runs for ever."""
        if not await self.process.wait(JOB_SECONDS):
            await self.process.stop()

    async def stop(self) -> None:
        await self.process.end()
        await self.watch


class Jobs:
    """The jobs of all threads; each thread sees its own."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._count = 0

    def add(self, process: Process[Spool], command: str, context: ToolContext, *, is_private: bool) -> Job:
        """Take over a running command."""
        self._count += 1
        job = Job(f"job{self._count}", process, command, context, is_private)
        self._jobs[job.id] = job
        return job

    def check_room(self) -> None:
        """Refuse another job when too many run."""
        if sum(job.process.exit_code is None for job in self._jobs.values()) >= JOB_LIMIT:
            raise ToolError(f"{JOB_LIMIT} jobs are running already. Stop one first.")

    def find(self, job_id: str, thread_id: str) -> Job:
        job = self._jobs.get(job_id)
        if job is None or job.thread_id != thread_id:
            raise ToolError(f"There is no job {job_id} in this thread. List the jobs.")
        return job

    def is_untrusted(self, job_id: str) -> bool:
        """Return whether strangers' words may be in a job's output."""
        return job_id in self._jobs and not self._jobs[job_id].is_private

    def of(self, thread_id: str) -> list[Job]:
        return [job for job in self._jobs.values() if job.thread_id == thread_id]

    async def close(self) -> None:
        """End all jobs."""
        for job in self._jobs.values():
            await job.stop()
        self._jobs.clear()


class JobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    action: Literal["list", "read", "stop"]
    id: str = ""


class JobTool(Tool[JobArguments]):
    """The tool that looks after background commands."""

    name = "job"
    description = "List, read or stop background commands."
    arguments = JobArguments
    # Stopping a job ends what this thread itself was allowed to start, and nothing else.
    labels = Labels(reads_private=True)
    budget = 8_000

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def labels_for(self, arguments: JobArguments) -> Labels:
        return Labels(reads_private=True, reads_untrusted=self._jobs.is_untrusted(arguments.id))

    async def run(self, arguments: JobArguments, context: ToolContext) -> ToolResult:
        if arguments.action == "list":
            jobs = self._jobs.of(context.thread_id)
            return ToolResult(
                output="\n".join(f"{job.id}  {job.state}  {job.command}" for job in jobs) or "No jobs."
            )
        job = self._jobs.find(arguments.id, context.thread_id)
        if arguments.action == "stop":
            await job.stop()
        text = job.process.spool.text(job.pointer)
        return ToolResult(output="\n".join([text, *job.process.notes, f"[{job.id}: {job.state}]"]))

"""Run shell commands in the sandbox."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.errors import ToolError
from shipmate.tools.exec.environment import make_environment
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.process import GRACE_SECONDS, Process
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.target import command_target
from shipmate.tools.file.target import check_target
from shipmate.tools.output import Spool, log_of, point_at
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reveal import reveal

# The kernel takes one argument of at most 128 KiB.
COMMAND_LIMIT = 100_000
LONGEST_SECONDS = 600


class ExecArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    timeout: Annotated[int, Meta(ge=1, le=LONGEST_SECONDS, description="seconds")] = 120
    background: Annotated[bool, Meta(description="gives a job id")] = False
    network: bool = False


class Exec(Tool[ExecArguments]):
    """Run a command line, confined as well as the machine allows."""

    name = "exec"
    description = "Run a shell command in the workspace, sandboxed; no network unless asked for."
    arguments = ExecArguments
    aliases = ("exec_shell",)
    labels = Labels(acts=True, reads_private=True)

    def __init__(
        self, sandbox: Sandbox, jobs: Jobs, private: Mapping[str, str], network: bool = False
    ) -> None:
        self.sandbox = sandbox
        self._jobs = jobs
        self._private = private
        self._network = network

    def labels_for(self, arguments: ExecArguments) -> Labels:
        # What strangers sent lies in `.ship`.
        is_untrusted = self._reaches_out(arguments) or ".ship" in arguments.command.casefold()
        return Labels(acts=True, reads_private=True, reads_untrusted=is_untrusted)

    def _reaches_out(self, arguments: ExecArguments) -> bool:
        return arguments.network or self._network

    async def picture(self, arguments: ExecArguments, context: ToolContext) -> Picture:
        notes = [
            note
            for note, holds in (("background", arguments.background), ("network", arguments.network))
            if holds
        ]
        shown = reveal(arguments.command) + (f"\n[with {' and '.join(notes)}]" if notes else "")
        return Picture(shown, await self._target(arguments, context))

    async def _target(self, arguments: ExecArguments, context: ToolContext) -> JsonObject:
        return await asyncio.to_thread(command_target, arguments.command, context.folder, self._private)

    async def run(self, arguments: ExecArguments, context: ToolContext) -> ToolResult:
        check_command(arguments.command)
        if context.expected is not None:
            check_target(context, await self._target(arguments, context))
        if arguments.background:
            return ToolResult(output=await self._start_job(arguments, context))
        process = await self._start(arguments, context)
        try:
            in_time = await process.wait(arguments.timeout)
        except asyncio.CancelledError:
            process.kill()
            await process.wait(GRACE_SECONDS)
            raise
        if not in_time:
            await process.stop()
        note = f"exit {process.exit_code}" if in_time else f"stopped after {arguments.timeout} s"
        text = process.spool.text(point_at(context)).rstrip("\n")
        return ToolResult(output=f"{text}\n[{note}]" if text else f"[{note}]")

    async def _start_job(self, arguments: ExecArguments, context: ToolContext) -> str:
        self._jobs.check_room()
        process = await self._start(arguments, context)
        job = self._jobs.add(process, arguments.command, context, is_private=not self._reaches_out(arguments))
        return f"Started {job.id}. Read or stop it with the job tool."

    async def _start(self, arguments: ExecArguments, context: ToolContext) -> Process:
        shell = shutil.which("bash") or "sh"
        # The first call tries what confines here, which starts processes and waits for them.
        command = await asyncio.to_thread(
            self.sandbox.wrap, [shell, "-c", arguments.command], network=self._reaches_out(arguments)
        )
        environment = make_environment(context, self._private, os.environ)
        spool = Spool(log_of(context), self.budget)
        try:
            return await Process.start(command, context.folder, environment, spool)
        except OSError as error:
            spool.close()
            raise ToolError(f"The command could not be started: {error.strerror}.") from error

    async def close(self) -> None:
        await self._jobs.close()


def check_command(command: str) -> None:
    """Refuse what no shell can be given."""
    if not command.strip() or "\0" in command:
        raise ToolError("The command is empty or holds a NUL character. Nothing ran.")
    size = len(command.encode("utf-8", "surrogatepass"))
    if size > COMMAND_LIMIT:
        raise ToolError(
            f"The command is {size:,} bytes long, over {COMMAND_LIMIT:,}. Write a script and run that."
        )

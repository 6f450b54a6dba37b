"""Run a command once with its changes going aside: no network, no private variables, the same limits."""

from __future__ import annotations

import asyncio
import os

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.exec.command import plan_command
from shipmate.tools.exec.environment import make_environment
from shipmate.tools.exec.preview.trial import Aside
from shipmate.tools.exec.process import GRACE_SECONDS, Process
from shipmate.tools.exec.sandbox.room import Overlay, Room
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.output import Spool, log_of, point_at
from shipmate.tools.tool import ToolContext
from shipmate.workspace.layout import Layout


class Attempt:
    """One command to be tried; calling it runs it."""

    def __init__(
        self, sandbox: Sandbox, context: ToolContext, command: str, seconds: int, budget: int
    ) -> None:
        self._sandbox = sandbox
        self._context = context
        self._command = command
        self._seconds = seconds
        self._budget = budget

    async def __call__(self, aside: Aside) -> tuple[str, str]:
        """Run the command; return how it ended and what it printed."""
        sandbox, context = self._place(aside)
        room = await asyncio.to_thread(_open_room, sandbox, aside)
        code: int | None = None
        try:
            process = await self._start(sandbox, context, room)
            note = await _wait(process, self._seconds)
            code = process.exit_code
        finally:
            limit = await asyncio.to_thread(sandbox.close_room, room, code)
        printed = process.spool.text(point_at(self._context)).rstrip("\n")
        return f"{note}, {limit}" if limit else note, printed

    def _place(self, aside: Aside) -> tuple[Sandbox, ToolContext]:
        """Return where it runs: inside a copy, when that cannot be put in the workspace's place."""
        if aside.copy is None or self._sandbox.level == "bubblewrap":
            return self._sandbox, self._context
        layout = Layout(aside.copy)
        return Sandbox(layout), msgspec.structs.replace(self._context, layout=layout)

    async def _start(self, sandbox: Sandbox, context: ToolContext, room: Room) -> Process:
        argv = plan_command(self._command, context.folder).argv
        command = await asyncio.to_thread(sandbox.wrap, argv, room)
        environment = {
            **make_environment(context, {}, os.environ),
            "HOME": str(room.home),
            "TMPDIR": str(room.temporary),
        }
        spool = Spool(log_of(self._context), self._budget)
        try:
            return await Process.start(command, context.folder, environment, spool)
        except OSError as error:
            spool.close()
            raise ToolError(f"The command could not be started: {error.strerror}.") from error


def _open_room(sandbox: Sandbox, aside: Aside) -> Room:
    if aside.upper is not None and aside.work is not None:
        return sandbox.open_room(overlay=Overlay(upper=aside.upper, work=aside.work))
    return sandbox.open_room(stand_in=aside.copy if sandbox.level == "bubblewrap" else None)


async def _wait(process: Process, seconds: int) -> str:
    try:
        in_time = await process.wait(seconds)
    except asyncio.CancelledError:
        process.kill()
        await process.wait(GRACE_SECONDS)
        raise
    if not in_time:
        await process.stop()
    return f"exit {process.exit_code}" if in_time else f"stopped after {seconds} s"

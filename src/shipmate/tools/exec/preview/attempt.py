"""Run a command once with its changes going aside: no network, no private variables, the same limits."""

from __future__ import annotations

import asyncio
import os
from functools import partial

import msgspec

from shipmate.errors import ToolError
from shipmate.tools.exec.command import CommandPlan, plan_command
from shipmate.tools.exec.preview.trial import Aside
from shipmate.tools.exec.process import Process
from shipmate.tools.exec.sandbox.repository import advise_on_git
from shipmate.tools.exec.sandbox.room import Overlay, Room, asks_for_state
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.variable import make_environment
from shipmate.tools.file.protection import find_rights
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
        process = await self._start(sandbox, context, aside)
        try:
            in_time = await process.wait(self._seconds)
        except asyncio.CancelledError:
            await process.end()
            raise
        if not in_time:
            await process.stop()
        note = f"exit {process.exit_code}" if in_time else f"stopped after {self._seconds} s"
        printed = process.spool.text(point_at(self._context)).rstrip("\n")
        return note, "\n".join(filter(None, [printed, *process.notes]))

    def _open_room(self, sandbox: Sandbox, aside: Aside) -> Room:
        shown = asks_for_state(self._command)
        # A copy has other paths; what changes there is judged afterwards.
        is_here = aside.copy is None or sandbox.level == "bubblewrap"
        rights = find_rights(self._context.layout)
        closed = tuple(rights.closed(self._context.member.id)) if is_here else ()
        if aside.upper is not None and aside.work is not None:
            overlay = Overlay(upper=aside.upper, work=aside.work)
            return sandbox.open_room(overlay=overlay, shows_received=shown, closed=closed)
        stand_in = aside.copy if sandbox.level == "bubblewrap" else None
        return sandbox.open_room(stand_in=stand_in, shows_received=shown, closed=closed)

    def _place(self, aside: Aside) -> tuple[Sandbox, ToolContext]:
        """Return where it runs: inside a copy, when that cannot be put in the workspace's place."""
        if aside.copy is None or self._sandbox.level == "bubblewrap":
            return self._sandbox, self._context
        layout = Layout(aside.copy)
        return Sandbox(layout), msgspec.structs.replace(self._context, layout=layout)

    async def _start(self, sandbox: Sandbox, context: ToolContext, aside: Aside) -> Process[Spool]:
        plan = plan_command(self._command, context.folder)
        try:
            room, command = await asyncio.to_thread(self._enter, sandbox, plan, aside)
        except OSError as error:
            raise _not_started(error) from error
        leave = partial(_leave, sandbox, room, plan)
        spool = Spool(log_of(self._context), self._budget)
        try:
            environment = make_environment(context, room, {}, os.environ)
            return await Process.start(
                command, context.folder, environment, spool, leave=leave, kill_signal=sandbox.kill_signal
            )
        except OSError as error:
            spool.close()
            await asyncio.to_thread(leave, None)
            raise _not_started(error) from error

    def _enter(self, sandbox: Sandbox, plan: CommandPlan, aside: Aside) -> tuple[Room, list[str]]:
        """Make the command's room, and return the line to start in it."""
        room = self._open_room(sandbox, aside)
        try:
            return room, sandbox.wrap(plan.argv, room)
        except (ToolError, OSError):
            sandbox.close_room(room)
            raise


def _not_started(error: OSError) -> ToolError:
    return ToolError(f"The command could not be started: {error.strerror}.")


def _leave(sandbox: Sandbox, room: Room, plan: CommandPlan, code: int | None) -> list[str]:
    hit = sandbox.end_room(room, code)
    sandbox.close_room(room)
    advice = advise_on_git(plan.text, plan.words) if code else []
    return [*([f"[a limit was reached: {hit}]"] if hit else []), *advice]

"""Run shell commands in the sandbox."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from shipmate.errors import TargetChangedError, ToolError
from shipmate.tools.exec.command import CommandPlan, plan_command
from shipmate.tools.exec.job import Jobs
from shipmate.tools.exec.process import Process
from shipmate.tools.exec.program.invocation import read_invocation
from shipmate.tools.exec.sandbox.removal import finish_removals
from shipmate.tools.exec.sandbox.repository import advise_on_git, made_repository, writes_repository
from shipmate.tools.exec.sandbox.room import Room, asks_for_state
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.variable import choose_private, make_environment
from shipmate.tools.file.protection import find_rights
from shipmate.tools.file.target import check_target
from shipmate.tools.output import Spool, log_of, point_at
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values.message import JsonObject
from shipmate.values.reason import Why
from shipmate.values.reveal import reveal

if TYPE_CHECKING:
    from shipmate.tools.exec.preview.trial import Trials

# The kernel takes one argument of at most 128 KiB.
COMMAND_LIMIT = 100_000
LONGEST_SECONDS = 600

# Everything a shell could take for a name; a word that names nothing is left out, so too many do no harm.
NAMES = re.compile(r"[^\s'\"|&;<>()$`\\*?\[\]{}=]+")
# How much is read for one command; files beyond that are told apart by size and time of change.
DIGEST_LIMIT = 64 * 1024 * 1024
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class ExecArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    timeout: Annotated[int, Meta(ge=1, le=LONGEST_SECONDS, description="seconds")] = 120
    background: Annotated[bool, Meta(description="gives a job id")] = False
    network: bool = False
    variables: Annotated[tuple[str, ...], Meta(description="private ones it needs")] = ()


class Exec(Tool[ExecArguments]):
    """The tool that runs a command line, confined as well as the machine allows."""

    name = "exec"
    description = "Run a shell command in the workspace, sandboxed; no network unless asked for."
    arguments = ExecArguments
    labels = Labels(acts=True, reads_private=True)

    def __init__(
        self,
        sandbox: Sandbox,
        jobs: Jobs,
        private: Mapping[str, str],
        network: bool = False,
        # Given in mode `preview`: a command that must be asked about is tried first.
        trials: Trials | None = None,
    ) -> None:
        self.sandbox = sandbox
        self._trials = trials
        self._jobs = jobs
        self._private = private
        self._network = network

    def labels_for(self, arguments: ExecArguments) -> Labels:
        # What strangers sent lies in `.ship`; a command that does not name it is not shown it.
        is_untrusted = self._reaches_out(arguments) or asks_for_state(arguments.command)
        return Labels(acts=True, reads_private=True, reads_untrusted=is_untrusted)

    def _reaches_out(self, arguments: ExecArguments) -> bool:
        return arguments.network or self._network

    def is_tried(self, arguments: ExecArguments) -> bool:
        # What goes on by itself, reaches out or gets private variables is asked about by its words.
        asks_words = arguments.background or arguments.network or arguments.variables
        return self._trials is not None and not asks_words

    async def picture(self, arguments: ExecArguments, context: ToolContext) -> Picture:
        if self._trials is None:
            return await self._picture_words(arguments, context)
        if context.expected is not None and "trial" in context.expected:
            return await asyncio.to_thread(self._trials.picture, context.expected)
        if context.expected is not None or not await asyncio.to_thread(self._can_try, arguments, context):
            return await self._picture_words(arguments, context)
        from shipmate.tools.exec.preview.attempt import Attempt
        from shipmate.tools.exec.preview.effect import TooMuchError

        attempt = Attempt(self.sandbox, context, arguments.command, arguments.timeout, self.budget)
        try:
            return await self._trials.run(
                arguments.command,
                context,
                attempt,
                can_overlay=self.sandbox.can_overlay,
                place=self.sandbox.aside,
            )
        except TooMuchError as error:
            words = await self._picture_words(arguments, context)
            return msgspec.structs.replace(words, text=f"{words.text}\n\n{self._trials.explain(error)}")

    def _can_try(self, arguments: ExecArguments, context: ToolContext) -> bool:
        """Return whether a command can be tried here; one that writes the repository cannot."""
        check_command(arguments.command)
        if not context.is_tried or not self.is_tried(arguments) or not self.sandbox.works:
            return False
        # Asked for here because it is tried once, which starts processes and waits for them.
        _ = self.sandbox.can_overlay
        plan = plan_command(arguments.command, context.folder)
        return not (plan.program is not None and writes_repository(plan.words))

    async def _picture_words(self, arguments: ExecArguments, context: ToolContext) -> Picture:
        named = f"the private variables {', '.join(map(reveal, arguments.variables))}"
        possible = {
            "background": arguments.background,
            "network": arguments.network,
            named: bool(arguments.variables),
        }
        notes = [note for note, holds in possible.items() if holds]
        shown = reveal(arguments.command) + (f"\n[with {' and '.join(notes)}]" if notes else "")
        return Picture(shown, await self._target(arguments, context))

    async def _target(self, arguments: ExecArguments, context: ToolContext) -> JsonObject:
        return await asyncio.to_thread(command_target, arguments.command, context.folder, arguments.variables)

    async def run(self, arguments: ExecArguments, context: ToolContext) -> ToolResult:
        check_command(arguments.command)
        if context.expected is not None and "trial" in context.expected:
            if self._trials is None:
                raise TargetChangedError
            return await asyncio.to_thread(self._trials.apply, context)
        if context.expected is not None:
            check_target(context, await self._target(arguments, context))
        if arguments.background:
            return ToolResult(output=await self._start_job(arguments, context))
        process = await self._start(arguments, context)
        try:
            in_time = await process.wait(arguments.timeout)
        except asyncio.CancelledError:
            await process.end()
            raise
        if not in_time:
            await process.stop()
        note = f"exit {process.exit_code}" if in_time else f"stopped after {arguments.timeout} s"
        text = process.spool.text(point_at(context)).rstrip("\n")
        return ToolResult(output="\n".join(filter(None, [text, *process.notes, f"[{note}]"])))

    async def _start_job(self, arguments: ExecArguments, context: ToolContext) -> str:
        self._jobs.check_room()
        process = await self._start(arguments, context)
        job = self._jobs.add(process, arguments.command, context, is_private=not self._reaches_out(arguments))
        return f"Started {job.id}. Read or stop it with the job tool."

    async def _start(self, arguments: ExecArguments, context: ToolContext) -> Process[Spool]:
        private = choose_private(self._private, arguments.variables)
        plan = plan_command(arguments.command, context.folder)
        # The first call tries what confines here, which starts processes and waits for them.
        room, command = await asyncio.to_thread(self._enter, plan, arguments, context)
        leave = partial(self._leave, room, plan, context)
        environment = make_environment(context, room, private, os.environ)
        spool = Spool(log_of(context), self.budget, private.values())
        try:
            return await Process.start(
                command,
                context.folder,
                environment,
                spool,
                leave=leave,
                kill_signal=self.sandbox.kill_signal,
            )
        except OSError as error:
            spool.close()
            await asyncio.to_thread(leave, None)
            raise ToolError(f"The command could not be started: {error.strerror}.") from error

    def _enter(
        self, plan: CommandPlan, arguments: ExecArguments, context: ToolContext
    ) -> tuple[Room, list[str]]:
        """Make the command's room, and return the line to start in it."""
        closed = find_rights(context.layout).closed(context.member.id)
        if closed and self.sandbox.level == "none":
            check_reach(plan, closed.values())
        writes = plan.program is not None and writes_repository(plan.words)
        room = self.sandbox.open_room(
            network=self._reaches_out(arguments),
            writes_repository=writes,
            shows_received=asks_for_state(arguments.command),
            closed=tuple(closed),
        )
        try:
            return room, self.sandbox.wrap(plan.argv, room)
        except (ToolError, OSError):
            self.sandbox.close_room(room)
            raise

    def _leave(self, room: Room, plan: CommandPlan, context: ToolContext, code: int | None) -> list[str]:
        """Clear up after a command, and return what there is to say about it."""
        made = made_repository(plan.words, context.folder)
        # Nothing of it runs any more when what it made is looked at.
        hit = self.sandbox.end_room(room, code)
        refused = self.sandbox.refuse_new(room, context.call_id, made)
        self.sandbox.close_room(room)
        advice = advise_on_git(plan.text, plan.words) if code else []
        return [*refused, *([f"[a limit was reached: {hit}]"] if hit else []), *advice]

    async def close(self) -> None:
        await self._jobs.close()
        await asyncio.to_thread(finish_removals)


def check_reach(plan: CommandPlan, projects: Iterable[str]) -> None:
    """Refuse a command that nothing here could keep from projects its member may only read."""
    known = plan.words is not None and plan.name is not None
    if not known or isinstance(read_invocation(plan.name or "", (plan.words or ())[1:]), Why):
        raise ToolError(
            f"You may only read in the projects {', '.join(sorted(projects))}, and no sandbox works here to "
            "keep this command from them. Use write and edit, or plain commands such as cp. Nothing ran."
        )


def check_command(command: str) -> None:
    """Refuse what no shell can be given."""
    if not command.strip() or "\0" in command:
        raise ToolError("The command is empty or holds a NUL character. Nothing ran.")
    size = len(command.encode("utf-8", "surrogatepass"))
    if size > COMMAND_LIMIT:
        raise ToolError(
            f"The command is {size:,} bytes long, over {COMMAND_LIMIT:,}. Write a script and run that."
        )


def command_target(text: str, folder: Path, variables: Iterable[str]) -> JsonObject:
    """Describe what a command line acts on, as it stands now."""
    plan = plan_command(text, folder)
    root = folder.resolve()
    words = (plan.argv[0], *(plan.words or ()), *NAMES.findall(text))
    return {
        "folder": str(root),
        "program": str(Path(plan.argv[0]).resolve()),
        "variables": sorted(variables),
        "files": _Files(root).describe(words),
    }


class _Files:
    """What the words of a command name in the workspace."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._left = DIGEST_LIMIT

    def describe(self, words: Iterable[str]) -> JsonObject:
        """Describe each file or folder that a word names, by the name as it is written."""
        states = {word: self._state(word) for word in dict.fromkeys(words)}
        return {word: state for word, state in states.items() if state is not None}

    def _state(self, word: str) -> JsonObject | None:
        try:
            written = self._root / word
            real = written.resolve()
            # A link to what does not exist yet is a place to write to as well.
            if not real.is_relative_to(self._root) or not (written.is_symlink() or real.exists()):
                return None
        except (OSError, ValueError):
            return None
        return {"path": str(real.relative_to(self._root)), **self._content(real)}

    def _content(self, path: Path) -> JsonObject:
        try:
            handle = os.open(path, FLAGS)
        except OSError:
            return {"state": "closed" if path.exists() else "absent"}
        try:
            return self._read(handle)
        finally:
            os.close(handle)

    def _read(self, handle: int) -> JsonObject:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            return {"state": "folder"}
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._left:
            return {"state": "present", "size": status.st_size, "changed": status.st_ctime_ns}
        digest = hashlib.sha256()
        while piece := os.read(handle, 1 << 20):
            digest.update(piece)
            self._left -= len(piece)
        return {"state": "present", "sha256": digest.hexdigest()}

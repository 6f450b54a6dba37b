"""A program of others in the place of a model: started for each turn, confined, and ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO

import msgspec

from shipmate.context.trace import Trace
from shipmate.crew.briefing import brief, find_session, split_turn
from shipmate.crew.crew_wording import say
from shipmate.crew.installed import explain_version, find_home, locate, package_of, program_of
from shipmate.crew.program import (
    NO_OPTION,
    NO_SESSION,
    RIGHTS,
    Launch,
    OpenCalls,
    ProgramError,
    explain_failure,
)
from shipmate.crew.program_output import EventLines
from shipmate.crew.prompt_build import PromptOutput, build_prompt
from shipmate.crew.routing_log import log_route
from shipmate.errors import ModelError, ModelRequestError, ToolError, UserError
from shipmate.models.choice import ModelChoice
from shipmate.models.port import Finish, Model, ModelEvent, ModelRequest, ProgramStart, RunOrigin, TextDelta
from shipmate.models.selection.probe import Measured
from shipmate.tools.exec.process import Process
from shipmate.tools.exec.sandbox.room import Room
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.tools.exec.variable import make_environment
from shipmate.tools.file.protection import find_rights
from shipmate.tools.tool import ToolContext
from shipmate.values.event import TYPED_MODEL
from shipmate.workspace.member import Member

# What of the host's variables says how the network is reached.
NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
CERTIFICATES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
# How long a program may take to leave once it has said its last word.
LEAVE_SECONDS = 5.0
TAIL_BYTES = 4_000


class _NotBegunError(ModelError):
    """The program did not take how it was called; it did nothing."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class ProgramModel:
    """The program of one member."""

    def __init__(
        self,
        member: Member,
        sandbox: Sandbox,
        trace: Trace,
        mask: Callable[[str], str],
        host: Mapping[str, str],
    ) -> None:
        self._member = member
        self._program = program_of(member)
        self._sandbox = sandbox
        self._trace = trace
        self._mask = mask
        self._host = host
        # Set once the installed program turned out to have no such option.
        self._lacks_system = False

    @property
    def name(self) -> str:
        """Return the name people see."""
        model = self._model
        return f"{self._program.kind}:{model}" if model else self._program.kind

    @property
    def _model(self) -> str | None:
        stated = self._member.settings.model
        return stated if isinstance(stated, str) else stated.model if stated else None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Answer one request by starting the program."""
        origin = request.origin
        if origin is None:
            raise ModelRequestError(say("no-thread", program=self._program.title))
        before, _ = split_turn(request.messages, origin.run_id)
        session = find_session(self._member, before, owns_thread=origin.owns_thread)
        is_claimed = False
        while True:
            output = self._prepare(request, origin, session)
            if not is_claimed:
                is_claimed = True
                yield ProgramStart()
            try:
                async with contextlib.aclosing(self._run(output, origin, session)) as events:
                    async for event in events:
                        yield event
            except _NotBegunError as error:
                if session is not None and NO_SESSION.search(error.words):
                    session = None
                elif output.system_flag is not None and NO_OPTION.search(error.words):
                    self._lacks_system = True
                else:
                    raise await self._explain(error.words) from error
                continue
            return

    def _prepare(self, request: ModelRequest, origin: RunOrigin, session: str | None) -> PromptOutput:
        """Build what is sent, and put down why it goes the way it goes."""
        member, program = self._member, self._program
        told = brief(member, request.messages, origin, session=session)
        wanted = member.settings.system_channel
        whole = build_prompt(msgspec.structs.replace(told, takes_system=True)).system_flag
        takes = wanted != "inline" and not self._lacks_system
        takes = takes and program.takes_system(
            whole, is_asked=wanted == "native", is_private=member.settings.home == "private"
        )
        output = build_prompt(msgspec.structs.replace(told, takes_system=takes))
        channel = "system text beside the prompt" if takes else "system text in the prompt"
        if self._lacks_system:
            channel += f": this {program.title} has no option for it"
        how = "session resumed" if session else "new session"
        log_route(
            member.layout,
            origin.thread_id,
            origin.user_id,
            member.id,
            why=f"{program.kind}; {channel}; {how}",
        )
        said = {"prompt": output.prompt, "systemFlag": output.system_flag}
        self._trace.note(origin.thread_id, origin.run_id, "[Debug][Send]", said)
        for cut in output.cuts:
            self._trace.note(origin.thread_id, origin.run_id, "[Debug][Cut]", {"cut": cut})
        return output

    async def _run(
        self, output: PromptOutput, origin: RunOrigin, session: str | None
    ) -> AsyncGenerator[ModelEvent]:
        lines = EventLines()
        with tempfile.TemporaryFile() as prompt, tempfile.TemporaryFile() as complaints:
            prompt.write(output.prompt.encode())
            prompt.seek(0)
            process = await self._start(output, origin, session, lines, prompt, complaints)
            watching = asyncio.create_task(process.wait(self._member.settings.wall_seconds + LEAVE_SECONDS))
            try:
                async with contextlib.aclosing(self._read(lines, complaints)) as events:
                    async for event in events:
                        yield event
                # Whoever leaves before it has written all down finds half a conversation next time.
                await asyncio.wait([watching], timeout=LEAVE_SECONDS)
            finally:
                await process.end()
                await watching

    async def _read(self, lines: EventLines, complaints: IO[bytes]) -> AsyncGenerator[ModelEvent]:
        """Go over the events until the one that ends them."""
        program, calls = self._program, OpenCalls()
        reader = program.reader()
        is_begun = has_text = False
        async for line in self._lines(lines):
            try:
                for event in reader.read(line):
                    calls.follow(event)
                    is_begun = True
                    if isinstance(event, Finish):
                        for end in calls.close(say("untold", program=program.title)):
                            yield end
                        if not has_text:
                            raise ProgramError(say("empty", program=program.title))
                        yield event
                        return
                    has_text = has_text or (isinstance(event, TextDelta) and bool(event.text.strip()))
                    yield event
            except ModelError as error:
                if not is_begun and NO_SESSION.search(str(error)):
                    raise _NotBegunError(str(error)) from error
                raise self._cover(error) from error
        if lines.is_too_long:
            raise ProgramError(say("line-long", program=program.title))
        words = self._mask(f"{lines.noise}\n{_tail(complaints)}".strip())
        if is_begun:
            raise ProgramError(say("no-end", program=program.title, said=explain_failure("", words).args[0]))
        raise _NotBegunError(words)

    async def _lines(self, lines: EventLines) -> AsyncGenerator[dict[str, object]]:
        """Go over what is printed, as long as it comes in time."""
        settings, clock = self._member.settings, asyncio.get_running_loop().time
        deadline = clock() + settings.wall_seconds
        while True:
            left = deadline - clock()
            try:
                line = await asyncio.wait_for(lines.next(), max(0, min(settings.idle_seconds, left)))
            except TimeoutError:
                key, seconds = (
                    ("wall", settings.wall_seconds)
                    if left <= settings.idle_seconds
                    else ("idle", settings.idle_seconds)
                )
                raise ProgramError(say(key, program=self._program.title, seconds=seconds)) from None
            if line is None:
                return
            yield line

    async def _start(
        self,
        output: PromptOutput,
        origin: RunOrigin,
        session: str | None,
        lines: EventLines,
        prompt: IO[bytes],
        complaints: IO[bytes],
    ) -> Process[EventLines]:
        # The first call tries what confines here, which starts processes and waits for them.
        room, command, environment = await asyncio.to_thread(self._enter, output, origin, session)
        try:
            return await Process.start(
                command,
                self._member.layout.root,
                environment,
                lines,
                leave=partial(self._leave, room, origin.run_id),
                kill_signal=self._sandbox.kill_signal,
                stdin=prompt.fileno(),
                stderr=complaints.fileno(),
            )
        except OSError as error:
            await asyncio.to_thread(self._leave, room, origin.run_id, None)
            raise ProgramError(
                say("failed", program=self._program.title, said=str(error.strerror))
            ) from error

    def _enter(
        self, output: PromptOutput, origin: RunOrigin, session: str | None
    ) -> tuple[Room, list[str], dict[str, str]]:
        """Make the program's room, and return the line to start in it with its variables."""
        member, program = self._member, self._program
        path = locate(member)
        home, own = find_home(member, self._host.get("HOME", ""))
        if not self._sandbox.works:
            raise ProgramError(say("no-sandbox", program=program.title))
        access = RIGHTS.get(member.config.permissions.mode, "read")
        certificates = {name: self._host[name] for name in CERTIFICATES if name in self._host}
        room = self._sandbox.open_room(
            network=True,
            is_read_only=access == "read",
            closed=tuple(find_rights(member.layout).closed(member.id)),
            shown=(package_of(path), *map(Path, certificates.values())),
            shared=own,
        )
        try:
            launch = Launch(
                program=path,
                home=home or room.home,
                temporary=room.temporary,
                access=access,
                model=self._model,
                session=session,
                system=output.system_flag,
                is_private=member.settings.home == "private",
            )
            words, variables = program.line(launch)
            context = ToolContext(member=member, thread_id=origin.thread_id, run_id=origin.run_id, call_id="")
            environment = {
                **make_environment(context, room, {}, self._host),
                **{name: self._host[name] for name in NETWORK if name in self._host},
                **certificates,
                "HOME": str(launch.home),
                **variables,
                **member.settings.env,
            }
            return room, self._sandbox.wrap([str(path.resolve()), *words], room), environment
        except (ToolError, OSError) as error:
            self._sandbox.close_room(room)
            raise ProgramError(say("failed", program=program.title, said=str(error))) from error

    def _leave(self, room: Room, run_id: str, code: int | None) -> list[str]:
        """Clear up after the program: nothing of it runs any more when what it made is looked at."""
        hit = self._sandbox.end_room(room, code)
        refused = self._sandbox.refuse_new(room, run_id, None)
        self._sandbox.close_room(room)
        return [*refused, *([hit] if hit else [])]

    async def _explain(self, words: str) -> ModelError:
        """Return why a program ended before it said anything; its version may be the reason."""
        path = await asyncio.to_thread(locate, self._member)
        wrong = await asyncio.to_thread(explain_version, self._program, path)
        if wrong:
            return ProgramError(wrong)
        return (
            explain_failure(self._program.title, words)
            if words
            else ProgramError(say("empty", program=self._program.title))
        )

    def _cover(self, error: ModelError) -> ModelError:
        said = error.args[0]
        return type(error)(said.change(self._mask) if hasattr(said, "change") else self._mask(str(said)))


class ProgramChoice(ModelChoice):
    """The choice a member has whose answers come from a program: none."""

    def __init__(self, member: Member, environ: Mapping[str, str], program: ProgramModel) -> None:
        super().__init__(member.config.llm, environ, program)
        self._own = program

    def named(self, name: str | None) -> Model:
        """Return the program, whatever model a thread names; a command a person typed is read by none."""
        return super().named(name) if name == TYPED_MODEL else self._own

    async def check(self, name: str) -> Measured:
        """Refuse: the member's own settings name its model."""
        raise UserError(say("own-model", program=self._own.name))


def _tail(file: IO[bytes]) -> str:
    file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
    return file.read().decode("utf-8", "replace")

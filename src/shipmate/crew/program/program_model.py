"""A program of others in the place of a model: started for each turn, confined, and ended with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping

import msgspec

from shipmate.context.trace import Trace
from shipmate.crew.briefing import brief, find_session, split_turn
from shipmate.crew.crew_wording import say
from shipmate.crew.program.installed import explain_version, locate, program_of
from shipmate.crew.program.live_program import LiveProgram, NotBegunError
from shipmate.crew.program.program import NO_OPTION, NO_SESSION, ProgramError, explain_failure
from shipmate.crew.program.program_start import ProgramStarter
from shipmate.crew.prompt_build import PromptOutput, build_prompt
from shipmate.crew.routing_log import log_route
from shipmate.errors import ModelError, ModelRequestError, UserError
from shipmate.models.choice import ModelChoice
from shipmate.models.port import (
    Finish,
    Model,
    ModelEvent,
    ModelRequest,
    ProgramResult,
    ProgramSession,
    ProgramStart,
    RunOrigin,
)
from shipmate.models.selection.probe import Measured
from shipmate.tools.exec.sandbox.sandbox import Sandbox
from shipmate.values.event import TYPED_MODEL
from shipmate.workspace.member import Member


class ProgramModel:
    """The program of one member."""

    def __init__(
        self,
        member: Member,
        sandbox: Sandbox,
        trace: Trace,
        mask: Callable[[str], str],
        host: Mapping[str, str],
        # The programs that wait for a person's answer, by their thread; they outlast a change of settings.
        waiting: dict[str, LiveProgram] | None = None,
    ) -> None:
        self._member = member
        self._program = program_of(member)
        self._starter = ProgramStarter(member, sandbox, mask, host)
        self._trace = trace
        self._waiting = {} if waiting is None else waiting
        # Set once the installed program turned out to have no such option.
        self._lacks_system = False

    @property
    def name(self) -> str:
        """Return the name people see."""
        model = self._starter.model
        return f"{self._program.kind}:{model}" if model else self._program.kind

    @property
    def prefix(self) -> str:
        """Return how the names of the program's tools begin here."""
        return self._program.prefix

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Answer one request by starting the program, or let the one go on that asked a person."""
        origin = request.origin
        if origin is None:
            raise ModelRequestError(say("no-thread", program=self._program.title))
        if (live := self._waiting.pop(origin.thread_id, None)) is not None:
            if live.run_id == origin.run_id:
                live.refuse(str(say("refused")))
                async with contextlib.aclosing(self._follow(live, origin)) as events:
                    async for event in events:
                        yield event
                return
            # Another turn has begun, and two of one conversation would be in each other's way.
            await live.end()
        before, _ = split_turn(request.messages, origin.run_id)
        session = find_session(self._member, before, origin)
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
            except NotBegunError as error:
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
        live = await self._starter.start(output, origin, session)
        async with contextlib.aclosing(self._follow(live, origin)) as events:
            async for event in events:
                yield event

    async def _follow(self, live: LiveProgram, origin: RunOrigin) -> AsyncGenerator[ModelEvent]:
        """Tell what a program says, and end it: unless it is a person's turn."""
        is_waiting = False
        try:
            async with contextlib.aclosing(live.events()) as events:
                async for event in events:
                    if isinstance(event, ProgramSession):
                        yield ProgramSession(event.session, origin.thread_id)
                        continue
                    yield event
                    is_waiting = isinstance(event, Finish) and live.asked is not None
            if not is_waiting:
                await live.leave()
        finally:
            if is_waiting:
                self._waiting[origin.thread_id] = live
                live.wait_for_answer()
            else:
                await live.end()

    async def allow(self, run_id: str, call_id: str) -> ProgramResult | None:
        """Let the program of a run make a call a person approved; None when it does not wait any more."""
        live = next((each for each in self._waiting.values() if each.run_id == run_id), None)
        if live is None or live.is_ended or live.asked != call_id:
            return None
        try:
            return await live.allow(call_id)
        except ModelError as error:
            # The step that follows tells it once more.
            return ProgramResult(call_id, str(error), is_error=True)

    def is_waiting(self, run_id: str) -> bool:
        """Return whether the program of a run waits for a person's answer."""
        return any(each.run_id == run_id and not each.is_ended for each in self._waiting.values())

    async def close(self) -> None:
        """End what still waits."""
        for live in self._waiting.values():
            await live.end()
        self._waiting.clear()

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

    def holds(self, run_id: str) -> bool:
        """Return whether the program of a run waits for a person's answer."""
        return self._own.is_waiting(run_id)

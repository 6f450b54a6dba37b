"""A program that runs: what it says, read as it comes, and what it is answered."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import IO

from shipmate.crew.crew_wording import say
from shipmate.crew.program.program import (
    NO_SESSION,
    OpenCalls,
    Program,
    ProgramError,
    ProgramReader,
    explain_failure,
)
from shipmate.crew.program.program_output import EventLines
from shipmate.errors import ModelError
from shipmate.models.port import Finish, ModelEvent, ProgramResult, TextDelta, ToolCall
from shipmate.tools.exec.process import Process
from shipmate.values.message import JsonObject
from shipmate.values.saying import Saying
from shipmate.workspace.member import Member

# How long a program may take to leave once it has said its last word, and wait for a person's answer.
LEAVE_SECONDS = 5.0
WAIT_SECONDS = 3600.0
TAIL_BYTES = 4_000


class NotBegunError(ModelError):
    """The program did not take how it was called; it did nothing."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class LiveProgram:
    """One run of a program, which may outlast a step while a person is asked."""

    def __init__(
        self,
        member: Member,
        program: Program,
        reader: ProgramReader,
        process: Process[EventLines],
        complaints: IO[bytes],
        pipe: asyncio.WriteTransport | None,
        mask: Callable[[str], str],
        run_id: str,
    ) -> None:
        self.run_id = run_id
        # The call a person is asked about.
        self.asked: str | None = None
        self._settings = member.settings
        self._program = program
        self._reader = reader
        self._process = process
        self._complaints = complaints
        self._pipe = pipe
        self._mask = mask
        self._calls = OpenCalls()
        # What it asked; a person is asked one thing after the other, and while nothing else of it goes on.
        self._questions: deque[ToolCall] = deque()
        self._is_begun = self._has_text = False
        # What came while the result of a call was waited for.
        self._kept: deque[ModelEvent] = deque()
        self._watching = asyncio.create_task(process.wait(WAIT_SECONDS * 24))
        self._expiry: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self.is_ended = False
        self._write(reader.take())

    async def events(self) -> AsyncGenerator[ModelEvent]:
        """Go over what it says, until it is done or a person has to be asked."""
        deadline = asyncio.get_running_loop().time() + self._settings.wall_seconds
        while True:
            if self._questions and not self._calls:
                question = self._questions.popleft()
                self.asked = question.call_id
                yield question
                yield Finish("tool-calls")
                return
            event = await self._next(deadline)
            self._calls.follow(event)
            if isinstance(event, ToolCall):
                self._questions.append(event)
                continue
            if isinstance(event, TextDelta):
                self._has_text = self._has_text or bool(event.text.strip())
            elif isinstance(event, Finish):
                for end in self._calls.close(say("untold", program=self._program.title)):
                    yield end
                if not self._has_text:
                    raise ProgramError(say("empty", program=self._program.title))
                yield event
                return
            yield event

    async def allow(self, call_id: str) -> ProgramResult:
        """Let it make the call it asked about, and wait for what comes of it."""
        self._answer(call_id, None)
        deadline = asyncio.get_running_loop().time() + self._settings.wall_seconds
        kept: list[ModelEvent] = []
        try:
            while True:
                event = await self._next(deadline)
                if isinstance(event, ProgramResult) and event.call_id == call_id:
                    return event
                kept.append(event)
                if isinstance(event, Finish):
                    words = say("untold", program=self._program.title)
                    return ProgramResult(call_id, words, is_error=True)
        finally:
            self._kept.extendleft(reversed(kept))

    def refuse(self, words: str) -> None:
        """Tell it that a person said no to what it asked about, or that nobody was asked."""
        if self.asked is not None:
            self._answer(self.asked, words)

    def wait_for_answer(self) -> None:
        """Keep it while a person is asked; not for ever."""
        self._expiry = asyncio.get_running_loop().call_later(WAIT_SECONDS, self._expire)

    async def leave(self) -> None:
        """Let it go once it has said its last word."""
        if self._pipe is not None:
            self._pipe.close()
        # Whoever leaves before it has written all down finds half a conversation next time.
        await asyncio.wait([self._watching], timeout=LEAVE_SECONDS)

    async def end(self) -> None:
        """End it with all it started."""
        self.is_ended = True
        if self._expiry is not None:
            self._expiry.cancel()
        if self._pipe is not None:
            self._pipe.close()
        await self._process.end()
        await self._watching
        self._complaints.close()

    def _expire(self) -> None:
        self._ending = asyncio.create_task(self.end())

    def _answer(self, call_id: str, refusal: str | None) -> None:
        self.asked = None
        if self._expiry is not None:
            self._expiry.cancel()
        self._write(self._reader.answer(call_id, refusal))

    def _write(self, data: bytes) -> None:
        if self._pipe is not None and data:
            self._pipe.write(data)

    async def _next(self, deadline: float) -> ModelEvent:
        """Return the next event; raise what went wrong."""
        while not self._kept:
            line = await self._line(deadline)
            if line is None:
                raise self._explain_end()
            try:
                self._kept.extend(self._reader.read(line))
                self._write(self._reader.take())
            except ModelError as error:
                if not self._is_begun and NO_SESSION.search(str(error)):
                    raise NotBegunError(str(error)) from error
                raise _cover(error, self._mask) from error
        self._is_begun = True
        return self._kept.popleft()

    async def _line(self, deadline: float) -> JsonObject | None:
        settings = self._settings
        left = deadline - asyncio.get_running_loop().time()
        key, seconds = ("wall", left) if left <= settings.idle_seconds else ("idle", settings.idle_seconds)
        try:
            return await asyncio.wait_for(self._process.spool.next(), max(0, seconds))
        except TimeoutError:
            limit = settings.wall_seconds if key == "wall" else settings.idle_seconds
            raise ProgramError(say(key, program=self._program.title, seconds=limit)) from None

    def _explain_end(self) -> ModelError:
        """Return what to say of an end without an end."""
        title, lines = self._program.title, self._process.spool
        if lines.is_too_long:
            return ProgramError(say("line-long", program=title))
        words = "\n".join([lines.noise, _tail(self._complaints), *self._process.notes])
        words = self._mask(words.strip())
        if self._is_begun:
            return ProgramError(say("no-end", program=title, said=explain_failure("", words).args[0]))
        return NotBegunError(words)


def _cover(error: ModelError, mask: Callable[[str], str]) -> ModelError:
    said = error.args[0]
    return type(error)(said.change(mask) if isinstance(said, Saying) else mask(str(said)))


def _tail(file: IO[bytes]) -> str:
    file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
    return file.read().decode("utf-8", "replace")

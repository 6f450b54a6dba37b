"""Turn one model answer into chunks, and find the calls it makes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from math import ceil
from typing import Any

import msgspec

from shipmate.errors import ModelStreamError, ToolError
from shipmate.models import wording as model_words
from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelNotice,
    ProgramCall,
    ProgramEvent,
    ProgramResult,
    ProgramSession,
    ProgramStart,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from shipmate.orchestrator.run_wording import CUT_ENDINGS, say
from shipmate.orchestrator.turn import Turn
from shipmate.values import chunk as chunks
from shipmate.values.chunk import Chunk
from shipmate.values.message import JsonObject, new_id, timestamp
from shipmate.values.nesting import check_nesting
from shipmate.values.saying import Saying

# What one answer may hold: more than any model writes, and than a thread can keep for each step.
ANSWER_LIMIT = 8_000_000
CALL_LIMIT = 200
ID_LIMIT = 200
# Stands for a whole program among the calls that have begun.
PROGRAM = "program"


class Asked(msgspec.Struct, frozen=True):
    """One call of a step; `error` says why its arguments cannot be used."""

    call_id: str
    name: str
    input: Any
    error: str | None = None


class StepReader:
    """Reads the events of one answer, tells each as chunks, and ends with the calls and how it finished."""

    def __init__(
        self,
        tell: Callable[[Chunk], None],
        known_calls: set[str],
        prefix: str,
        language: str = "en",
        # Tells chunks and puts all there is on disk.
        keep: Callable[..., Awaitable[None]] | None = None,
        # Returns what of a call's input may be told, where something of it may not; None where all may.
        seal: Callable[[str, Any], Any] = lambda name, given: None,
    ) -> None:
        self._tell = tell
        self._keep = keep
        self._known = known_calls
        self._prefix = prefix
        self._language = language
        self._seal = seal
        self._quiet: set[str] = set()
        self._texts = 0
        self._size = 0
        self._open: tuple[str, str] | None = None
        self._ids: dict[str, str] = {}
        # The calls that a program makes by itself.
        self._programs: set[str] = set()
        self.calls: list[Asked] = []
        # What the model signed: stretches of reasoning by their place in this answer, calls by their id.
        self.signatures: list[JsonObject] = []
        self._stretches = 0
        # Something of the answer was told.
        self.has_begun = False
        self.finish: Finish | None = None

    async def read(self, events: AsyncIterator[ModelEvent]) -> Finish:
        """Read an answer to its end; an answer without an end broke off."""
        try:
            async for event in events:
                if isinstance(event, ProgramStart | ProgramSession | ProgramCall | ProgramResult):
                    await self._keep_program(event)
                else:
                    self._take(event)
        finally:
            # Whoever answers is not left running when nobody listens any more.
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        self._close()
        if self.finish is None:
            raise ModelStreamError(model_words.say("stream-broke"))
        return self.finish

    def _take(self, event: ModelEvent) -> None:
        self._size += _size_of(event)
        if self._size > ANSWER_LIMIT or len(self.calls) > CALL_LIMIT:
            raise ModelStreamError(say("too-much", characters=f"{ANSWER_LIMIT:,}", calls=str(CALL_LIMIT)))
        self.has_begun = self.has_begun or not isinstance(event, ModelNotice | Finish)
        match event:
            case TextDelta(text):
                self._say("text", text)
            case ReasoningDelta(text):
                self._say("reasoning", text)
            case ReasoningEnd(signature):
                self._end_reasoning(signature)
            case ToolCallDelta():
                self._delta(event)
            case ToolCall():
                self._call(event)
            case ModelNotice():
                self._tell(tell_notice(event, self._language))
            case Finish():
                self.finish = event
            case _:
                # What programs tell is kept, and not only told.
                pass

    async def _keep_program(self, event: ProgramEvent) -> None:
        """Keep what a program does as it does it: its calls are made by nobody else."""
        self._close()
        self.has_begun = True
        match event:
            case ProgramStart():
                told = [chunks.message_metadata({"begun": {PROGRAM: timestamp()}})]
            case ProgramSession(session, thread_id):
                told = [chunks.message_metadata({"session": {"id": session, "threadId": thread_id}})]
            case ProgramCall(wanted, name, arguments):
                call_id = self._name_call(wanted)
                self._programs.add(wanted)
                told = [
                    chunks.tool_input_available(call_id, name, arguments),
                    chunks.message_metadata({"begun": {call_id: timestamp()}}),
                ]
            case ProgramResult(wanted, output, is_error):
                call_id = self._ids.pop(wanted, None)
                if call_id is None:
                    return
                ended = chunks.tool_output_error if is_error else chunks.tool_output
                told = [ended(call_id, str(output) if is_error else output)]
        if self._keep is None:
            for chunk in told:
                self._tell(chunk)
        else:
            await self._keep(*told)

    def _say(self, kind: str, text: str) -> None:
        if not text:
            return
        if self._open is None or self._open[0] != kind:
            self._close()
            self._texts += 1
            self._open = (kind, f"{self._prefix}-{self._texts}")
            self._tell(chunks.text(f"{kind}-start", self._open[1]))
        self._tell(chunks.text(f"{kind}-delta", self._open[1], text))

    def _close(self) -> None:
        if self._open is None:
            return
        kind, part_id = self._open
        self._open = None
        if kind == "reasoning":
            self._stretches += 1
        self._tell(chunks.text(f"{kind}-end", part_id))

    def _end_reasoning(self, signature: JsonObject | None) -> None:
        if self._open is None or self._open[0] != "reasoning":
            if signature is None:
                return
            # A provider may sign thinking it does not show; the empty part holds its place.
            self._close()
            self._texts += 1
            self._open = ("reasoning", f"{self._prefix}-{self._texts}")
            self._tell(chunks.text("reasoning-start", self._open[1]))
        self._close()
        if signature:
            self.signatures.append({**signature, "stretch": self._stretches - 1})

    def _delta(self, event: ToolCallDelta) -> None:
        if event.call_id not in self._ids:
            self._close()
            self._tell(chunks.tool_input_start(self._name_call(event.call_id), event.name))
            if self._seal(event.name, {}) is not None:
                self._quiet.add(event.call_id)
        if event.arguments and event.call_id not in self._quiet:
            self._tell(chunks.tool_input_delta(self._ids[event.call_id], event.arguments))

    def _call(self, event: ToolCall) -> None:
        self._close()
        if event.call_id in self._programs:
            # A program had begun to make it, and asks first after all.
            self._tell(chunks.message_metadata({"begun": {self._ids[event.call_id]: None}}))
        call_id = self._ids.pop(event.call_id, None) or self._name_call(event.call_id)
        self._ids.pop(event.call_id, None)
        call = _parse_call(call_id, event)
        if (told := self._seal(call.name, call.input)) is not None:
            call = msgspec.structs.replace(call, input=told)
        self.calls.append(call)
        if event.signature:
            self.signatures.append({**event.signature, "call": call_id})
        if call.error is None:
            self._tell(chunks.tool_input_available(call_id, call.name, call.input))

    @property
    def unfinished(self) -> list[str]:
        """List the calls whose arguments broke off."""
        known = {call.call_id for call in self.calls}
        return [call_id for call_id in self._ids.values() if call_id not in known]

    def _name_call(self, wanted: str) -> str:
        """Return an id for a call that is new in its message, whatever the model chose."""
        call_id = wanted if 0 < len(wanted) <= ID_LIMIT else new_id("call")
        while call_id in self._known:
            call_id = new_id("call")
        self._known.add(call_id)
        self._ids[wanted] = call_id
        return call_id


def tell_notice(event: ModelNotice, language: str = "en") -> Chunk:
    """Tell those who watch why the answer is late; nothing of it is kept, for it passes."""
    values = {"reason": event.reason, "model": event.model}
    if event.kind == "retry":
        values["seconds"] = str(max(1, ceil(event.wait_seconds)))
    text = say(event.kind, **values).tell(language)
    data = {"kind": event.kind, "text": text, "model": event.model, "waitSeconds": event.wait_seconds}
    # A fallback stays to be seen: another model answers than the one that was asked.
    return chunks.data("notice", data, transient=event.kind == "retry")


def _size_of(event: ModelEvent) -> int:
    match event:
        case TextDelta(text) | ReasoningDelta(text):
            return len(text)
        case ToolCallDelta() | ToolCall():
            return len(event.arguments) + len(event.name)
        case _:
            return 0


def _parse_call(call_id: str, event: ToolCall) -> Asked:
    text = event.arguments.strip() or "{}"
    try:
        arguments = msgspec.json.decode(check_nesting(text))
    except (msgspec.DecodeError, UnicodeError) as error:
        return Asked(
            call_id, event.name, event.arguments, f"the arguments are not JSON ({error}). Nothing ran."
        )
    if not isinstance(arguments, dict):
        return Asked(call_id, event.name, arguments, "the arguments must be one JSON object. Nothing ran.")
    return Asked(call_id, event.name, arguments)


def refuse_call(turn: Turn, asked: Asked) -> str | None:
    """Return why a call cannot be made, if it cannot."""
    if not turn.options.offers_tools:
        return "no tool was offered: answer without one. Nothing ran."
    if asked.name in turn.client_tools:
        # Its arguments are the program's to check.
        return None
    toolset = turn.equipment.toolset
    tool = toolset.get(asked.name)
    if tool is None:
        return f"there is no tool {asked.name!r}. There are: {', '.join(toolset.names)}. Nothing ran."
    try:
        tool.parse(asked.input)
    except ToolError as error:
        return str(error)
    return None


def tell_cut(turn: Turn, reader: StepReader, finish: Finish) -> None:
    """Close the calls that were not written to their end, and tell the person that they did not run."""
    turn.drop_calls(reader.unfinished)
    if finish.reason == "length" and any(asked.error for asked in reader.calls):
        turn.notify("length-call")
    elif reader.unfinished and finish.reason not in CUT_ENDINGS:
        turn.notify("half-call")


def explain_empty(reader: StepReader, finish: Finish) -> Saying:
    """Say why an answer holds nothing."""
    if reader.unfinished:
        return say("length-call" if finish.reason == "length" else "half-call")
    return say(f"nothing-{finish.reason if finish.reason in CUT_ENDINGS else 'stop'}")

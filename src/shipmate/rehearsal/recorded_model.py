"""Play the member's side of a script: say and call what was said and called then."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence

from shipmate.models.port import (
    Finish,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.rehearsal.rehearsal_setting import SCRIPT
from shipmate.values.message import JsonObject, UIMessage, is_tool, tool_name

SPOKEN = ("text", "reasoning")


class RecordedModel:
    """A model that answers each request with the next step of a script's answer."""

    def __init__(self) -> None:
        self.name = SCRIPT
        self._steps: list[list[JsonObject]] = []

    @property
    def is_over(self) -> bool:
        """Return whether everything recorded for this turn was said."""
        return not self._steps

    def begin(self, answers: Sequence[UIMessage]) -> None:
        """Go on to the turn that these messages answered."""
        self._steps = split_steps(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Say the next step; nothing more once the script's answer is over."""
        has_calls = False
        for part in self._steps.pop(0) if self._steps else ():
            for event in _play(part):
                has_calls = has_calls or isinstance(event, ToolCall)
                yield event
        yield Finish("tool-calls" if has_calls else "stop", Usage(cost=0.0), self.name)


def split_steps(answers: Sequence[UIMessage]) -> list[list[JsonObject]]:
    """Return what was said and called step by step; words behind a call belong to the step after it."""
    steps: list[list[JsonObject]] = [[]]
    for message in answers:
        steps.append([])
        for part in message["parts"]:
            is_spoken = part.get("type") in SPOKEN
            if part.get("type") == "step-start" or (is_spoken and any(map(is_tool, steps[-1]))):
                steps.append([])
            if (is_spoken and part.get("text")) or is_tool(part):
                steps[-1].append(part)
    return [step for step in steps if step]


def _play(part: JsonObject) -> Iterator[ModelEvent]:
    if part["type"] == "text":
        yield TextDelta(part["text"])
    elif part["type"] == "reasoning":
        yield ReasoningDelta(part["text"])
        yield ReasoningEnd()
    else:
        call_id, name, arguments = str(part["toolCallId"]), tool_name(part), _written(part)
        yield ToolCallDelta(call_id, name, arguments)
        yield ToolCall(call_id, name, arguments)


def _written(part: JsonObject) -> str:
    """Return the arguments of a call as the model wrote them."""
    given = part.get("input")
    return given if isinstance(given, str) else json.dumps({} if given is None else given)

"""Answer from a script, so that a test says exactly what the model does.

    model = ScriptedModel([
        [think("I should look first."), call("read", path="Agent.md")],
        "It says hello.",
    ])

Each step answers one request. A step is a text, one item, a list of items, or a function (async or not) of
the request that gives one of these. Items are `say`, `think`, `call`, `call_raw`, `fail`, `cut`, `hold`, a
text, or any `ModelEvent`. The closing `Finish` is added when a step has none: "tool-calls" after a call, else
"stop". What was asked is kept in `model.requests`.

A script can also be keyed by what the person said last; such a model holds no state and survives a restart:

    model = ScriptedModel({"read it": [call("read", path="a.md"), "Done."], "": ["I only know one trick."]})

The longest key found in the person's words wins, and "" answers everything else.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from shipmate.errors import ModelError, ModelRequestError
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
from shipmate.models.rehearsal.offline import count_steps, derive_call_id, last_said


class Fail(msgspec.Struct, frozen=True):
    """An error raised at this point of the answer."""

    error: ModelError


class BreakOff(msgspec.Struct, frozen=True):
    """The end of the stream without a `Finish`, as a dropped connection leaves it."""


class Hold(msgspec.Struct, frozen=True):
    """A pause at this point of the answer until the event is set."""

    event: asyncio.Event


class ScriptedCall(msgspec.Struct, frozen=True):
    """A call of a tool; an id is made from the request when none is given."""

    name: str
    arguments: str
    call_id: str | None = None


Thought: TypeAlias = tuple[ReasoningDelta, ReasoningEnd]
Item: TypeAlias = ModelEvent | Fail | BreakOff | Hold | ScriptedCall | Thought | str
Answer: TypeAlias = Item | Sequence[Item]
Step: TypeAlias = Answer | Callable[[ModelRequest], Answer | Awaitable[Answer]]
Script: TypeAlias = Sequence[Step] | Mapping[str, Sequence[Step]]


def say(text: str) -> TextDelta:
    """Say words in one delta."""
    return TextDelta(text)


def think(text: str) -> Thought:
    """Think aloud."""
    return ReasoningDelta(text), ReasoningEnd()


def call(name: str, /, **arguments: object) -> ScriptedCall:
    """Call a tool with these arguments."""
    return ScriptedCall(name, msgspec.json.encode(arguments).decode())


def call_raw(name: str, arguments: str, *, call_id: str | None = None) -> ScriptedCall:
    """Call a tool with arguments as written, JSON or not, and with a chosen id."""
    return ScriptedCall(name, arguments, call_id)


def fail(error: ModelError) -> Fail:
    """Raise an error at this point of the answer."""
    return Fail(error)


def cut() -> BreakOff:
    """Break the stream off at this point."""
    return BreakOff()


def hold(event: asyncio.Event) -> Hold:
    """Wait at this point until the event is set."""
    return Hold(event)


class ScriptedModel:
    """A model whose every answer is written down beforehand."""

    def __init__(self, script: Script, *, name: str = "scripted", usage: Usage | None = None) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._script = script
        self._usage = usage or Usage(input_tokens=10, output_tokens=5, cost=0.0)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Play the step this request is due."""
        step = self._step(request)
        self.requests.append(request)
        calls = 0
        for item in _items(await _answer(step, request)):
            match item:
                case Fail():
                    raise item.error
                case BreakOff():
                    return
                case Hold():
                    await item.event.wait()
                case ScriptedCall():
                    calls += 1
                    call_id = item.call_id or derive_call_id(request, calls)
                    yield ToolCallDelta(call_id, item.name, item.arguments)
                    yield ToolCall(call_id, item.name, item.arguments)
                case Finish():
                    yield item
                    return
                case _:
                    calls += isinstance(item, ToolCall)
                    yield item
        yield Finish("tool-calls" if calls else "stop", self._usage, self.name)

    def _step(self, request: ModelRequest) -> Step:
        if not isinstance(self._script, Mapping):
            return _pick(self._script, len(self.requests))
        said = last_said(request)
        key = max((key for key in self._script if key in said), key=len, default=None)
        if key is None:
            raise ModelRequestError(f"the script has no answer to {said!r}")
        return _pick(self._script[key], count_steps(request))


def _pick(steps: Sequence[Step], number: int) -> Step:
    if number >= len(steps):
        raise ModelRequestError(f"the script has {len(steps)} steps and was asked for number {number + 1}")
    return steps[number]


async def _answer(step: Step, request: ModelRequest) -> Answer:
    if not callable(step):
        return step
    made = step(request)
    return await made if inspect.isawaitable(made) else made


def _items(answer: Answer) -> list[ModelEvent | Fail | BreakOff | Hold | ScriptedCall]:
    if isinstance(answer, str):
        return [TextDelta(answer)]
    if not isinstance(answer, Sequence):
        return [answer]
    return [inner for item in answer for inner in _items(item)]

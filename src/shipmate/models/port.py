"""Define what the loop asks of a model, and what a model answers with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from shipmate.values.message import JsonObject, UIMessage
from shipmate.values.sidecar import Sidecar

FinishReason = Literal["stop", "length", "tool-calls", "content-filter", "error", "other"]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as it is described to a model."""

    name: str
    description: str
    schema: JsonObject


class RunOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request comes from: wires tell providers nothing of it, programs work there."""

    thread_id: str
    run_id: str
    user_id: str = ""
    # Whether the member that answers is the one the thread belongs to.
    owns_thread: bool = True
    # Whether this answer takes the place of an earlier one.
    is_retry: bool = False


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True, weakref=True):
    """One request: the system prompt, the course so far and the tools on offer."""

    system: str
    messages: Sequence[UIMessage]
    tools: Sequence[ToolSpec] = ()
    # What stands beside the rows of the course, by message id.
    sidecars: Mapping[str, Sidecar] = {}
    # The zone in which each of the person's messages says when it was sent: "" is the machine's own, and
    # without one none says so.
    zone: str | None = None
    # What this request wants otherwise than the settings: temperature, top_p, max_tokens, stop, seed.
    sampling: JsonObject = {}
    # What requests of one thread have in common, for providers that find what they cached by a key.
    cache_key: str = ""
    origin: RunOrigin | None = None


class TextDelta(msgspec.Struct, frozen=True, tag="text"):
    """An addition to the words."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning"):
    """An addition to the thinking."""

    text: str


class ReasoningEnd(msgspec.Struct, frozen=True, tag="reasoning-end"):
    """The end of a stretch of thinking, with what the provider needs to recognise it later."""

    signature: JsonObject | None = None


class ToolCallDelta(msgspec.Struct, frozen=True, tag="tool-call-delta"):
    """The beginning of a call, or an addition to the text of its arguments."""

    call_id: str
    name: str
    arguments: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool-call"):
    """A complete call; `arguments` is the text as the model wrote it, JSON or not."""

    call_id: str
    name: str
    arguments: str
    # What the provider needs to recognise the call later.
    signature: JsonObject | None = None


class ModelNotice(msgspec.Struct, frozen=True, kw_only=True, tag="notice"):
    """Trouble that passes, told while it lasts: a request asked again, or asked of another model."""

    kind: Literal["retry", "fallback"]
    # The model that is asked next, and why it has to be, in one sentence.
    model: str
    reason: str
    wait_seconds: float = 0


class ProgramStart(msgspec.Struct, frozen=True, tag="program-start"):
    """A program of others is about to be started; from here on it may act, so it is begun only once."""


class ProgramSession(msgspec.Struct, frozen=True, tag="program-session"):
    """By what a program recognises this conversation later, in the thread it was had in."""

    session: str
    thread_id: str = ""


class ProgramCall(msgspec.Struct, frozen=True, tag="program-call"):
    """A call that a program makes by itself, with tools of its own."""

    call_id: str
    name: str
    input: Any


class ProgramResult(msgspec.Struct, frozen=True, tag="program-result"):
    """What came of a program's own call."""

    call_id: str
    output: Any
    is_error: bool = False


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What one request used; cost in US dollars, None when no price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """The end of an answer."""

    reason: FinishReason
    usage: Usage = Usage()
    model: str = ""
    # Which models were asked before this one, and why they did not answer.
    instead: str = ""


ModelEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ReasoningEnd
    | ToolCallDelta
    | ToolCall
    | ModelNotice
    | ProgramStart
    | ProgramSession
    | ProgramCall
    | ProgramResult
    | Finish
)
ProgramEvent: TypeAlias = ProgramStart | ProgramSession | ProgramCall | ProgramResult


class Model(Protocol):
    """A model: it answers a request with a stream of events that ends in exactly one `Finish`.

    Trouble is raised as a `ModelError`. A stream that ends without `Finish` counts as broken off.
    """

    @property
    def name(self) -> str:
        """Return the name people see, such as `anthropic:claude-sonnet-4-6`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer one request."""
        ...


def json_size(value: Any) -> int:
    """Count the bytes a value takes on the wire."""
    return len(msgspec.json.encode(value))


async def hear(model: Model, request: ModelRequest) -> str:
    """Return the whole text of one answer."""
    return "".join([event.text async for event in model.stream(request) if isinstance(event, TextDelta)])

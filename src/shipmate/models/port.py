"""Define what the loop asks of a model, and what a model answers with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from shipmate.values.message import JsonObject, UIMessage

FinishReason = Literal["stop", "length", "tool-calls", "content-filter", "error", "other"]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as it is described to a model."""

    name: str
    description: str
    schema: JsonObject


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the system prompt, the course so far and the tools on offer."""

    system: str
    messages: Sequence[UIMessage]
    tools: Sequence[ToolSpec] = ()
    # Provider signatures of the open turn's reasoning, by message id; see `Store.open_turn`.
    signatures: dict[str, list[JsonObject]] = {}
    # How many leading bytes of `system` stay the same from turn to turn, for providers that cache by mark.
    stable_bytes: int = 0
    # How to choose the words: any of `temperature`, `top_p`, `max_tokens`, `stop` and `seed`.
    sampling: JsonObject = {}


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


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | ReasoningEnd | ToolCallDelta | ToolCall | Finish


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

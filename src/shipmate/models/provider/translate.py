"""Turn pydantic-ai's stream events into ours; what we do not know is left out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from shipmate.models.port import (
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from shipmate.values.message import JsonObject


class Translator:
    """Translates one answer; a call keeps the id it was announced with, made unique where one repeats."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: dict[int, tuple[str, str]] = {}

    @property
    def has_calls(self) -> bool:
        """Return whether the answer asked for a tool."""
        return bool(self._calls)

    def take(self, event: object) -> Iterator[ModelEvent]:
        """Translate one event."""
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield TextDelta(text)
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                yield ReasoningDelta(text)
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                yield self._announce(index, part)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield TextDelta(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
                yield ReasoningDelta(text)
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(text))) if text:
                if index in self._calls:
                    yield ToolCallDelta(*self._calls[index], text)
            case PartEndEvent(part=ThinkingPart() as part):
                yield ReasoningEnd(self._sign(part))
            case _:
                return

    def close(self, answer: ModelResponse) -> Iterator[ModelEvent]:
        """Yield the complete calls.

        They come last, because arguments of parallel calls may arrive interleaved.
        """
        parts = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        announced = [self._calls[index] for index in sorted(self._calls)]
        for (call_id, _), part in zip(announced, parts, strict=False):
            yield ToolCall(call_id, part.tool_name, write_arguments(part), self._sign(part))

    def _sign(self, part: ThinkingPart | ToolCallPart) -> JsonObject | None:
        signature = read_signature(part)
        return signature and {"by": self._model, **signature}

    def _announce(self, index: int, part: ToolCallPart) -> ToolCallDelta:
        taken = {call_id for call_id, _ in self._calls.values()}
        call_id = part.tool_call_id
        while call_id in taken:
            call_id += "_"
        self._calls[index] = call_id, part.tool_name
        return ToolCallDelta(call_id, part.tool_name, write_arguments(part))


def write_arguments(part: ToolCallPart) -> str:
    """Return a call's arguments as text, as the model wrote them where it wrote text."""
    if part.args is None:
        return ""
    return part.args if isinstance(part.args, str) else msgspec.json.encode(part.args).decode()


def read_signature(part: ThinkingPart | ToolCallPart) -> JsonObject | None:
    """Return what the provider needs to recognise its thinking or call later; None when it needs nothing."""
    signature = part.signature if isinstance(part, ThinkingPart) else None
    kept = {"id": part.id, "signature": signature, "details": part.provider_details}
    found = {key: value for key, value in kept.items() if value}
    return {"provider": part.provider_name, **found} if found and part.provider_name else None


def count_usage(answer: ModelResponse) -> Usage:
    """Read the tokens of an answer, with its price where one is published."""
    used = answer.usage
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        cost=_read_cost(answer),
    )


def _read_cost(answer: ModelResponse) -> float | None:
    name = answer.provider_name, answer.model_name
    if not answer.model_name or not answer.usage.has_values() or name in _unpriced:
        return None
    try:
        return float(answer.cost().total_price)
    except (LookupError, ValueError):
        # Looking through every price list again for each answer would cost half a millisecond.
        _unpriced.add(name)
        return None


_unpriced: set[tuple[str | None, str | None]] = set()
